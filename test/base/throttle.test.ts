import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Throttle } from '../../src/base/throttle.ts'

describe('a throttle', () => {
  test('passes its budget at once, and then one at a time', () => {
    const throttle = new Throttle(3, 10)
    const take = (nowMs: number) => throttle.take('a', nowMs)
    expect([take(0), take(0), take(0)]).toEqual([0, 0, 0])
    expect([take(0), take(5000), take(19_999)]).toEqual([20_000, 15_000, 1])
    expect([take(20_000), take(20_000)]).toEqual([0, 20_000])
    expect(throttle.take('b', 20_000)).toBe(0)
    // After a minute without calls the whole budget is available again.
    expect([0, 1, 2, 3].map(() => take(200_000))).toEqual([0, 0, 0, 20_000])
  })

  test('passes an action once more that was given back, and never more than its budget', () => {
    const throttle = new Throttle(2, 10)
    expect([throttle.take('a', 0), throttle.take('a', 0)]).toEqual([0, 0])
    throttle.giveBack('a')
    throttle.giveBack('b')
    expect([throttle.take('a', 0), throttle.take('a', 0)]).toEqual([0, 30_000])
    // Nor does giving back after a pause save up more.
    for (let count = 0; count < 5; count++) throttle.giveBack('a')
    expect([1, 2, 3].map(() => throttle.take('a', 60_000))).toEqual([0, 0, 30_000])
  })

  test('never passes more than its budget in a minute, and the whole budget to callers that wait as told', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 200, size: 'max' })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), pauses, (perMinute, steps) => {
        const throttle = new Throttle(perMinute, 10)
        const passed: number[] = []
        let nowMs = 0
        for (const pause of steps) {
          nowMs += pause
          const wait = Math.ceil(throttle.take('a', nowMs))
          // Half of the callers that must wait do so, and first try a little early.
          if (wait > 0 && pause % 2 === 0) continue
          if (wait > 1) expect(throttle.take('a', nowMs + wait - 1)).toBeGreaterThan(0)
          nowMs += wait
          if (wait > 0) expect(throttle.take('a', nowMs)).toBe(0)
          passed.push(nowMs)
        }
        // The budget refills while it is spent: at most twice the budget in any minute, and on average once a minute.
        for (const from of passed) {
          expect(passed.filter((ms) => ms >= from && ms < from + 60_000).length).toBeLessThanOrEqual(2 * perMinute)
        }
        expect(passed.length).toBeLessThanOrEqual(perMinute + Math.ceil((nowMs / 60_000) * perMinute))
      }),
    )
  })

  test('keeps a bounded number of keys, the most recently used ones', () => {
    const throttle = new Throttle(1, 3)
    for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) throttle.take(key, at)
    expect(['b', 'c', 'd', 'a'].map((key) => throttle.take(key, 4) > 0)).toEqual([true, true, true, false])
  })

  test('forgets the key that was seen least recently, not the one that came first', () => {
    const throttle = new Throttle(2, 3)
    for (const [at, key] of ['a', 'b', 'a', 'c', 'd'].entries()) throttle.take(key, at)
    expect(throttle.take('a', 5)).toBeGreaterThan(0)
    expect([throttle.take('b', 5), throttle.take('b', 5)]).toEqual([0, 0])
  })

  test('without a budget limits no key', () => {
    const throttle = new Throttle(Number.POSITIVE_INFINITY, 3)
    for (let times = 0; times < 1000; times += 1) expect(throttle.take('a', 0)).toBe(0)
  })
})
