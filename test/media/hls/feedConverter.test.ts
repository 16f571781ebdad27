import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { CODECS } from '../../../src/media/codecs/codecs.ts'
import { HLS_OFFSET_MS } from '../../../src/media/ffmpeg/arguments.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import type { Ffmpeg, FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { type Frame, rtpAudioTrack } from '../../../src/media/frame.ts'
import { FeedConverter } from '../../../src/media/hls/feedConverter.ts'
import type { Message } from '../../../src/media/rtmp/messages.ts'
import { AAC_CONFIG, AVC_CONFIG, aacConfig, aggregateOf, audioFrame } from '../rtmp/media.ts'
import { strictLog } from '../../support/log.ts'

const STEP_MS = 40
const OPUS = rtpAudioTrack('opus', 48_000)

/** A converter, the processes that it began, and what it passed on: the codecs of tracks, and the times of frames, milliseconds. */
function converting() {
  const jobs: FfmpegJob[] = []
  const exited = new Promise(() => undefined)
  const process = { write: () => true, end: () => undefined, stop: async () => undefined, exited }
  const ffmpeg = { run: (job: FfmpegJob) => (jobs.push(job), { ok: true, value: process }) } as unknown as Ffmpeg
  const passed: string[] = []
  const converter = new FeedConverter({
    ffmpeg,
    clock: new ManualClock(),
    log: strictLog,
    name: 'show',
    passes: ({ codec }) => CODECS[codec].inHls === 'always',
    out: {
      tracks: (tracks) => passed.push(tracks.map(({ codec }) => codec).join(' ')),
      frame: ({ kind, timeUs }) => passed.push(`${kind} ${timeUs / 1000}`),
      end: () => undefined,
    },
    encodingRoom: ENDLESS_ROOM,
    stallMs: 10_000,
    failed: () => undefined,
  })
  const frame = (kind: Frame['kind'], ms: number): void => {
    const timeUs = ms * 1000
    converter.frame({ kind, timeUs, decodeTimeUs: timeUs, key: true, data: new Uint8Array(100) })
  }
  return { converter, jobs, passed, frame }
}

test('video that waited for a slow ffmpeg came before all of its audio, and not in step with it', async () => {
  const { converter, jobs, passed, frame } = converting()
  const video = { kind: 'video', codec: 'h264', width: 64, height: 64, config: AVC_CONFIG } as const
  converter.tracks([video, OPUS])
  const times = [0, 1, 2, 3].map((index) => index * STEP_MS)
  for (const ms of times) for (const kind of ['video', 'audio'] as const) frame(kind, ms)
  expect(passed).toEqual([])
  const converted = times.map((ms) => audioFrame(HLS_OFFSET_MS + ms))
  jobs[0]?.stdout?.(Buffer.concat([Buffer.alloc(13), aggregateOf(0, [aacConfig(), ...converted]).payload]))
  await new Promise(setImmediate)
  expect(passed).toEqual(['h264 aac', ...times.flatMap((ms) => [`audio ${ms}`, `video ${ms}`])])
})

test('audio that ffmpeg made was lost for good after 24.8 days, when its 31 bits of a timestamp begin again', async () => {
  const { converter, jobs, passed, frame } = converting()
  converter.tracks([{ kind: 'video', codec: 'h264', width: 64, height: 64, config: AVC_CONFIG }, OPUS])
  const times = [0, 1, 2, 3].map((index) => 2 ** 31 - HLS_OFFSET_MS - 1.5 * STEP_MS + index * STEP_MS)
  for (const ms of times) for (const kind of ['video', 'audio'] as const) frame(kind, ms)
  const converted = times.map((ms) => audioFrame((HLS_OFFSET_MS + ms) % 2 ** 31))
  jobs[0]?.stdout?.(Buffer.concat([Buffer.alloc(13), aggregateOf(0, [aacConfig(), ...converted]).payload]))
  await new Promise(setImmediate)
  expect(passed).toEqual(['h264 aac', ...times.flatMap((ms) => [`audio ${ms}`, `video ${ms}`])])
})

test('video that has to be encoded takes its room until it is over, and without room no process begins', async () => {
  let [isFree, seats, processes] = [false, 0, 0]
  const problems: string[] = []
  const process = { write: () => true, end: () => undefined, stop: async () => undefined }
  const exits: (() => void)[] = []
  const run = () => {
    processes += 1
    const exited = new Promise((resolve) => exits.push(() => resolve({ code: 1, signal: null, tail: '' })))
    return { ok: true, value: { ...process, exited } }
  }
  const converter = new FeedConverter({
    ffmpeg: { run } as unknown as Ffmpeg,
    clock: new ManualClock(),
    log: strictLog,
    name: 'show',
    passes: ({ codec }) => CODECS[codec].inHls === 'always',
    encodingRoom: { isFor: () => isFree, reserve: () => ((seats += 1), () => void (seats -= 1)) },
    out: { tracks: () => undefined, frame: () => undefined, end: () => undefined },
    stallMs: 10_000,
    failed: (problem) => problems.push(problem),
  })
  const video = { kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array() } as const
  const key = () => converter.frame({ kind: 'video', timeUs: 0, decodeTimeUs: 0, key: true, data: new Uint8Array(100) })
  converter.tracks([video])
  key()
  expect([processes, seats, converter.lacksRoom, problems]).toEqual([0, 0, true, [expect.stringMatching(/no room/)]])
  isFree = true
  converter.restart()
  key()
  expect([processes, seats, converter.lacksRoom]).toEqual([1, 1, false])
  exits[0]?.()
  await new Promise(setImmediate)
  expect([seats, problems.length]).toEqual([0, 2])
  converter.restart()
  key()
  expect(seats).toBe(1)
  converter.tracks([{ ...video, codec: 'h264', config: AVC_CONFIG }])
  expect(seats).toBe(0)
  converter.tracks([video])
  key()
  expect(seats).toBe(1)
  await converter.stop()
  expect(seats).toBe(0)
})

test('what is still converted when other media passes as it is comes too late, and is left out', async () => {
  const { converter, jobs, passed, frame } = converting()
  const output = async (...parts: Message[]): Promise<void> => {
    jobs[0]?.stdout?.(aggregateOf(0, parts).payload)
    await new Promise(setImmediate)
  }
  converter.tracks([OPUS])
  frame('audio', 0)
  jobs[0]?.stdout?.(Buffer.alloc(13))
  await output(aacConfig(), audioFrame(HLS_OFFSET_MS))
  converter.tracks([{ kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }])
  frame('audio', 40)
  await output(audioFrame(HLS_OFFSET_MS + 20))
  expect(passed).toEqual(['aac', 'audio 0', 'aac', 'audio 40'])
})

test('an ffmpeg that does not end after its last frame is killed, so that the stream ends', async () => {
  let ends = 0
  const processes: { readonly graces: number[] }[] = []
  const run = () => {
    const { promise: exited, resolve } = Promise.withResolvers<object>()
    const graces: number[] = []
    processes.push({ graces })
    const stop = (graceMs: number) => (
      graces.push(graceMs), resolve({ code: null, signal: 'SIGKILL', tail: '' }), exited
    )
    return { ok: true, value: { write: () => true, end: () => undefined, stop, exited } }
  }
  const converter = new FeedConverter({
    ffmpeg: { run } as unknown as Ffmpeg,
    clock: new ManualClock(),
    log: strictLog,
    name: 'show',
    passes: ({ codec }) => CODECS[codec].inHls === 'always',
    encodingRoom: ENDLESS_ROOM,
    out: { tracks: () => undefined, frame: () => undefined, end: () => void (ends += 1) },
    stallMs: 10_000,
    failed: () => undefined,
  })
  converter.tracks([OPUS])
  converter.frame({ kind: 'audio', timeUs: 0, decodeTimeUs: 0, key: true, data: new Uint8Array(9) })
  converter.tracks([{ kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }])
  converter.end()
  await expect.poll(() => ends).toBe(1)
  expect(processes).toEqual([{ graces: [5000] }])
})

test('an ffmpeg that got no processor was taken for one that hangs; one that runs in circles, or takes nothing more, is killed', async () => {
  const clock = new ManualClock()
  const state = { cpuMs: 0, isReady: true }
  let [kills, isFull] = [0, false]
  const exited = new Promise(() => undefined)
  const process = { pid: 7, write: () => !isFull, end: () => undefined, stop: async () => void kills++, exited }
  const converter = new FeedConverter({
    ffmpeg: { run: () => ({ ok: true, value: process }) } as unknown as Ffmpeg,
    clock,
    log: strictLog,
    name: 'show',
    passes: () => false,
    encodingRoom: ENDLESS_ROOM,
    out: { tracks: () => undefined, frame: () => undefined, end: () => undefined },
    stallMs: 10_000,
    looks: { cpuMsOf: async () => state.cpuMs, isReady: async () => state.isReady },
    failed: () => undefined,
  })
  const video = { kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array() } as const
  const frames = async (seconds: number, cpuMs: number, isKey = (_second: number) => true): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      const timeUs = clock.now() * 1000
      converter.frame({ kind: 'video', timeUs, decodeTimeUs: timeUs, key: isKey(second), data: new Uint8Array(9) })
      clock.advance(1000)
      state.cpuMs += cpuMs
      await converter.checkProgress()
    }
  }
  converter.tracks([video])
  await frames(60, 100)
  expect(kills).toBe(0)
  await frames(5, 1000)
  expect(kills).toBe(1)
  // One that hangs takes no more once its input is full: then keyframes alone are written, which may be far apart.
  converter.tracks([{ ...video, width: 128 }])
  kills = 0
  state.isReady = false
  await frames(3, 0, (second) => second === 0)
  isFull = true
  await frames(8, 0, (second) => second === 5)
  expect(kills).toBe(1)
})
