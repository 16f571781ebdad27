import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { Waiters } from '../../../src/media/hls/waiters.ts'

/** A clock that counts its sleepers. */
class CountingClock extends ManualClock {
  sleeping = 0
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeping += 1
    return super.sleep(ms, signal).finally(() => (this.sleeping -= 1))
  }
}

const turn = () => new Promise(setImmediate)

test('a thousand requests that wait share one timer, and each ends in its time', async () => {
  const clock = new CountingClock()
  const waiters = new Waiters(clock)
  const over: number[] = []
  const all = Array.from({ length: 1000 }, async (_, at) => {
    expect(await waiters.until(() => false, 1000 + at)).toBe(false)
    over.push(at)
  })
  await turn()
  expect([waiters.size, clock.sleeping]).toEqual([1000, 1])
  clock.advance(1499)
  await turn()
  expect(over).toHaveLength(500)
  expect([waiters.size, clock.sleeping]).toEqual([500, 1])
  clock.advance(500)
  await Promise.all(all)
  expect([waiters.size, clock.sleeping]).toEqual([0, 0])
})

test('a change releases those whose condition holds, and no other', async () => {
  const clock = new CountingClock()
  const waiters = new Waiters(clock)
  let parts = 0
  const [first, second] = [waiters.until(() => parts >= 1, 6000), waiters.until(() => parts >= 2, 6000)]
  parts = 1
  waiters.notify()
  expect(await first).toBe(true)
  expect(waiters.size).toBe(1)
  waiters.stop()
  expect(await second).toBe(false)
  expect(await waiters.until(() => false, 6000)).toBe(false)
  await turn()
  expect(clock.sleeping).toBe(0)
})
