import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { endChildren, pushTo } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const LADDER = {
  name: 'small',
  video: [
    { label: '180p', width: 320, height: 180, bitrate: 300_000 },
    { label: '90p', width: 160, height: 90, bitrate: 100_000 },
  ],
  audio: { bitrate: 64 },
}

const log: string[] = []
let live: ChannelsClient
let target: RunningApp
let key: string

beforeAll(async () => {
  const media = { allowedNetworks: ['127.0.0.0/8'] }
  live = await runChannels({
    flags: { media },
    log: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
  })
  target = await runApp({})
  const { token } = await makeToken(target, 'publish')
  key = `copy?token=${token}`
})
afterEach(endChildren)
afterAll(async () => {
  await live.close()
  await target.close()
})

const app = () => `rtmp://127.0.0.1:${target.rtmpPort}/v2/pub`
const arrived = () => target.app.ctx.sessions.feeds().find(({ streamName }) => streamName === 'copy')

async function startEngine(restream: object[]) {
  const ladder = await live.made('POST', '/abr', LADDER)
  const quality = { abrLadderId: ladder.id }
  const engines = [{ name: 'Main', region: 'local', quality, restream }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', region: 'local', engines }]
  const channel = await live.made('POST', '/channels', { name: 'Stage', ingests })
  await live.v2('POST', `/channels/${channel.id}/start`)
  const streamKey: string = channel.ingests[0].streamKey
  return { channelId: channel.id as string, engine: channel.engines[0], streamKey }
}

const push = (streamKey: string) => pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${streamKey}`)
const targetsOf = async (engineId: string) => (await live.made('GET', `/monitoring/engines/${engineId}`)).restreams
const logsOf = async () =>
  (await live.v2('GET', '/logs?limit=100')).json.data.map(
    (one: { type: string; requestData: { data: { code?: string; message?: string } | null } }) => ({
      type: one.type,
      ...one.requestData.data,
    }),
  )

describe('an engine with a target', () => {
  test('sends its best rendition there, follows changes at once, and ends there when it stops', async () => {
    const { channelId, engine, streamKey } = await startEngine([{ id: 'copy', url: `${app()}/${key}` }])
    expect(engine.restream).toEqual([{ id: 'copy', url: app(), key: `••••${key.slice(-4)}`, label: '', enabled: true }])
    push(streamKey)
    const feed = await until(() => arrived())
    const tracks = await until(() => {
      let found: { codec: string; height?: number }[] = []
      feed.media.subscribe({ tracks: (list) => (found = [...list]), frame: () => undefined, end: () => undefined })
      return found.length === 2 && found
    })
    expect(tracks).toMatchObject([{ codec: 'h264', width: 320, height: 180 }, { codec: 'aac' }])
    const [shown] = await until(async () => {
      const targets = await targetsOf(engine.id)
      return targets[0]?.bitrateOut > 0 && targets
    })
    expect(shown).toMatchObject({ id: 'copy', index: 0, url: app(), status: 'live' })

    const switched = (enabled: boolean) =>
      live.made('PATCH', `/engines/${engine.id}`, { restream: [{ ...engine.restream[0], enabled }] })
    await switched(false)
    await until(() => arrived() === undefined)
    await switched(true)
    await until(() => arrived())
    expect((await live.v2('POST', `/channels/${channelId}/stop`)).status).toBe(204)
    await until(() => arrived() === undefined)
    const codes = await until(async () => {
      const found = (await logsOf()).map(({ code }: { code?: string }) => code)
      return found.filter((code: string) => code === 'restream_ended').length === 2 && found
    })
    expect(codes.filter((code: string) => code === 'restream_started')).toHaveLength(2)
    const secret = key.split('=')[1] ?? ''
    expect(log.join('').includes(secret)).toBe(false)
    expect(JSON.stringify(await logsOf()).includes(secret)).toBe(false)
  })

  test('says why nothing is sent to a target that refuses its key, and dials it again after a sync', async () => {
    const restream = [{ url: app(), key: 'copy?token=wrong', label: 'TV' }]
    const { channelId, engine, streamKey } = await startEngine(restream)
    push(streamKey)
    const refused = async () => (await targetsOf(engine.id))[0]?.status === 'refused'
    await until(refused)
    expect((await targetsOf(engine.id))[0].problem).toContain('Invalid token')
    const since = (await targetsOf(engine.id))[0].since
    expect((await live.v2('POST', `/engines/${engine.id}/restream/sync`)).status).toBe(204)
    await until(async () => (await refused()) && (await targetsOf(engine.id))[0].since !== since)
    const found = (await logsOf()).find(({ code }: { code?: string }) => code === 'restream_error')
    expect(found).toMatchObject({ type: 'engine.log.warn', target: { id: '1', label: 'TV', url: app() } })
    expect(found.message).toContain('target TV')
    await live.v2('POST', `/channels/${channelId}/stop`)
  })
})
