import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { NO_PARAMETERS, type PublishingParameters } from '../../src/core/sessions/publishing.ts'
import { answerPublisher } from '../../src/edge/ingest/broadcast.ts'
import { splitNals } from '../../src/media/codecs/nalUnits.ts'
import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import { SourceMeter } from '../../src/media/measure/sourceMeter.ts'
import { Hub } from '../../src/media/hub.ts'
import { Simulcast } from '../../src/media/simulcast.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { aacConfig, audioFrame, avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
let token: string
const clients: RtmpClient[] = []

beforeAll(async () => {
  sluice = await runApp({ flags: {} })
  token = (await makeToken(sluice, 'publish')).token
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  for (const { session } of sessions().all()) await closeSession(sluice.app.ctx, session.id, 'left')
})
afterAll(() => sluice.close())

const sessions = () => sluice.app.ctx.sessions

/** A subscriber that keeps what it gets. */
class Collected implements FrameSink {
  codecs: string[] = []
  readonly frames: Frame[] = []
  tracks(tracks: readonly TrackInfo[]): void {
    this.codecs = tracks.map(({ codec }) => codec)
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
  }
  end(): void {}
}

const kindsOf = ({ frames }: Collected) => [...new Set(frames.map(({ kind }) => kind))]

/** A publisher of H.264 and AAC over RTMP, and what viewers get of it. */
async function broadcast(parameters: string, of = token): Promise<{ got: Collected; client: RtmpClient }> {
  const client = await RtmpClient.open(sluice.rtmpPort ?? 0)
  clients.push(client)
  await client.publish('v2/pub', `show?token=${of}&${parameters}`)
  client.send(avcConfig(), aacConfig())
  const got = new Collected()
  let at = 0
  const send = () => {
    client.send(videoFrame(at, 100, { key: at % 200 === 0 }), audioFrame(at))
    at += 40
    return sessions().feeds.all().length === 1
  }
  await until(send)
  sessions().feeds.all()[0]?.media.subscribe(got)
  await until(() => {
    send()
    return got.frames.length > 12
  })
  return { got, client }
}

describe('a publisher over RTMP', () => {
  test.each([
    ['', ['h264', 'aac'], ['video', 'audio']],
    ['audioOnly', ['aac'], ['audio']],
    ['videoOnly', ['h264'], ['video']],
    ['noAudio=1', ['h264'], ['video']],
  ])('with %j has these tracks', async (parameters, codecs, kinds) => {
    const { got } = await broadcast(parameters)
    expect([got.codecs, kindsOf(got)]).toEqual([codecs, kinds])
    const media = sessions().all()[0]?.media
    expect(media?.tracks.map(({ codec }) => codec)).toEqual(codecs)
    expect((await sluice.call('GET', '/api/streams/live')).json.data).toMatchObject([
      {
        ...(codecs.includes('h264') ? { videoCodec: 'h264' } : {}),
        ...(codecs.includes('aac') ? { audioCodec: 'aac' } : {}),
      },
    ])
  })

  test.each([
    ['enableUTCInsertion', () => true],
    ['enableUTCInsertion&seiKeyFrameOnly', ({ key }: Frame) => key],
  ])('with %s writes the time of arrival into its pictures', async (parameters, isTimed) => {
    const beganMs = sluice.app.ctx.clock.now()
    const { got } = await broadcast(parameters)
    const frames = got.frames.filter(({ kind }) => kind === 'video')
    expect(frames.map(timeOf).map((time) => time !== null)).toEqual(frames.map(isTimed))
    const times = frames.flatMap((frame) => timeOf(frame) ?? [])
    expect(times.every((time) => time >= Math.floor(beganMs) && time <= sluice.app.ctx.clock.now())).toBe(true)
    expect(times.length).toBeGreaterThan(0)
  })

  test.each([
    ['', true],
    ['enableUTCInsertion=false', false],
  ])('whose token asks for times writes them, unless its address says otherwise: %j', async (parameters, isTimed) => {
    const timed = await makeToken(sluice, 'publish', { enableUTCInsertion: true })
    const { got } = await broadcast(parameters, timed.token)
    const frames = got.frames.filter(({ kind }) => kind === 'video')
    expect(new Set(frames.map(timeOf).map((time) => time !== null))).toEqual(new Set([isTimed]))
  })

  test.each([
    ['simulcastId&videoOnly', 'simulcastId with videoOnly needs sourceId'],
    ['audioOnly&noAudio', 'audioOnly and noAudio exclude each other'],
    ['priority=high', 'priority must be a whole number from -2147483648 to 2147483647'],
  ])('with %s reads why it is refused', async (parameters, why) => {
    const client = await RtmpClient.open(sluice.rtmpPort ?? 0)
    clients.push(client)
    await client.publish('v2/pub', `show?token=${token}&${parameters}`).catch(() => undefined)
    expect(await client.status()).toMatchObject({ code: 'NetStream.Publish.Denied', description: why })
  })
})

/** The time in a picture, milliseconds since 1970. */
function timeOf({ data }: Frame): number | null {
  const sei = splitNals(Buffer.from(data))?.find((nal) => nal[0] === 6)
  if (sei === undefined) return null
  const at = sei.indexOf(Buffer.from('9a21f3be31f04b78b0bec7f7dbb97250', 'hex')) + 16
  const bytes = [...sei.subarray(at)].filter((byte, i, all) => byte !== 3 || all[i - 1] !== 0 || all[i - 2] !== 0)
  return Number(Buffer.from(bytes).readBigUInt64BE(0))
}

describe('a publisher of whose media nothing is taken', () => {
  /** The media of a publisher that was admitted, and how its connection was cut. */
  async function admitted(parameters: Partial<PublishingParameters>) {
    const cuts: string[] = []
    const { ctx } = sluice.app
    const parts = {
      ctx,
      makeHub: () => new Hub(),
      makeMeter: () => new SourceMeter(),
      simulcast: new Simulcast(ctx.clock),
      feed: () => () => undefined,
      streamKeys: async () => ({ ok: false as const, status: '', reason: 'address' as const }),
    }
    const connection = { peer: '127.0.0.1', cut: async (why: string) => void cuts.push(why) }
    const answer = await answerPublisher(parts, 'rtmp', connection, {
      kind: 'stream',
      streamName: 'show',
      presented: token,
      sourceId: null,
      parameters: { ...NO_PARAMETERS, ...parameters },
    })
    if (!answer.ok) throw new Error(answer.status)
    return { cuts, answer }
  }

  const frame = (kind: Frame['kind'], timeUs: number): Frame => ({
    kind,
    timeUs,
    decodeTimeUs: timeUs,
    key: true,
    data: Buffer.alloc(4),
  })
  const video: TrackInfo = { kind: 'video', codec: 'h264', width: 2, height: 2, config: Buffer.alloc(0) }
  const audio: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 48_000, channels: 2, config: Buffer.alloc(0) }

  test('is told so after five seconds of it, and is never on the air', async () => {
    const { cuts, answer } = await admitted({ without: 'video' })
    answer.sink.tracks([video])
    answer.sink.frame(frame('video', 1_000_000))
    answer.sink.frame(frame('video', 5_999_999))
    expect(cuts).toEqual([])
    answer.sink.frame(frame('video', 6_000_000))
    expect(cuts).toEqual(['No audio came, and the address asks to leave the video out'])
    expect(sessions().feeds.all()).toEqual([])
    answer.sink.end()
    answer.ended('cut')
  })

  test('goes on the air when the other medium comes', async () => {
    const { cuts, answer } = await admitted({ without: 'audio' })
    answer.sink.tracks([audio])
    answer.sink.frame(frame('audio', 1_000_000))
    answer.sink.tracks([audio, video])
    answer.sink.frame(frame('audio', 9_000_000))
    await until(() => sessions().feeds.all().length === 1)
    expect(cuts).toEqual([])
    answer.sink.end()
    answer.ended('left')
  })
})
