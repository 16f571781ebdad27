import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { dateSince, ManualClock, momentOf } from '../../src/base/clock.ts'

test('a sleep by hand ends with its signal, also with one that was aborted before', async () => {
  const clock = new ManualClock()
  const over = new AbortController()
  const asleep = clock.sleep(10, over.signal)
  over.abort(new Error('over'))
  await expect(asleep).rejects.toThrow('over')
  await expect(clock.sleep(10, over.signal)).rejects.toThrow('over')
})

test('a sleeper that was woken no longer listens to its signal', async () => {
  const clock = new ManualClock()
  const { signal } = new AbortController()
  const asleep = clock.sleep(10, signal)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  clock.advance(10)
  await asleep
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

describe('a date by the time that has passed', () => {
  test('follows the wall clock, but not when it is set', () => {
    const clock = new ManualClock(1_000_000)
    const since = momentOf(clock)
    clock.advance(60_000)
    expect([dateSince(since, clock), dateSince(since, clock, since.monotonicMs + 10)]).toEqual([1_060_000, 1_000_010])
    clock.setWall(4000)
    expect(dateSince(since, clock)).toBe(1_064_000)
    for (const byMs of [3_600_000, -7_200_000]) {
      clock.setWall(byMs)
      expect(dateSince(since, clock)).toBe(1_060_000)
    }
  })

  test('follows the wall clock over days, although the other clock is a thousandth too slow', () => {
    const clock = new ManualClock(1_000_000)
    const since = momentOf(clock)
    clock.advance(1e9)
    clock.setWall(1e6)
    expect(dateSince(since, clock)).toBe(1_000_000 + 1e9 + 1e6)
  })
})
