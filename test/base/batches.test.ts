import { expect, test } from 'vitest'
import { Batches } from '../../src/base/batches.ts'

/** Work that lasts until the test ends it, one batch after the other. */
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

test('items that arrive together are one batch, later ones the next, and no batch exceeds the limit', async () => {
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

test('a waiting item is not added twice, and an item in progress can be added again', async () => {
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

test('a failed batch rejects every waiting item, and the next batch is tried', async () => {
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
