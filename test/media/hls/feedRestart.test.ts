import { afterEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import type { Ffmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { FeedStream } from '../../../src/media/hls/feedStream.ts'
import { MemoryStore } from '../../../src/media/hls/store.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { Hub } from '../../../src/media/hub.ts'
import { freeLoad } from '../../support/load.ts'
import { silentLog } from '../../support/log.ts'

const open: { stream: FeedStream; processes: { stopped: () => void }[] }[] = []
afterEach(async () => {
  for (const { stream, processes } of open.splice(0)) {
    for (const process of processes) process.stopped()
    await stream.stop()
  }
})

/** However busy the machine is. */
const BUSY = { timeout: 30_000 }

/** A stream whose processes do nothing; the test says when one dies, and when the end of one that was stopped is there. */
function scripted() {
  const clock = new ManualClock()
  const pausesMs: unknown[] = []
  const processes: { die: () => void; stopped: () => void }[] = []
  const run = () => {
    const [exited, stopping] = [Promise.withResolvers<object>(), Promise.withResolvers<void>()]
    const die = (): void => exited.resolve({ code: 1, signal: null, tail: '' })
    processes.push({ die, stopped: () => (die(), stopping.resolve()) })
    const process = { write: () => true, end: () => undefined, stop: () => stopping.promise, exited: exited.promise }
    return { ok: true, value: process }
  }
  const source = new Hub()
  const stream = new FeedStream({
    ffmpeg: { run } as unknown as Ffmpeg,
    clock,
    log: { ...silentLog, warn: (fields) => void pausesMs.push((fields as { pauseMs: number }).pauseMs) },
    name: 'show',
    id: 'feed',
    store: new MemoryStore(),
    numbers: new StreamNumbers(clock),
    source,
    segments: { targetSeconds: 2, listed: 6, maxBytes: 1e6, parts: true },
    renditions: [],
    load: freeLoad(),
    encodingRoom: ENDLESS_ROOM,
    stallMs: 15_000,
  })
  begin(source)
  const made = { stream, source, clock, processes, pausesMs }
  open.push(made)
  return made
}

/** With the first keyframe a process begins. */
function begin(source: Hub): void {
  source.tracks([{ kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) }])
  source.frame({ kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(100) })
}

test('a publisher whose packager is still finishing does not end the stream of the one that took its place', async () => {
  const { stream, source, processes } = scripted()
  const next = new Hub()
  source.end()
  stream.follow(next, { renditions: [] })
  processes[0]?.stopped()
  await new Promise(setImmediate)
  expect(stream.ended).toBe(false)
  begin(next)
  expect(processes).toHaveLength(2)
})

test('pauses grow while a packager fails at once, and are short again after one that ran for long', async () => {
  const { clock, processes, pausesMs } = scripted()
  const dieAfter = async (ms: number): Promise<void> => {
    await vi.waitFor(() => expect(processes).toHaveLength(pausesMs.length + 1), BUSY)
    clock.advance(ms)
    const failures = pausesMs.length
    processes.at(-1)?.die()
    await vi.waitFor(() => expect(pausesMs).toHaveLength(failures + 1), BUSY)
    clock.advance(Number(pausesMs.at(-1)))
  }
  for (const ranMs of [0, 0, 30_000, 30_001, 0]) await dieAfter(ranMs)
  expect(pausesMs).toEqual([250, 500, 1000, 250, 500])
})
