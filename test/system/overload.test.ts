import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endChildren, pushTo } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type EventReceiver, receiveEvents } from '../support/eventReceiver.ts'
import { listedFolder } from '../support/playbackFolder.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

/** Reads its source at a third of real time if it has to make two renditions, or 15 frames a second. */
const SLOW = `#!/bin/sh
case "$*" in *"[v1]"*|*fps=15/*) exec ffmpeg -readrate 0.3 "$@";; esac
exec ffmpeg "$@"
`

let live: ChannelsClient
let receiver: EventReceiver
let hookId: string
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-overload-'))
  const path = join(dir, 'ffmpeg-that-is-slow')
  await writeFile(path, SLOW, { mode: 0o755 })
  live = await runChannels({ flags: { ffmpeg: { path }, webhooks: { allowPrivateTargets: true } } })
  receiver = await receiveEvents()
  const hook = { name: 'Hook', url: receiver.url, events: ['engine.log.warn'], active: true }
  hookId = (await live.made('POST', '/webhooks', hook)).id
})
afterAll(async () => {
  endChildren()
  await live.close()
  receiver.close()
  await rm(dir, { recursive: true })
})

interface Stage {
  channelId: string
  engineId: string
  distributionId: string
}

/** A channel with a publisher and its engine. */
async function onAir(video: object[]): Promise<Stage> {
  const ladder = await live.made('POST', '/abr', { name: 'small', video })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const made = await live.made('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  await live.v2('POST', `/channels/${made.id}/start`)
  pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${made.ingests[0].streamKey}`)
  return { channelId: made.id, engineId: made.engines[0].id, distributionId: made.distributions[0].id }
}

const engineOf = ({ engineId }: Stage) => live.made('GET', `/engines/${engineId}`)
const encoderOf = async ({ engineId }: Stage) => (await live.made('GET', `/monitoring/engines/${engineId}`)).encoder
const get = (path: string) => fetch(`${live.running.base}${path}`)

/** The events of an engine that webhooks got; at least one. */
async function warningsOf({ engineId }: Stage): Promise<string[]> {
  const find = async (): Promise<string[]> => {
    const { data } = (await live.v2('GET', `/webhooks/${hookId}/logs`)).json
    const mine = data.filter(
      ({ requestData }: { requestData: { object: { id: string } } }) => requestData.object.id === engineId,
    )
    return mine.map(({ requestData }: { requestData: { data: { message: string } } }) => requestData.data.message)
  }
  await until(async () => (await find()).length > 0, 'a warning')
  return find()
}

test('an engine that cannot keep up reports it everywhere, and one with a rendition to spare drops it and keeps up', async () => {
  const [wide, narrow] = [
    { label: '180p', width: 320, height: 180, bitrate: 300_000 },
    { label: '90p', width: 160, height: 90, bitrate: 100_000 },
  ]
  const [stepping, stuck] = await Promise.all([
    onAir([wide, narrow]),
    onAir([{ ...narrow, frameRate: { value: 15, scale: 1 } }]),
  ])
  const slow =
    /^The machine cannot keep up with this engine: it encodes 0\.[0-9]+ seconds of media a second\. It is [0-9.]+ s/
  await until(async () => slow.test((await engineOf(stuck)).statusMessage ?? ''), 'a message that it is slow')
  expect(await engineOf(stuck)).toMatchObject({ status: 'playing' })
  expect(await warningsOf(stuck)).toEqual([expect.stringMatching(slow)])
  const encoder = await encoderOf(stuck)
  expect(encoder).toMatchObject({ overloaded: true, leftOut: [], droppedFrames: 0 })
  expect(encoder.speed).toBeLessThan(0.6)
  expect(encoder.lagSeconds).toBeGreaterThan(2)
  expect(encoder.cores).toBeGreaterThan(0)

  const { distributionId, engineId } = stepping
  let segment = ''
  let folder: string | undefined
  await until(async () => {
    folder ??= await listedFolder(live.running.base, distributionId, engineId)
    if (folder === undefined) return false
    segment = /^s\d+\.m4s/m.exec(await (await get(`${folder}/media.m3u8`)).text())?.[0] ?? segment
    return segment !== ''
  }, 'a segment of the rendition that is dropped later')
  const left = folder?.replace(/0$/, '1')
  const less = /^To keep up, this engine leaves out 180p/
  await until(async () => less.test((await engineOf(stepping)).statusMessage ?? ''), 'a message that it makes less')
  expect(await warningsOf(stepping)).toEqual([expect.stringMatching(/cannot keep up.*leaves out 180p/)])
  await until(async () => {
    const playlist = await (await get(`${left}/media.m3u8`)).text()
    return /^s\d+\.m4s[^]*#EXT-X-DISCONTINUITY\n[^]*^s\d+\.m4s/m.test(playlist)
  }, 'the rendition that is left to go on')
  // Its viewers move to another rendition; what its playlist listed can still be fetched.
  expect((await get(`${folder}/media.m3u8`)).status).toBe(404)
  expect((await get(`${folder}/${segment}`)).status).toBe(200)
  const master = await (await get(`/v2/distributions/${distributionId}/hls/main.m3u8`)).text()
  expect(master.match(/RESOLUTION=\d+x\d+/g)).toEqual(['RESOLUTION=160x90'])
  await until(async () => (await encoderOf(stepping))?.speed > 0.9, 'an engine that keeps up')
  expect(await engineOf(stepping)).toMatchObject({ status: 'playing' })
  expect(await encoderOf(stepping)).toMatchObject({ overloaded: false, leftOut: ['180p'] })

  const metrics = await (await get('/metrics')).text()
  expect(metrics).toContain('sluice_engines{status="playing"} 2')
  expect(metrics).toContain('sluice_channels{status="playing"} 2')
  expect(metrics).toContain('sluice_engines_overloaded 1')
  expect(metrics).toContain('sluice_engines_reduced 1')
  expect(metrics).toContain('sluice_ingests 2')
  expect(metrics).toContain('sluice_ffmpeg_processes 2')
  expect(metrics).toMatch(new RegExp(`sluice_engine_speed\\{engine="${stuck.engineId}"\\} 0\\.[0-9]+`))
  for (const { channelId } of [stepping, stuck]) await live.v2('POST', `/channels/${channelId}/stop`)
  const isQuiet = async () => !(await (await get('/metrics')).text()).includes('sluice_engine_speed{')
  await until(isQuiet, 'metrics of nothing that is gone')
})
