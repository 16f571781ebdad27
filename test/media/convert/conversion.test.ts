import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { Conversion } from '../../../src/media/convert/conversion.ts'
import type { Ffmpeg, FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { TrackInfo } from '../../../src/media/frame.ts'
import { silentLog } from '../../support/log.ts'
import { AAC_CONFIG, AVC_CONFIG } from '../rtmp/media.ts'

const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }
const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 64, height: 64, config: AVC_CONFIG }
const STEP_MS = 500

let clock: ManualClock
/** The processes so far. */
let jobs: FfmpegJob[]
let kills: number
let outputs: Buffer[]
/** What the system says of a process. */
let state: { cpuMs: number; isReady: boolean }
/** The most writes that a process takes. */
let room: number
let conversion: Conversion

function run(job: FfmpegJob) {
  jobs.push(job)
  let writes = 0
  const { promise: exited, resolve } = Promise.withResolvers<object>()
  const stop = (graceMs: number) => {
    if (graceMs === 0) kills += 1
    resolve({ code: null, signal: 'SIGKILL', tail: '' })
    return exited
  }
  return { ok: true, value: { pid: 7, write: () => ++writes <= room, stop, exited } }
}

beforeEach(() => {
  clock = new ManualClock()
  ;[jobs, outputs, kills, room] = [[], [], 0, Number.POSITIVE_INFINITY]
  state = { cpuMs: 0, isReady: false }
  conversion = new Conversion({
    ffmpeg: { run } as unknown as Ffmpeg,
    clock,
    log: silentLog,
    name: 'show',
    args: [],
    begin: () => (output) => void outputs.push(output),
    looks: { cpuMsOf: async () => state.cpuMs, isReady: async () => state.isReady },
  })
})

/** Media of this length. @param keyEveryMs of video */
async function send(seconds: number, kind: 'audio' | 'video' = 'audio', keyEveryMs = STEP_MS): Promise<void> {
  for (let at = 0; at < seconds * 1000; at += STEP_MS) {
    const timeUs = clock.monotonic() * 1000
    const key = kind === 'audio' || at % keyEveryMs === 0
    conversion.frame({ kind, timeUs, decodeTimeUs: timeUs, key, data: new Uint8Array(9) })
    await new Promise(setImmediate)
    clock.advance(STEP_MS)
  }
}

test('an ffmpeg that took media for viewers over WebRTC and gave none stayed, and another one takes its place now', async () => {
  conversion.track(AUDIO)
  await send(10)
  expect([kills, jobs.length]).toEqual([0, 1])
  await send(3)
  expect([kills, jobs.length]).toEqual([1, 2])
  jobs[1]?.stdout?.(Buffer.from('media'))
  expect(outputs).toHaveLength(1)
  await conversion.stop()
})

test('one that hangs again and again is started less and less often', async () => {
  conversion.track(AUDIO)
  await send(60)
  // Each is killed after 10 s. The waits in between are 1 s, 2 s, 4 s and 8 s.
  expect([kills, jobs.length]).toEqual([4, 5])
  await conversion.stop()
})

test('one that gives output, or waits for a processor, is left alone', async () => {
  conversion.track(AUDIO)
  for (let seconds = 0; seconds < 60; seconds += 5) {
    await send(5)
    jobs[0]?.stdout?.(Buffer.from('media'))
  }
  state.isReady = true
  await send(60)
  expect([kills, jobs.length]).toEqual([0, 1])
  await conversion.stop()
})

test('one that takes nothing more is found between two keyframes that are far apart', async () => {
  room = 4
  conversion.track(VIDEO)
  await send(12, 'video', 30_000)
  expect(kills).toBe(1)
  await conversion.stop()
})
