import { expect, test } from 'vitest'
import { Batches } from '../../src/base/batches.ts'

/** Work that lasts until the test lets it end, one batch after the other. */
function held() {
  const batches: number[][] = []
  const ends: PromiseWithResolvers<void>[] = []
  const work = (batch: readonly number[]): Promise<void> => {
    const end = Promise.withResolvers<void>()
    batches.push([...batch])
    ends.push(end)
    return end.promise
  }
  const begun = async (count: number): Promise<void> => {
    while (batches.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  return { batches, ends, work, begun }
}

test('what comes together is one batch, what comes meanwhile is the next, and none is larger than allowed', async () => {
  const { batches, ends, work, begun } = held()
  const queue = new Batches<number>(3)
  const first = [1, 2].map((item) => queue.add(item, work))
  await begun(1)
  const later = [3, 4, 5, 6].map((item) => queue.add(item, work))
  ends[0]?.resolve()
  await Promise.all(first)
  await begun(2)
  ends[1]?.resolve()
  await begun(3)
  ends[2]?.resolve()
  await Promise.all(later)
  expect(batches).toEqual([[1, 2], [3, 4, 5], [6]])
})

test('an item that waits is not taken twice, and one that is worked on is taken once more', async () => {
  const { batches, ends, work, begun } = held()
  const queue = new Batches<number>(3)
  const both = [queue.add(1, work), queue.add(1, work)]
  await begun(1)
  const again = queue.add(1, work)
  ends[0]?.resolve()
  await Promise.all(both)
  await begun(2)
  ends[1]?.resolve()
  await again
  expect(batches).toEqual([[1], [1]])
})

test('a batch that fails fails all who wait, each is told, and the next one is tried', async () => {
  const { batches, ends, work, begun } = held()
  const queue = new Batches<number>(2)
  const failing = [1, 2, 3, 4, 5].map((item) => queue.add(item, work))
  await begun(1)
  ends[0]?.reject(new Error('away'))
  for (const one of await Promise.allSettled(failing)) expect(one).toMatchObject({ reason: { message: 'away' } })
  const later = queue.add(6, work)
  await begun(2)
  ends[1]?.resolve()
  await later
  expect(batches).toEqual([[1, 2], [6]])
})
