import { array, assert, nat, property, record } from 'fast-check'
import { expect, it } from 'vitest'
import { Rotation, shareOfRound } from '../../src/base/rotation.ts'

it('each has a turn before any other has two, and those that came one after another have theirs apart', () => {
  const turns = new Rotation<number>()
  for (const item of [...Array(1000).keys(), 7]) turns.add(item)
  const rounds = Array.from({ length: 20 }, () => turns.next(50))
  expect(rounds.flat().toSorted((a, b) => a - b)).toEqual([...Array(1000).keys()])
  for (const round of rounds)
    expect(round.filter((item) => round.includes(item + 1) || round.includes(item + 2))).toEqual([])
  expect(turns.next(50)).toEqual(rounds[0])
})

it('those that leave have no turn, and of those that come and stay none waits for more than one round of all', () => {
  const rounds = array(record({ come: nat(30), leave: array(nat(), { maxLength: 20 }) }), {
    maxLength: 100,
  })
  assert(
    property(rounds, (all) => {
      const turns = new Rotation<number>()
      const waits = new Map<number, number>()
      let came = 0
      for (const { come, leave } of all) {
        for (let n = 0; n < come; n++) {
          turns.add(came)
          waits.set(came++, 0)
        }
        for (const item of leave.map((n) => n % Math.max(1, came))) {
          turns.delete(item)
          waits.delete(item)
        }
        expect(turns.size).toBe(waits.size)
        const taken = turns.next(Math.ceil(waits.size / 20))
        expect(new Set(taken).size).toBe(Math.ceil(waits.size / 20))
        for (const [item, waited] of waits) waits.set(item, waited + 1)
        for (const item of taken) {
          expect(waits.get(item)).toBeLessThanOrEqual(21)
          waits.set(item, 0)
        }
      }
      expect(turns.next(Number.POSITIVE_INFINITY)).toEqual([...waits.keys()])
    }),
  )
})

it('rounds have equal shares that reach all in time; few items are in each round', () => {
  expect(shareOfRound(10_000, 3000, 60_000)).toBe(500)
  expect(shareOfRound(10_001, 3000, 60_000)).toBe(501)
  expect(shareOfRound(3, 3000, 60_000)).toBe(60)
  expect(shareOfRound(3, Number.POSITIVE_INFINITY, 60_000)).toBe(Number.POSITIVE_INFINITY)
})
