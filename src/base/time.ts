export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The clocks of machines that are in order differ by less. */
export const CLOCK_SKEW_MS = 60_000

/** No lease is longer: not those of nodes, which operators configure, and no other one. */
export const LEASE_MAX_MS = 5 * MINUTE_MS

/** A lease that seems to last longer was written before the clock of the database was put back, so it is over. */
export const LEASE_END_MAX_MS = LEASE_MAX_MS + CLOCK_SKEW_MS

/** Half open, epoch milliseconds. */
export interface TimeSpan {
  readonly fromMs: number
  readonly untilMs: number
}

/** A moment as the interfaces show it: UTC with milliseconds (ISO 8601). @param ms since 1970-01-01T00:00:00Z */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** The same to the second. */
export const isoSecond = (ms: number): string => `${isoTime(ms).slice(0, 19)}Z`

/** The day of a moment in UTC, such as `2026-01-31`. @param ms since 1970-01-01T00:00:00Z */
export const isoDay = (ms: number): string => isoTime(ms).slice(0, 10)
