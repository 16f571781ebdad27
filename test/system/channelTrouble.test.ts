import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { endChildren, ended, pushTo, workingIn } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { until } from '../support/until.ts'

const VIDEO = [{ label: '90p', width: 160, height: 90, bitrate: 100_000 }]

let live: ChannelsClient
let abrLadderId: string
beforeAll(async () => {
  live = await runChannels()
  abrLadderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
})
afterEach(endChildren)
afterAll(() => live.close())

type PushType = 'rtmp-push' | 'srt-push'

/** A channel that runs, and where publishers push to. */
async function startedChannel(type: PushType) {
  const ingests = [{ name: 'Camera', type, engines: [{ name: 'Main', quality: { abrLadderId } }] }]
  const { id, engines, ingests: made } = await live.made('POST', '/channels', { name: 'Stage', ingests })
  await live.made('POST', `/channels/${id}/start`)
  const [{ url, streamKey }] = made
  const { rtmpPort, srtPort } = live.running
  const rtmp = `rtmp://127.0.0.1:${rtmpPort}/live/${streamKey}`
  const address = type === 'rtmp-push' ? rtmp : `srt://127.0.0.1:${srtPort}${new URL(url).search}`
  return { id: String(id), engineId: String(engines[0].id), address }
}

const reaches = (id: string, status: string) =>
  until(async () => (await live.made('GET', `/channels/${id}`)).status === status, status)

async function stop(id: string): Promise<void> {
  await live.made('POST', `/channels/${id}/stop`)
  await reaches(id, 'stopped')
}

interface Warning {
  readonly requestData: { readonly object: { readonly id: string }; readonly data: { readonly message: string } }
}

async function warningsOf(engineId: string): Promise<string[]> {
  const { data } = (await live.v2('GET', '/logs?type=engine.log.warn&limit=100')).json as { data: Warning[] }
  const own = data.filter(({ requestData }) => requestData.object.id === engineId)
  return own.map(({ requestData }) => requestData.data.message)
}

describe('an engine', () => {
  test.each<{ type: PushType; codec: string; format: string; why: string }>([
    { type: 'srt-push', codec: 'mp2', format: 'mpegts', why: 'Audio codec MPEG audio (MP2, MP3) is not supported' },
    { type: 'rtmp-push', codec: 'mp3', format: 'flv', why: 'Audio codec MP3 is not supported' },
  ])('says once what its publisher sends over $type that cannot be taken', async ({ type, codec, format, why }) => {
    const { id, engineId, address } = await startedChannel(type)
    await reaches(id, 'waiting')
    const source = '-loglevel quiet -re -f lavfi -i sine=sample_rate=44100 -c:a'.split(' ')
    const publish = () => once(ended(spawn('ffmpeg', [...source, codec, '-f', format, address])), 'exit')
    await publish()
    await until(async () => (await live.made('GET', `/engines/${engineId}`)).statusMessage?.includes(why), why)
    await publish()
    await stop(id)
    expect(await warningsOf(engineId)).toEqual([expect.stringContaining(`A publisher was cut: ${why}`)])
  })

  test('plays on when its thumbnail cannot be written, as on a full disk', async () => {
    const { id, engineId, address } = await startedChannel('rtmp-push')
    pushTo(address, 2)
    await reaches(id, 'playing')
    const folder = join(live.running.dataDir, 'channels', engineId)
    const before = await workingIn(folder)
    // Where ffmpeg writes before it renames.
    await mkdir(join(folder, 'thumbnail.jpeg.tmp'))
    const segments = async () =>
      (await live.made('GET', `/monitoring/engines/${engineId}`)).renditions[0].metrics.length
    const first = await segments()
    // Ten seconds of media have two thumbnails.
    await until(async () => (await segments()) >= first + 5, 'five more segments')
    expect(await workingIn(folder)).toEqual(before)
    await stop(id)
  })
})
