import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { dateSince, inTime, ManualClock, momentOf, settledSpan, Starts } from '../../src/base/clock.ts'

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

describe('a wait with a limit', () => {
  const settled = () => new Promise(setImmediate)

  test('ends at its limit', async () => {
    const clock = new ManualClock()
    const waits = inTime(clock, 3000, new Promise(() => undefined))
    clock.advance(3000)
    expect(await waits).toBeNull()
  })

  test('takes an answer that came during a pause of the process, and otherwise ends a second later', async () => {
    const clock = new ManualClock()
    const answer = Promise.withResolvers<string>()
    const [answered, silent] = [answer.promise, new Promise(() => undefined)].map((done) => inTime(clock, 3000, done))
    clock.advance(10_000)
    await settled()
    answer.resolve('read after the pause')
    expect(await answered).toBe('read after the pause')
    clock.advance(1000)
    expect(await silent).toBeNull()
  })
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

test('a span that is over has no negative length and does not end in the future', () => {
  const settled = (startedAtMs: number, endedAtMs: number, nowMs: number) => {
    const span = settledSpan({ startedAtMs, endedAtMs }, nowMs)
    return [span.startedAtMs, span.endedAtMs]
  }
  expect(settled(1_000_000, 1_030_000, 1_040_000)).toEqual([1_000_000, 1_030_000])
  expect(settled(1_000_000, 400_000, 1_040_000)).toEqual([1_000_000, 1_000_000])
  // Clocks of two machines differ a little.
  expect(settled(1_000_000, 1_030_000, 1_029_000)).toEqual([1_000_000, 1_029_000])
  expect(settled(1_000_000, 1_030_000, 500_000)).toEqual([470_000, 500_000])
  expect(settled(1_000_000, 400_000, 500_000)).toEqual([500_000, 500_000])
})

test('starts that a process has not seen are dated by the wall clock, and it remembers a bounded number', () => {
  const clock = new ManualClock(1_000_000)
  const starts = new Starts()
  starts.note('first', momentOf(clock))
  clock.advance(1000)
  clock.setWall(3_600_000)
  expect([starts.dateOf('first', clock), starts.dateOf('other', clock)]).toEqual([1_001_000, clock.now()])
  for (let index = 0; index < 10_000; index += 1) starts.note(`later ${index}`, momentOf(clock))
  expect(starts.dateOf('first', clock)).toBe(clock.now())
})
