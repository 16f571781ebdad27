import type { Socket as DatagramSocket } from 'node:dgram'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Ffmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import { Hub } from '../../src/media/hub.ts'
import type { FrameSink } from '../../src/media/frame.ts'
import type { WaitingMedia } from '../../src/media/mediaQueue.ts'
import type { SenderEnd } from '../../src/media/publishing.ts'
import { type PulledSourceOptions, type PullProblem, SLUICE_FAILED } from '../../src/media/pulling.ts'
import { ClientHandshake } from '../../src/media/rtmp/handshake.ts'
import { RtmpPlayer } from '../../src/media/rtmp/player.ts'
import { RtspPull } from '../../src/media/rtsp/pull.ts'
import { RtspReplies } from '../../src/media/rtsp/replies.ts'
import { SrtCall } from '../../src/media/srt/caller.ts'
import { TcpSender } from '../../src/media/tcpSender.ts'
import { until } from '../support/until.ts'
import type { Publication } from '../support/publication.ts'
import { RtmpClient } from './rtmp/client.ts'
import { avcConfig, videoFrame } from './rtmp/media.ts'
import { listenFor } from './rtmp/publications.ts'
import { SrtCaller } from './srt/caller.ts'
import { listenForSrt } from './srt/publications.ts'
import { adts, BOTH, TsMuxer } from './mpegts/muxer.ts'

const raise = (): never => {
  throw new Error('a fault of ours')
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0).reverse()) await close()
})

/** A log, and the errors in it. */
function logged() {
  const errors: string[] = []
  const destination = { write: (line: string) => void errors.push((JSON.parse(line) as { message: string }).message) }
  return { errors, log: createLogger({ level: 'error', format: 'json', destination }) }
}

/** The publications of two who publish: the media of the first cannot be taken, by a fault of ours. */
async function halfBroken<T>(
  publications: readonly Publication<T>[],
): Promise<readonly [Publication<T>, Publication<T>]> {
  const [broken, other] = await until(() => (publications.length === 2 ? publications : null))
  if (broken === undefined || other === undefined) throw new Error('there are two')
  broken.frame = raise
  return [broken, other]
}

test('a fault in the media of an RTMP publisher ends its connection alone, and is logged', async () => {
  const { errors, log } = logged()
  const place = await listenFor({}, undefined, log)
  closing.push(() => place.stop())
  const clients: RtmpClient[] = []
  for (const name of ['broken', 'other']) {
    const client = await RtmpClient.open(place.port)
    clients.push(client)
    await client.publish('v2/pub', name)
  }
  const [broken, other] = await halfBroken(place.publications)
  for (const client of clients) client.send(avcConfig(), videoFrame(0))
  await until(() => broken.reasons.length > 0 && other.frames.length === 1)
  expect([broken.reasons, broken.ends, other.reasons]).toEqual([['lost'], 1, []])
  expect(errors).toEqual(['an RTMP connection failed'])
})

test('a fault in the media of an SRT publisher ends its connection alone, and is logged', async () => {
  const { errors, log } = logged()
  const listener = await listenForSrt({ log })
  closing.push(() => listener.stop())
  const callers: SrtCaller[] = []
  for (const streamId of ['broken', 'other']) {
    const caller = await SrtCaller.call(listener.port, { streamId })
    closing.push(() => caller.close())
    callers.push(caller)
  }
  const [broken, other] = await halfBroken(listener.publications)
  const ts = new TsMuxer()
  const media = [0, 1, 2].map((at) =>
    Buffer.concat([at === 0 ? ts.tables(BOTH.slice(1)) : Buffer.alloc(0), ts.audio(adts(50, at), at * 1800)]),
  )
  for (const caller of callers) caller.send(...media)
  await until(() => broken.reasons.length > 0 && other.frames.length === 3)
  expect([broken.reasons, broken.ends, other.reasons]).toEqual([['lost'], 1, []])
  expect(errors).toEqual(['an SRT connection failed'])
})

test('what gets the media of a feed and fails ended the broadcast and all else that gets it', () => {
  const { errors, log } = logged()
  const hub = new Hub({ log })
  const got: string[] = []
  const sink = (name: string, frame = () => void got.push(`${name} frame`)): FrameSink => ({
    tracks: () => undefined,
    frame,
    end: () => void got.push(`${name} end`),
  })
  for (const one of [sink('first'), sink('broken', raise), sink('last')]) hub.subscribe(one)
  hub.tracks([{ kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }])
  const frame = { kind: 'audio', key: true, timeUs: 0, decodeTimeUs: 0, data: new Uint8Array(1) } as const
  hub.frame(frame)
  hub.frame(frame)
  expect(got).toEqual(['first frame', 'broken end', 'last frame', 'first frame', 'last frame'])
  expect(errors).toEqual(['what gets the media of a feed has failed, and gets no more of it'])
})

/** What stands in for a connection: nothing leaves, and the test says what comes. */
class Connection extends EventEmitter {
  destroyed = false
  readonly writable = true
  readonly bytesRead = 0
  readonly bytesWritten = 0
  readonly writableLength = 0
  write = (): boolean => true

  destroy(): void {
    this.destroyed = true
  }
}

class Datagrams extends EventEmitter {
  isClosed = false
  getSendQueueSize = (): number => 0
  send = (): void => undefined

  close(): void {
    this.isClosed = true
  }
}

/** A connection to a source, how it has ended, and what was logged. */
function pulled(path: string) {
  const [socket, ends] = [new Connection(), [] as PullProblem[]]
  const { errors, log } = logged()
  const options: PulledSourceOptions = {
    socket: socket as unknown as Socket,
    clock: new ManualClock(),
    log,
    url: new URL(path),
    maxFrameBytes: 1e6,
    sink: { tracks: () => undefined, frame: () => undefined, end: () => undefined },
    leftOut: () => undefined,
    ended: (problem) => void ends.push(problem),
  }
  return { socket, ends, errors, options }
}

const LOST = { kind: 'lost', ...SLUICE_FAILED } as const

test('a fault in what a source of RTMP sends ends its connection alone, and is logged', async () => {
  const { socket, ends, errors, options } = pulled('rtmp://127.0.0.1/live/show')
  vi.spyOn(ClientHandshake.prototype, 'push').mockImplementation(raise)
  await new RtmpPlayer({ ...options, random: systemRandom }).start()
  socket.emit('data', Buffer.alloc(9))
  expect([ends, socket.destroyed, errors]).toEqual([[LOST], true, ['a connection to a source of RTMP failed']])
})

/** A source of RTSP whose ffmpeg is what the test says, one after the other. */
function camera(...processes: (() => Promise<unknown>)[]) {
  const { options, ...seen } = pulled('rtsp://127.0.0.1/show')
  const run = () => ({ ok: true, value: { exited: (processes.shift() ?? raise)(), stop: async () => undefined } })
  const pull = new RtspPull({ ...options, name: 'a camera', ffmpeg: { run } as unknown as Ffmpeg })
  closing.push(() => pull.end())
  return { ...seen, pull }
}

const RTSP_FAILED = 'a connection to a source of RTSP failed'
const never = () => new Promise(() => undefined)

test('a fault in what a source of RTSP sends ends its connection alone, and is logged', () => {
  const { socket, ends, errors } = camera()
  vi.spyOn(RtspReplies.prototype, 'push').mockImplementation(raise)
  socket.emit('data', Buffer.alloc(9))
  expect([ends, socket.destroyed, errors]).toEqual([[LOST], true, [RTSP_FAILED]])
})

test('a fault at the end of the ffmpeg of a source of RTSP ended the server', async () => {
  const noExit = Promise.resolve(undefined)
  const { pull, ends, errors } = camera(() => noExit)
  await pull.start()
  await until(() => ends.length > 0)
  expect([ends, errors]).toEqual([[LOST], [RTSP_FAILED]])
})

test('a fault in the second start of the ffmpeg of a source of RTSP is logged, and ends its connection alone', async () => {
  const { pull, socket, ends, errors } = camera(never, raise)
  await pull.start()
  const body = 'v=0\r\nm=audio 0 RTP/AVP 8\r\n'
  const head = `RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.emit('data', Buffer.from(head + body))
  await until(() => ends.length > 0)
  expect([ends, socket.destroyed, errors]).toEqual([[LOST], true, [RTSP_FAILED]])
})

test.each([
  ['in what comes', (socket: Datagrams) => void socket.emit('message', null)],
  [
    'at a look',
    (socket: Datagrams, clock: ManualClock) => {
      socket.getSendQueueSize = raise
      clock.advance(1000)
    },
  ],
])('a fault %s ends an SRT call alone, and is logged', async (_, come) => {
  const [socket, clock, ends] = [new Datagrams(), new ManualClock(), [] as SenderEnd[]]
  const { errors, log } = logged()
  const call = new SrtCall({
    socket: socket as unknown as DatagramSocket,
    clock,
    random: systemRandom,
    log,
    streamId: 'show',
    passphrase: null,
    keyBytes: 16,
    latencyMs: 120,
    tickMs: 10,
    begin: raise,
    ended: (how) => void ends.push(how),
  })
  closing.push(() => call.end())
  await turn()
  come(socket, clock)
  await turn()
  expect([ends, socket.isClosed, errors]).toEqual([[LOST], true, ['an SRT call failed']])
})

class BrokenTarget extends TcpSender<WaitingMedia> {
  protected get takesMedia(): boolean {
    return raise()
  }

  protected piecesOf(): Uint8Array[] {
    return raise()
  }

  protected received(): void {
    raise()
  }

  protected sayGoodbye(): void {
    raise()
  }
}

test.each([
  ['what it says', (socket: Connection) => socket.emit('data', Buffer.alloc(1))],
  ['the sending of what waits', (socket: Connection) => socket.emit('drain')],
])('a fault in %s ends the connection to a target alone, and is logged', (_, come) => {
  const [socket, ends] = [new Connection(), [] as SenderEnd[]]
  const { errors, log } = logged()
  const target = new BrokenTarget({
    socket: socket as unknown as Socket,
    clock: new ManualClock(),
    log,
    ready: () => undefined,
    accepted: () => undefined,
    ended: (how) => void ends.push(how),
  })
  come(socket)
  target.end()
  expect([ends, socket.destroyed, errors]).toEqual([[LOST], true, ['a connection to a target failed']])
})
