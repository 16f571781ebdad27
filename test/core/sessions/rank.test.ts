import { describe, expect, it } from 'vitest'
import { compareStandings, nextStall, type Stall } from '../../../src/core/sessions/rank.ts'

describe('of two publishers of a source', () => {
  it.each([
    [{ priority: 2 }, { priority: 1 }, 1],
    [{ priority: -5 }, { priority: null }, 1],
    [{ priority: 3 }, { priority: 3 }, 0],
    [{ priority: null }, { priority: null }, 0],
    [{ priority: null }, { priority: 9, isStalled: true }, 1],
    [{ priority: 1, isStalled: true }, { priority: 2, isStalled: true }, -1],
  ])('%j against %j: %i', (a, b, sign) => {
    expect(Math.sign(compareStandings(a, b))).toBe(sign)
    expect(Math.sign(compareStandings(b, a))).toBe(sign === 0 ? 0 : -sign)
  })
})

it('media that is late once is in time again after three seconds without it', () => {
  const after = (lates: readonly number[]): boolean => {
    let stall: Stall = { isStalled: false, inTimeSinceMs: null }
    for (const [at, lateMs] of lates.entries()) stall = nextStall(stall, lateMs, at * 1000)
    return stall.isStalled
  }
  expect(after([0, 500])).toBe(false)
  expect(after([0, 501])).toBe(true)
  expect(after([501, 0, 0, 0])).toBe(true)
  expect(after([501, 0, 0, 0, 0])).toBe(false)
  expect(after([501, 0, 0, 501, 0, 0, 0])).toBe(true)
})
