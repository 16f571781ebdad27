import { expect, test } from 'vitest'
import { PendingOffers } from '../../../../src/edge/http/webrtc/pendingOffers.ts'

const [VIEWERS, PUBLISHERS] = [7 / 8, 1]

/** Waits until all microtasks are done. */
const settled = (): Promise<void> => new Promise(setImmediate)

test('viewers leave an eighth of the offers to publishers, and one each is always let in', () => {
  const pending = new PendingOffers({ maxPending: 8 })
  const entered = Array.from({ length: 8 }, () => pending.enter(VIEWERS))
  expect(entered).toEqual([...Array<boolean>(7).fill(true), false])
  expect([pending.enter(PUBLISHERS), pending.enter(PUBLISHERS)]).toEqual([true, false])
  pending.leave()
  expect([pending.enter(VIEWERS), pending.enter(PUBLISHERS)]).toEqual([false, true])
  expect(new PendingOffers({ maxPending: 1 }).enter(VIEWERS)).toBe(true)
})

test('viewers who waited for a source came back together, more than may be at a time, and now go on in turn', async () => {
  const limits = { maxPending: 8 }
  const pending = new PendingOffers(limits)
  const { promise: source, resolve: begins } = Promise.withResolvers<string>()
  const back: number[] = []
  for (let viewer = 0; viewer < 20; viewer += 1) {
    expect(pending.enter(VIEWERS)).toBe(true)
    void pending.aside(VIEWERS, () => source).then(() => back.push(viewer))
  }
  expect(pending.enter(VIEWERS)).toBe(true)
  begins('on the air')
  await settled()
  expect(back).toEqual([0, 1, 2, 3, 4, 5])
  // A publisher has its room, and another viewer does not overtake them.
  expect([pending.enter(PUBLISHERS), pending.enter(VIEWERS)]).toEqual([true, false])
  pending.leave()
  await settled()
  expect(back).toHaveLength(6)
  pending.leave()
  await settled()
  expect(back.at(-1)).toBe(6)
  limits.maxPending = 16
  pending.leave()
  await settled()
  expect(back).toHaveLength(15)
})

test('a wait that fails is over when there is room again, too', async () => {
  const pending = new PendingOffers({ maxPending: 1 })
  expect(pending.enter(VIEWERS)).toBe(true)
  const failing = pending.aside(VIEWERS, () => Promise.reject(new Error('the store is away')))
  await expect(failing).rejects.toThrow('the store is away')
  expect(pending.enter(VIEWERS)).toBe(false)
})
