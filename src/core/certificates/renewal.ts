import { CLOCK_SKEW_MS, MINUTE_MS, DAY_MS } from '../../base/time.ts'

/** When a certificate is valid. */
export interface Validity {
  readonly beginsMs: number
  readonly expiresMs: number
}

const LONGEST_RETRY_MS = 12 * 60 * MINUTE_MS

/**
 * A certificate is renewed after two thirds of its lifetime, or up to a thirtieth of it earlier: not all installations
 * that began on one day do it in the same minute.
 * @param luck from 0 to 1
 */
export const renewAtMs = ({ beginsMs, expiresMs }: Validity, luck: number): number =>
  beginsMs + (expiresMs - beginsMs) * (2 / 3 - luck / 30)

/**
 * The pause after this many failures in a row: 1, 3, 9 … minutes, or as long as the authority asks to wait (RFC 8555 section
 * 6.6), at most half a day, and up to half as long again. Authorities refuse more than a few failures in an hour.
 * @param luck from 0 to 1
 * @param askedMs 0: the authority asks for no pause
 */
export const renewalPauseMs = (failures: number, luck: number, askedMs: number): number =>
  Math.min(LONGEST_RETRY_MS, Math.max(askedMs, MINUTE_MS * 3 ** Math.min(failures - 1, 10))) * (1 + luck / 2)

/** No attempt waits longer. */
export const RENEWAL_PAUSE_MAX_MS = LONGEST_RETRY_MS * 1.5 + CLOCK_SKEW_MS

/** Whether the next attempt may begin. Also if it is further away than any: the clock was put back since. */
export const isRenewalDue = (dueAtMs: number, nowMs: number): boolean =>
  dueAtMs <= nowMs || dueAtMs > nowMs + RENEWAL_PAUSE_MAX_MS

const SOON_MS = 14 * DAY_MS

/** Whether a certificate should have been renewed by now: fewer than 14 days are left, and less than a fifth of its lifetime. */
export const expiresSoon = ({ beginsMs, expiresMs }: Validity, nowMs: number): boolean =>
  expiresMs - nowMs < Math.min(SOON_MS, (expiresMs - beginsMs) / 5)

/** Whole days until the end; negative after it. */
export const daysLeft = ({ expiresMs }: Validity, nowMs: number): number => Math.floor((expiresMs - nowMs) / DAY_MS)
