import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { type AmfObject, type AmfValue, amfObject } from '../../../src/media/rtmp/amf0.ts'
import { RtmpConnection } from '../../../src/media/rtmp/connection.ts'
import { commandMessage, EVENT, userControl, writeMessage } from '../../../src/media/rtmp/messages.ts'
import type { SenderEnd, SenderMove } from '../../../src/media/publishing.ts'
import { RtmpSender } from '../../../src/media/rtmp/sender.ts'
import { silentLog, strictLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'
import { encoded } from '../ffmpeg/frames.ts'
import { Publication } from '../../support/publication.ts'
import { AAC_CONFIG, audioAt, AVC_CONFIG, videoAt } from './media.ts'
import { LIMITS, listenFor, listenOnly, type Place, type RtmpPublication } from './publications.ts'

const KEY = 'live_0123-secret'
const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function target(...given: Parameters<typeof listenFor>): Promise<Place> {
  const place = await listenFor(...given)
  closing.push(() => place.stop())
  return place
}

/** A server of which the test decides what it answers. */
const foreign = (serve: (socket: Socket) => void): Promise<number> => listenOnly(serve, closing)

interface Sending {
  readonly sender: RtmpSender
  readonly hub: Hub
  readonly ends: (SenderEnd | SenderMove)[]
  readonly accepted: () => boolean
}

/** Sends a hub to a port. */
async function send(port: number, clock = systemClock, key = KEY): Promise<Sending> {
  const socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  await once(socket, 'connect')
  const [hub, ends] = [new Hub(), [] as (SenderEnd | SenderMove)[]]
  let isAccepted = false
  const sender: RtmpSender = new RtmpSender({
    socket,
    clock,
    log: strictLog,
    random: systemRandom,
    app: 'app',
    url: `rtmp://127.0.0.1:${port}/app`,
    key,
    ready: () => {
      isAccepted = true
      hub.subscribe(sender)
    },
    accepted: () => undefined,
    ended: (how) => ends.push(how),
  })
  return { sender, hub, ends, accepted: () => isAccepted }
}

/** Looks at it each second, as the server does. */
function watch(sender: { tick(nowMs: number): void }, clock: ManualClock, seconds: number): void {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000)
    sender.tick(clock.monotonic())
  }
}

describe('a sender', () => {
  test('publishes a feed as it is: its tracks, and each frame with its times', async () => {
    const { port, publications } = await target()
    const { hub, accepted, sender, ends } = await send(port)
    hub.tracks([VIDEO, AUDIO])
    hub.frame(videoAt(5_000_000, { key: true, bytes: 20_000, delayUs: 80_000 }))
    await until(accepted)
    hub.frame(audioAt(5_010_000))
    hub.frame(videoAt(5_040_000, { delayUs: 40_000 }))
    hub.end()
    const got = await until(() => publications[0]?.reason !== null && publications[0])
    expect(got.request).toMatchObject({ app: 'app', name: KEY })
    expect(got.trackLists.at(-1)).toMatchObject([
      { codec: 'h264', width: 320, height: 240, config: AVC_CONFIG },
      { codec: 'aac', sampleRate: 44_100, channels: 2, config: Uint8Array.from(AAC_CONFIG) },
    ])
    const facts = got.frames.map(({ kind, key, timeUs, decodeTimeUs, data }) => [
      kind,
      key,
      decodeTimeUs,
      timeUs,
      data.length,
    ])
    expect(facts).toEqual([
      ['video', true, 0, 80_000, 20_004],
      ['audio', true, 10_000, 10_000, 50],
      ['video', false, 40_000, 80_000, 104],
    ])
    expect([got.reason, ends]).toEqual(['left', []])
    expect(sender.bytes.bytesOut).toBeGreaterThan(20_000)
  })

  test('begins again at 0, from a keyframe, however long the feed runs', async () => {
    const { port, publications } = await target()
    const first = await send(port)
    first.hub.tracks([VIDEO])
    first.hub.frame(videoAt(3_600_000_000, { key: true }))
    await until(first.accepted)
    const got = await until(() => publications[0]?.frames.length === 1 && publications[0])
    expect(got.frames[0]).toMatchObject({ key: true, decodeTimeUs: 0 })
  })

  test('describes changed tracks before their first frame', async () => {
    const { port, publications } = await target()
    const { hub, accepted } = await send(port)
    hub.tracks([VIDEO])
    await until(accepted)
    hub.frame(videoAt(0, { key: true }))
    hub.tracks([VIDEO, AUDIO])
    hub.frame(videoAt(40_000, { key: true }))
    const got = await until(() => publications[0]?.frames.length === 2 && publications[0])
    expect(got.trackLists.map((tracks) => tracks.map(({ codec }) => codec))).toEqual([['h264'], ['h264', 'aac']])
  })

  test.each(['hevc', 'av1', 'vp9'] as const)('publishes %s over enhanced RTMP, frame by frame', async (codec) => {
    const sent = await encoded({
      video: codec,
      audio: 'aac',
      seconds: 1,
      gop: 10,
      ...(codec === 'hevc' && { bframes: 2 }),
    })
    const { port, publications } = await target()
    const { hub, accepted, ends } = await send(port)
    await until(accepted)
    hub.tracks(sent.tracks)
    for (const frame of sent.frames) hub.frame(frame)
    hub.end()
    const got = await until(() => publications[0]?.reason !== null && publications[0])
    expect(got.trackLists.at(-1)).toMatchObject([{ codec, width: 160, height: 120 }, { codec: 'aac' }])
    const bytes = (frames: readonly Frame[]) =>
      frames.filter(({ kind }) => kind === 'video').map(({ key, data }) => [key, Buffer.from(data).toString('base64')])
    const first = sent.frames.findIndex(({ kind }) => kind === 'video')
    expect(bytes(got.frames)).toEqual(bytes(sent.frames.slice(first)))
    const delays = (frames: readonly Frame[]) =>
      frames
        .filter(({ kind }) => kind === 'video')
        .map(({ timeUs, decodeTimeUs }) => Math.floor(timeUs / 1000) - Math.floor(decodeTimeUs / 1000))
    expect(delays(got.frames)).toEqual(delays(sent.frames))
    expect(ends).toEqual([])
  })

  test('that is refused says why, without the key', async () => {
    const { port } = await target({}, ({ name }) => `There is no stream ${name}, nor ${encodeURIComponent(name)}`)
    const { ends, accepted } = await send(port, systemClock, 'a+key/with=signs')
    expect(await until(() => ends[0])).toMatchObject({
      kind: 'refused',
      message: 'The target says: There is no stream ••••, nor ••••',
      sentences: [{ code: 'target_says', values: { text: 'There is no stream ••••, nor ••••' } }],
      isInUse: false,
    })
    expect(accepted()).toBe(false)
  })

  test('is told that its name is in use', async () => {
    const { port } = await scripted(amfObject({ level: 'error', code: 'NetStream.Publish.BadName', description: 'no' }))
    const { ends } = await send(port)
    expect(await until(() => ends[0])).toMatchObject({ kind: 'refused', isInUse: true })
  })

  test('loses a target that goes away, once', async () => {
    const place = await target()
    const { ends, accepted, sender } = await send(place.port)
    await until(accepted)
    await place.stop()
    expect(await until(() => ends[0])).toMatchObject({ kind: 'lost', message: 'The target closed the connection' })
    sender.end()
    sender.frame(videoAt(0))
    expect(ends).toHaveLength(1)
  })

  test('ends when media comes that RTMP cannot carry, and names the codec', async () => {
    const { port } = await target()
    const { hub, ends, accepted } = await send(port)
    await until(accepted)
    hub.tracks([{ ...VIDEO, codec: 'vp8' }])
    expect(ends).toMatchObject([
      { kind: 'unsuitable', message: 'The video is VP8, and RTMP takes H.264: `transcode` encodes it again' },
    ])
  })

  test('ends when its target does not say that it takes the codec, and names it', async () => {
    const { port } = await answering(null)
    const { hub, ends, accepted, sender } = await send(port)
    await until(accepted)
    const track: TrackInfo = { ...VIDEO, codec: 'hevc' }
    expect([sender.takes(track), sender.takes(VIDEO)]).toEqual([false, true])
    hub.tracks([track])
    expect(ends).toMatchObject([
      {
        kind: 'unsuitable',
        message: 'The video is HEVC, and this target does not say that it takes HEVC: `transcode` encodes it again',
      },
    ])
  })

  test('reads what its target takes from its answer, and says what it sends', async () => {
    const { port, asked } = await answering(amfObject({ fourCcList: ['av01'] }))
    const { accepted, sender } = await send(port)
    await until(accepted)
    expect([sender.takes({ ...VIDEO, codec: 'av1' }), sender.takes({ ...VIDEO, codec: 'hevc' })]).toEqual([true, false])
    expect(asked().includes(Buffer.from('fourCcList'))).toBe(true)
    for (const fourcc of ['hvc1', 'av01', 'vp09']) expect(asked().includes(Buffer.from(fourcc))).toBe(true)
  })

  test('leaves a server that is about to stop, with a goodbye, and says where that goes on', async () => {
    const { port, publications } = await target()
    const { accepted, ends } = await send(port)
    await until(accepted)
    const from = { url: 'http://127.0.0.1', rtmpPort: port, rtmpsPort: 0 }
    publications[0]?.request.askToMove?.({ from, to: [{ ...from, rtmpPort: 1 }] })
    expect(await until(() => ends[0])).toEqual({ kind: 'moved', url: 'rtmp://127.0.0.1:1/app' })
    await until(() => publications[0]?.reason === 'left')
  })

  test.each([
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'does not speak RTMP'],
    ['nothing', '', 'closed the connection'],
  ])('loses a server that answers with %s', async (_what, answer, reason) => {
    const port = await foreign((socket) => socket.end(answer))
    const { ends } = await send(port)
    expect(await until(() => ends[0])).toMatchObject({
      kind: 'lost',
      message: expect.stringContaining(reason) as string,
    })
  })

  test('gives up a server that does not answer', async () => {
    const clock = new ManualClock()
    const { sender, ends } = await send(await foreign(() => undefined), clock)
    watch(sender, clock, 9)
    expect(ends).toEqual([])
    watch(sender, clock, 1)
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target did not answer in time' }])
  })

  test('never throws at what a server answers', async () => {
    for (let round = 0; round < 200; round++) {
      const port = await foreign((socket) => {
        const head = Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])
        socket.end(Buffer.concat([head, systemRandom.bytes(round * 3)]))
      })
      const { ends } = await send(port)
      expect((await until(() => ends[0])).kind).toBe('lost')
    }
  })
})

describe('a target that does not read', () => {
  test('holds two seconds of media at most, and gets the rest from a keyframe on', async () => {
    const { port, got, pause, resume } = await pausing()
    const { hub, sender, accepted } = await send(port)
    hub.tracks([VIDEO])
    await until(accepted)
    hub.frame(videoAt(0, { key: true }))
    await until(() => got().frames.length === 1)
    pause()
    // 40 s of 25 pictures a second, with a keyframe each second: 20 Mbit/s.
    for (let at = 1; at < 1000; at++) hub.frame(videoAt(at * 40_000, { key: at % 25 === 0, bytes: 100_000 }))
    expect(sender.dropped).toBeGreaterThan(800)
    const heldBytes = sender.waitingBytes
    expect(heldBytes).toBeLessThan(10_000_000)
    resume()
    await until(() => sender.waitingBytes === 0)
    for (let at = 1000; at < 1100; at++) {
      hub.frame(videoAt(at * 40_000, { key: at % 25 === 0 }))
      await until(() => sender.waitingBytes === 0)
    }
    hub.end()
    await until(() => got().reason !== null)
    const { frames } = got()
    // The server takes such fast media for a clock that jumps, so the pictures are told apart by their numbers.
    const numbers = frames.map(({ data }) => Buffer.from(data).readUInt32BE(5))
    const afterGap = frames.filter((_, at) => at > 0 && numbers[at] !== (numbers[at - 1] ?? 0) + 1)
    expect(afterGap.length).toBeGreaterThan(0)
    expect(afterGap.map(({ key }) => key)).not.toContain(false)
    expect(numbers.at(-1)).toBe(1099)
  })

  test('is given up after ten seconds, of which a pause of the process is none', async () => {
    const clock = new ManualClock()
    const { port, pause } = await pausing()
    const { hub, sender, accepted, ends } = await send(port, clock)
    hub.tracks([VIDEO])
    await until(accepted)
    pause()
    for (let at = 0; at < 400; at++) hub.frame(videoAt(at * 40_000, { key: at % 25 === 0, bytes: 100_000 }))
    watch(sender, clock, 9)
    // What it has read meanwhile is not told yet.
    clock.advance(60_000)
    sender.tick(clock.monotonic())
    expect(ends).toEqual([])
    watch(sender, clock, 1)
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target does not read what it is sent' }])
  })
})

test('all that was sent arrives before the end, also at a target that says something at that moment', async () => {
  let socket: Socket | undefined
  const { port } = await scripted(STARTED, (one) => (socket = one))
  const { hub, sender, accepted } = await send(port)
  hub.tracks([VIDEO])
  await until(accepted)
  socket?.pause()
  // More than the target's end of the connection holds.
  for (let at = 0; at < 10; at++) hub.frame(videoAt(at * 40_000, { key: true, bytes: 50_000 }))
  await until(() => sender.waitingBytes === 0)
  socket?.write(writeMessage(userControl(EVENT.pingRequest, 1)))
  hub.end()
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve))
  socket?.resume()
  await until(() => socket?.readableEnded || socket?.destroyed)
  expect(socket?.bytesRead).toBe(sender.bytes.bytesOut)
  expect(socket?.bytesRead).toBeGreaterThan(500_000)
})

/** A server of ours whose socket can be paused. */
async function pausing() {
  let held: Socket | null = null
  let publication: RtmpPublication | null = null
  const port = await foreign((socket) => {
    held = socket
    const connection = new RtmpConnection({
      socket,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      limits: LIMITS,
      publish: (request) => {
        publication = new Publication(request)
        return Promise.resolve(publication.answer())
      },
      pends: () => undefined,
    })
    closing.push(() => connection.end('stopped'))
  })
  const got = (): RtmpPublication => {
    if (publication === null) throw new Error('nothing is published yet')
    return publication
  }
  return { port, got, pause: () => held?.pause(), resume: () => held?.resume() }
}

/** A server that answers every command with a result, and `publish` with this status. */
const scripted = (status: AmfObject, serve?: (socket: Socket) => void): Promise<{ port: number }> =>
  answering(null, status, serve)

const STARTED = amfObject({ level: 'status', code: 'NetStream.Publish.Start' })

/** A server that answers each command with a result, `connect` with these facts, and `publish` with this status. */
async function answering(
  facts: AmfValue,
  status: AmfObject = STARTED,
  serve: (socket: Socket) => void = () => undefined,
): Promise<{ port: number; asked: () => Buffer }> {
  const answers = [
    Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)]),
    writeMessage(commandMessage(0, '_result', 1, null, facts)),
    writeMessage(commandMessage(0, '_result', 4, null, 7)),
    writeMessage(commandMessage(7, 'onStatus', 0, null, status)),
  ]
  const got: Buffer[] = []
  const port = await foreign((socket) => {
    serve(socket)
    socket.on('data', (data: Buffer) => got.push(data))
    socket.write(Buffer.concat(answers))
  })
  return { port, asked: () => Buffer.concat(got) }
}
