import { expect, test } from 'vitest'
import { workApart } from '../../src/base/apart.ts'

test('an item that can never be done keeps none of the others from being done, at the cost of its search', async () => {
  const items = Array.from({ length: 1000 }, (_, at) => at)
  const [done, refused]: [number[], number[]] = [[], []]
  let attempts = 0
  const work = async (part: readonly number[]): Promise<void> => {
    attempts += 1
    if (part.includes(700)) throw new Error('never')
    done.push(...part)
  }
  await workApart(items, work, { isTransient: () => false, refuse: (item) => refused.push(item) })
  expect([done.length, refused]).toEqual([999, [700]])
  expect(attempts).toBeLessThanOrEqual(21)
})

test('an error that says nothing of the items is thrown, and refuses none', async () => {
  const refused: number[] = []
  const work = () => Promise.reject(new Error('gone'))
  const working = workApart([1, 2], work, { isTransient: () => true, refuse: (item) => refused.push(item) })
  await expect(working).rejects.toThrow('gone')
  expect(refused).toEqual([])
})
