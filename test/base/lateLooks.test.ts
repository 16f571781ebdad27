import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { LateLooks, watchedFor } from '../../src/base/lateLooks.ts'

test('a look that is late by more than a second says how much it missed, and the time before it does not count', () => {
  const looks = new LateLooks(1000, 0)
  expect([looks.look(1000), looks.look(3000)]).toEqual([0, 0])
  expect(looks.lastedMs(500, 3000)).toBe(2500)
  expect(looks.look(63_000)).toBe(59_000)
  expect([looks.lastedMs(500, 63_000), looks.resumedMs]).toEqual([2500, 63_000])
  expect(looks.look(64_000)).toBe(0)
  expect([looks.lastedMs(500, 64_000), looks.lastedMs(30_000, 64_000)]).toEqual([3500, 1000])
  expect(looks.lastedMs(63_900, 64_000)).toBe(100)
})

test('a pause that no look has found yet does not count either', () => {
  const looks = new LateLooks(1000, 0)
  looks.look(1000)
  expect([looks.lastedMs(0, 2500), looks.lastedMs(0, 9000), looks.lastedMs(5000, 9000)]).toEqual([2500, 1000, 0])
})

/** A machine that stands still for 1.5 s in each 6 s. */
function standStillFor(ms: number, look: (nowMs: number) => void): void {
  for (let atMs = 250; atMs < ms; atMs += 250) if (atMs % 6000 >= 1500) look(atMs)
}

test('time passes on a machine that stands still again and again', () => {
  const looks = new LateLooks(250, 0)
  const lasted: number[] = []
  standStillFor(600_000, (nowMs) => {
    looks.look(nowMs)
    if (nowMs % 60_000 === 58_000) lasted.push(looks.lastedMs(nowMs - 24_000, nowMs))
  })
  // Four pauses of 1.75 s from look to look.
  expect(new Set(lasted)).toEqual(new Set([17_000]))
  expect(looks.lastedMs(0, 599_750)).toBeGreaterThan(60 * 4000)
})

test('a wait goes on over pauses, counts none of them, and ends when it is aborted', async () => {
  const clock = new ManualClock(0)
  const stopping = new AbortController()
  let isOver = false
  const waiting = watchedFor(clock, 10_000, stopping.signal).then(() => (isOver = true))
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    for (let turns = 0; turns < 4; turns += 1) await Promise.resolve()
  }
  for (let rounds = 0; rounds < 3; rounds += 1) {
    await pass(60_000)
    for (let seconds = 0; seconds < 3; seconds += 1) await pass(1000)
  }
  expect(isOver).toBe(false)
  await pass(1000)
  expect(await waiting).toBe(true)
  const aborted = watchedFor(clock, 10_000, stopping.signal)
  stopping.abort(new Error('stopped'))
  await expect(aborted).rejects.toThrow('stopped')
})
