import { describe, expect, it } from 'vitest'
import {
  daysLeft,
  expiresSoon,
  isRenewalDue,
  renewAtMs,
  renewalPauseMs,
} from '../../../src/core/certificates/renewal.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const quarter = { beginsMs: 0, expiresMs: 90 * DAY_MS }

describe('a certificate', () => {
  it('is renewed after two thirds of its lifetime, or a little earlier', () => {
    expect(renewAtMs(quarter, 0)).toBe(60 * DAY_MS)
    expect(renewAtMs(quarter, 1)).toBe(57 * DAY_MS)
  })

  it('needs attention in its last 14 days, or the last fifth of a short lifetime', () => {
    expect(expiresSoon(quarter, 75 * DAY_MS)).toBe(false)
    expect(expiresSoon(quarter, 77 * DAY_MS)).toBe(true)
    const week = { beginsMs: 0, expiresMs: 7 * DAY_MS }
    expect(expiresSoon(week, 5 * DAY_MS)).toBe(false)
    expect(expiresSoon(week, 6 * DAY_MS)).toBe(true)
  })

  it('has whole days left, and fewer than none after its end', () => {
    expect(daysLeft(quarter, 88.5 * DAY_MS)).toBe(1)
    expect(daysLeft(quarter, 90.5 * DAY_MS)).toBe(-1)
  })
})

describe('a failed renewal', () => {
  it('is tried again after longer and longer pauses, at most half a day', () => {
    const minutes = [1, 2, 3, 4, 5, 6, 7, 100].map((failures) => renewalPauseMs(failures, 0, 0) / MINUTE_MS)
    expect(minutes).toEqual([1, 3, 9, 27, 81, 243, 720, 720])
  })

  it('is tried again no earlier than the authority asks, within the same bound', () => {
    const minutes = [2, 20, 100_000].map((asked) => renewalPauseMs(3, 0, asked * MINUTE_MS) / MINUTE_MS)
    expect(minutes).toEqual([9, 20, 720])
  })

  it('is tried again up to half as late again, so that nodes and installations do not all come at once', () => {
    expect(renewalPauseMs(1, 1, 0)).toBe(1.5 * MINUTE_MS)
  })

  it('is tried again when its pause is over, or would be longer than any: the clock was put back', () => {
    const longest = renewalPauseMs(100, 1, 0) + MINUTE_MS
    const due = (inMs: number) => isRenewalDue(5 * DAY_MS + inMs, 5 * DAY_MS)
    expect([-1, 0, 1, longest, longest + 1].map(due)).toEqual([true, true, false, false, true])
  })
})
