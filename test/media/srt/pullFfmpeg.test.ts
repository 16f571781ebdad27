import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame } from '../../../src/media/frame.ts'
import { type PullProblem, SILENT_SECONDS } from '../../../src/media/pulling.ts'
import { CONTROL, HEAD_BYTES, writeDataHead } from '../../../src/media/srt/packets.ts'
import { SrtPull } from '../../../src/media/srt/pull.ts'
import { clip } from '../../support/clips.ts'
import { silentLog } from '../../support/log.ts'
import { lossyLink } from '../../support/lossyUdp.ts'
import { ownPort } from '../../support/ownPort.ts'
import { until } from '../../support/until.ts'
import { deltaFrame, H264, keyframe, NULL_PACKET, TsMuxer, VIDEO_PID } from '../mpegts/muxer.ts'
import { contentOf, H264_AAC, HEVC_OPUS, readTs } from '../mpegts/clips.ts'
import { agree, passes, ScriptedListener, TICK_MS } from './scriptedListener.ts'

const PASSPHRASE = 'correct-horse_battery'
/** No more of it waits at ffmpeg, and on the way. */
const AHEAD_BYTES = 20_000
const CHUNK_BYTES = 20_000

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Pulling {
  readonly pull: SrtPull
  readonly frames: Frame[]
  readonly problems: PullProblem[]
}

async function call(port: number, parameters: object = {}): Promise<Pulling> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const frames: Frame[] = []
  const problems: PullProblem[] = []
  const pull = new SrtPull({
    socket,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: 'camera-1',
    passphrase: null,
    keyBytes: 16,
    latencyMs: 2000,
    maxFrameBytes: 1_000_000,
    sink: { tracks: () => undefined, frame: (frame) => frames.push(frame), end: () => undefined },
    leftOut: () => undefined,
    ended: (problem) => problems.push(problem),
    ...parameters,
  })
  closing.push(() => pull.end())
  await pull.start()
  return { pull, frames, problems }
}

/** A call that ffmpeg takes: it begins to listen after some time. */
const connected = (port: number, parameters: object): Promise<Pulling> =>
  until(async () => {
    const pulling = await call(port, parameters)
    await until(() => pulling.pull.link !== undefined || pulling.problems.length > 0)
    return pulling.problems.length === 0 && pulling
  })

/** ffmpeg as listener that sends what it reads. */
function listener(port: number, query: string) {
  const url = `srt://127.0.0.1:${port}?mode=listener&latency=2000000${query}`
  const read = '-v quiet -f data -probesize 32 -i pipe:0'.split(' ')
  const ffmpeg = spawn('ffmpeg', [...read, '-map', '0', '-c', 'copy', '-flush_packets', '1', '-f', 'data', url])
  ffmpeg.stdin.on('error', () => undefined)
  const over = once(ffmpeg, 'close')
  closing.push(async () => {
    ffmpeg.kill('SIGKILL')
    await over
  })
  return ffmpeg
}

interface Way {
  readonly query?: string
  readonly parameters?: object
  readonly loss?: number
}

const contents = (frames: readonly Frame[]): string[][] =>
  ['video', 'audio'].map((kind) => frames.filter((frame) => frame.kind === kind).map(contentOf))

test.each([
  ['H.264 and AAC', H264_AAC, {}],
  ['HEVC and Opus', HEVC_OPUS, {}],
  ...([16, 24, 32] as const).map(
    (keyBytes) =>
      [
        `H.264 and AAC, encrypted with keys of ${keyBytes} bytes`,
        H264_AAC,
        { query: `&passphrase=${PASSPHRASE}`, parameters: { passphrase: PASSPHRASE, keyBytes } },
      ] as const,
  ),
  ['H.264 and AAC, with a tenth of the packets lost each way', H264_AAC, { loss: 0.1 }],
] as const)('each frame of %s comes from ffmpeg as listener', async (_, args, way: Way) => {
  const bytes = clip(args, 'ts')
  const expected = contents(readTs(bytes).frames)
  const port = await ownPort()
  const { stdin } = listener(port, way.query ?? '')
  // It listens once it knows what it reads.
  stdin.write(bytes.subarray(0, CHUNK_BYTES))
  const link = way.loss === undefined ? null : await lossyLink(port, 5)
  closing.push(() => link?.close())
  const { pull, frames, problems } = await connected(link?.port ?? port, way.parameters ?? {})
  link?.lose(way.loss ?? 0)
  for (let at = CHUNK_BYTES; at < bytes.length; at += CHUNK_BYTES) {
    stdin.write(bytes.subarray(at, at + CHUNK_BYTES))
    await until(() => pull.bytesIn > at - AHEAD_BYTES)
  }
  await until(() => {
    // libsrt sends a lost packet again when it is reported, which takes a later one. A live stream always has one.
    stdin.write(NULL_PACKET)
    return contents(frames).every((all, kind) => all.length === expected[kind]?.length)
  })
  expect(contents(frames)).toEqual(expected)
  expect(problems).toEqual([])
  if (way.loss !== undefined) expect(pull.link?.lost).toBeGreaterThan(0)
  expect(pull.link).toMatchObject({ givenUp: 0 })
})

test('ffmpeg as listener with another passphrase is a source that refuses', async () => {
  const port = await ownPort()
  listener(port, '&passphrase=another-passphrase').stdin.write(Buffer.alloc(CHUNK_BYTES))
  const problem = await until(async () => {
    const { problems } = await call(port, { passphrase: PASSPHRASE })
    const [first] = await until(() => problems.length > 0 && problems)
    return first?.kind === 'refused' && first
  })
  expect(problem.message).toMatch(/passphrase/)
})

test('a source that sends tables and stuffing, and no media, is given up', async () => {
  let next = 0
  const scripted = await ScriptedListener.open((sequence) => agree((next = sequence)))
  closing.push(() => scripted.close())
  const { pull, problems } = await call(scripted.port)
  await until(() => pull.link !== undefined)
  const tables = new TsMuxer().tables([{ type: 0x1b, pid: 0x100 }])
  for (let look = 0; problems.length === 0 && look <= 2 * SILENT_SECONDS; look++) {
    const [datagram, before] = [Buffer.concat([Buffer.alloc(HEAD_BYTES), tables, NULL_PACKET]), pull.bytesIn]
    writeDataHead(datagram, { sequence: next++, key: 0, socketId: scripted.callerId, message: look, timeUs: 0 })
    scripted.socket.send(datagram, scripted.callerPort, '127.0.0.1')
    await until(() => pull.bytesIn > before)
    pull.tick()
  }
  expect(problems).toMatchObject([{ kind: 'lost', message: 'The source has sent no media for 10 s' }])
})

test.each([
  ['says goodbye', 'peer_closed'],
  ['says nothing any more', 'peer_silent'],
])('a source that %s has its last frame of video taken, which no other one follows', async (_, code) => {
  let sequence = 0
  const scripted = await ScriptedListener.open((next) => agree((sequence = next)))
  closing.push(() => scripted.close())
  const clock = new ManualClock(0)
  const { pull, frames, problems } = await call(scripted.port, { clock })
  await until(() => pull.link !== undefined)
  const ts = new TsMuxer()
  const video = [ts.video(keyframe(50), 0), ts.video(deltaFrame(50), 3600)]
  const datagram = Buffer.concat([Buffer.alloc(HEAD_BYTES), ts.tables([{ type: H264, pid: VIDEO_PID }]), ...video])
  writeDataHead(datagram, { sequence, key: 0, socketId: scripted.callerId, message: 1, timeUs: 0 })
  scripted.socket.send(datagram, scripted.callerPort, '127.0.0.1')
  await until(() => frames.length === 1)
  if (code === 'peer_closed') scripted.control(CONTROL.shutdown, Buffer.alloc(4))
  else await passes(clock, 6000, TICK_MS)
  await until(() => problems.length === 1)
  expect(problems).toMatchObject([{ kind: 'lost', sentences: [{ code }] }])
  expect(frames.map(({ key }) => key)).toEqual([true, false])
})
