import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import type { Frame, FrameSource } from '../../src/media/frame.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { endChildren, pushTo } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { engineTargetEvents, engineTargets } from '../../src/commands/restream/engineTargetEvents.ts'
import { RtspTarget } from '../support/rtspTarget.ts'
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
let publishToken: string
let key: string

beforeAll(async () => {
  const webrtc = { host: '127.0.0.1', port: 0 }
  const media = { allowedNetworks: ['127.0.0.0/8'] }
  live = await runChannels({
    flags: { media, webrtc },
    log: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
  })
  target = await runApp({ flags: { webrtc } })
  publishToken = (await makeToken(target, 'publish')).token
  key = `copy?token=${publishToken}`
})
afterEach(endChildren)
afterAll(async () => {
  await live.close()
  await target.close()
})

const app = () => `rtmp://127.0.0.1:${target.rtmpPort}/v2/pub`
const arrived = (name = 'copy') => target.app.ctx.sessions.feeds.all().find(({ streamName }) => streamName === name)

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
/** Resolves when two seconds of video have come. */
function manyFramesOf({ media }: { readonly media: FrameSource }): Promise<boolean> {
  let frames = 0
  const frame = ({ kind }: Frame): void => void (kind === 'video' && frames++)
  media.subscribe({ tracks: () => undefined, frame, end: () => undefined })
  return until(() => frames > 50)
}

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
    // As commands tell it, which have no part in this node.
    const { ctx } = live.running.app
    const read = () => engineTargets(ctx, live.running.accountId, engine.id)
    const news = { index: 0, id: 'copy', url: app() }
    await until(async () => (await read())?.[0]?.status === 'live')
    expect(await read()).toEqual([expect.objectContaining({ ...news, node: expect.stringContaining('on ') as string })])

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
    await until(async () => (await read())?.[0]?.node === null)
    expect(await read()).toMatchObject([{ ...news, status: 'off' }])
    const events = await engineTargetEvents(ctx, live.running.accountId, engine.id, 3)
    expect(events.map(({ status }) => status)).toEqual(['off', 'live', 'off'])
    expect(await engineTargetEvents(ctx, live.running.accountId, 'en_other', 3)).toEqual([])
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

  test('sends frames over WHIP, SRT and RTSP until its channel is stopped, and nothing when that is deleted', async () => {
    const rtsp = await RtspTarget.start()
    const { channelId, engine, streamKey } = await startEngine([
      { url: `whip://${new URL(target.base).host}/api/whip/over-whip`, key: publishToken },
      { url: `srt://127.0.0.1:${target.srtPort}?streamid=over-srt%3Ftoken%3D${publishToken}` },
      { url: `rtsp://127.0.0.1:${rtsp.port}/live/over-rtsp` },
    ])
    push(streamKey)
    const feeds = await until(() => {
      const both = ['over-whip', 'over-srt'].map((name) => arrived(name))
      return both.every((feed) => feed !== undefined) && both
    })
    // How many of them arrive, a machine that is too slow decides: over UDP late packets are given up.
    await Promise.all(feeds.map((feed) => manyFramesOf(feed)))
    await until(() => (rtsp.packets.get(4)?.length ?? 0) > 50)
    expect(rtsp.sdp).toContain('a=rtpmap:96 H264/90000')
    const statuses = async () => (await targetsOf(engine.id)).map(({ status }: { status: string }) => status)
    expect(await statuses()).toEqual(['live', 'live', 'live'])

    expect((await live.v2('DELETE', `/channels/${channelId}`)).json.code).toBe('channel_running')
    await live.v2('POST', `/channels/${channelId}/stop`)
    const areOver = () => !arrived('over-whip') && !arrived('over-srt') && rtsp.connections === 0
    await until(areOver)
    expect(rtsp.methods.at(-1)).toBe('TEARDOWN')
    await until(async () => (await live.v2('DELETE', `/channels/${channelId}`)).status === 204)
    expect([areOver(), (await live.v2('GET', `/monitoring/engines/${engine.id}`)).status]).toEqual([true, 404])
    rtsp.stop()
  })
})
