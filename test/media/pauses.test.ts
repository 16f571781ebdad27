import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { err } from '../../src/base/result.ts'
import type { LoadControl } from '../../src/core/channels/runs/load.ts'
import type { Encoder } from '../../src/media/encoder/encoder.ts'
import { X264 } from '../../src/media/ffmpeg/videoEncoders.ts'
import { LadderRun, type LadderRunOptions } from '../../src/media/hls/ladder/ladderRun.ts'
import { watchEncoder } from '../../src/media/encoder/encoderWatch.ts'
import { RtmpClient } from './rtmp/client.ts'
import { avcConfig, videoFrame } from './rtmp/media.ts'
import { listenFor } from './rtmp/publications.ts'
import { until } from '../support/until.ts'
import { silentLog } from '../support/log.ts'

// The process is suspended for a minute: then timers come before what waits in its sockets is read.
const PAUSE_MS = 60_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('an RTMP broadcast goes on after a pause of the process, and ends when its publisher is silent', async () => {
  const clock = new ManualClock()
  const place = await listenFor({}, undefined, silentLog, clock)
  onTestFinished(() => place.stop())
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  client.send(avcConfig())
  clock.advance(PAUSE_MS)
  await turn()
  const [publication = expect.fail()] = place.publications
  client.send(videoFrame(0))
  await until(() => publication.frames.length === 1)
  expect(publication.ends).toBe(0)
  while (publication.ends === 0) {
    clock.advance(1000)
    await turn()
  }
  await until(() => place.connections() === 0)
})

test('a pause of the process does not make an encoder look slow', async () => {
  const clock = new ManualClock()
  const ended = Promise.withResolvers<void>()
  const looksAtMs: number[] = []
  const encoder = { process: { pid: null, exited: ended.promise }, encodedMs: 0 } as unknown as Encoder
  const load = {
    begun: () => undefined,
    over: () => undefined,
    look({ atMs }: { readonly atMs: number }) {
      looksAtMs.push(atMs)
      return { restart: false }
    },
  } as unknown as LoadControl
  const fed = () => ({ dueMs: 0, leadMs: 0, droppedFrames: 0, droppedMs: 0 })
  const watching = watchEncoder({ clock, log: silentLog, encoder, fed, load, found: () => undefined })
  for (const ms of [1000, 1000, PAUSE_MS, 1000]) {
    const count = looksAtMs.length
    clock.advance(ms)
    await until(() => looksAtMs.length > count)
    await turn()
  }
  const [first = expect.fail()] = looksAtMs
  expect(looksAtMs.map((atMs) => atMs - first)).toEqual([0, 1000, 2000, 3000])
  ended.resolve()
  await watching
})

const RUNG = { index: 0, id: 'low', label: '96p', width: 160, height: 96, bitrate: 100_000, frameRate: null }

test('a run of renditions is kept that works off what came at once after a pause, and lost when it gets no nearer', () => {
  const clock = new ManualClock()
  const losses: string[] = []
  const track = { lastUs: 0, audio: () => undefined }
  const run = new LadderRun({
    // Its process does not matter here.
    ffmpeg: { videoEncoder: X264, run: () => err({ code: 'busy', message: 'busy' }) },
    clock,
    log: silentLog,
    name: 'test',
    video: { kind: 'video', codec: 'h264' },
    rungs: [{ rung: RUNG, track }],
    lost: (why: string) => void losses.push(why),
  } as unknown as LadderRunOptions)
  const frame = (timeUs: number) => run.frame({ kind: 'video', key: true, timeUs, data: Buffer.alloc(1) } as never)
  const look = (ms: number) => {
    clock.advance(ms)
    run.check()
  }
  frame(0)
  look(1000)
  frame(30e6)
  look(PAUSE_MS)
  for (let second = 0; second < 8; second += 1) {
    track.lastUs += 1e6
    look(1000)
  }
  expect(losses).toEqual([])
  for (let second = 0; second < 6; second += 1) look(1000)
  expect(losses).toEqual(['ffmpeg is too far behind'])
})
