import { expect, it } from 'vitest'
import { Rotation, shareOfRound } from '../../src/base/rotation.ts'

it('those that waited longest come first, and each has its turn', () => {
  const turns = new Rotation<string>()
  for (const item of ['a', 'b', 'c', 'd', 'a']) turns.add(item)
  expect([turns.next(2), turns.next(3)]).toEqual([
    ['a', 'b'],
    ['c', 'd', 'a'],
  ])
  turns.delete('b')
  turns.add('e')
  expect(turns.next(Number.POSITIVE_INFINITY)).toEqual(['c', 'd', 'a', 'e'])
  expect(new Rotation().next(5)).toEqual([])
})

it('rounds have equal shares that reach all in time; few items are in each round', () => {
  expect(shareOfRound(10_000, 3000, 60_000)).toBe(500)
  expect(shareOfRound(10_001, 3000, 60_000)).toBe(501)
  expect(shareOfRound(3, 3000, 60_000)).toBe(60)
  expect(shareOfRound(3, Number.POSITIVE_INFINITY, 60_000)).toBe(Number.POSITIVE_INFINITY)
})
