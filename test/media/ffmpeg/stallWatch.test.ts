import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { StallWatch } from '../../../src/media/ffmpeg/stallWatch.ts'

const STALL_MS = 10_000

/** Feeds a process at these times, milliseconds, and looks after each. Returns when it was killed; null: it was not. */
async function killedAt(fedAtMs: readonly number[], movesAfterMs: number | null = null): Promise<number | null> {
  const clock = new ManualClock(0)
  const watch = new StallWatch(clock, STALL_MS, { cpuMsOf: async () => 70, isReady: async () => false })
  for (const atMs of fedAtMs) {
    clock.advance(atMs - clock.monotonic())
    watch.fed(true)
    if (await watch.check({ pid: 7, stop: async () => ({ code: null, signal: null, tail: '' }) })) return atMs
    if (movesAfterMs === null) continue
    clock.advance(movesAfterMs)
    watch.moved()
  }
  return null
}

const every = (ms: number, count: number): number[] => Array.from({ length: count }, (_, at) => at * ms)

test('a process that takes frames and gives none is killed after ten seconds, or ten frames where they come more rarely', async () => {
  expect(await killedAt(every(40, 1000))).toBe(STALL_MS)
  // A second of each interval counts.
  expect(await killedAt(every(5000, 1000))).toBe(50_000)
})

test('a process that takes seconds for each frame, and one whose publisher paused for minutes, are not killed', async () => {
  expect(await killedAt(every(5000, 1000), 4000)).toBe(null)
  expect(await killedAt([0, 40, 80, 600_000, 600_040, 1_200_000])).toBe(null)
})
