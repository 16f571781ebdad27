import { DAY_MS, isoDay } from '../base/time.ts'

/** The last days, with today: from `start` on, up to `end`, which is tomorrow. In UTC. */
export const lastDays = (days: number, nowMs: number): { readonly start: string; readonly end: string } => ({
  start: isoDay(nowMs - (days - 1) * DAY_MS),
  end: isoDay(nowMs + DAY_MS),
})
