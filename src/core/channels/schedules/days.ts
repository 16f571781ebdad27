import { DAY_MS } from '../../../base/time.ts'

/**
 * Calendar days as whole numbers, 0 = 1970-01-01 in the proleptic Gregorian calendar, so that rules can count them.
 * A day here is a local date; the zone is applied later.
 */

export interface CalendarDate {
  readonly year: number
  /** 1 to 12 */
  readonly month: number
  readonly day: number
}

/** `month` may lie outside 1 to 12: the year changes accordingly. */
const dayOf = ({ year, month, day }: CalendarDate): number => Date.UTC(year, month - 1, day) / DAY_MS

export function dateOf(day: number): CalendarDate {
  const date = new Date(day * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** 0 = Monday to 6 = Sunday. 1970-01-01 was a Thursday. */
export const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7

/** Months as whole numbers, 0 = January 1970. */
export const monthOf = (day: number): number => {
  const { year, month } = dateOf(day)
  return (year - 1970) * 12 + month - 1
}

export const firstDayOf = (month: number): number => dayOf({ year: 1970, month: month + 1, day: 1 })

export const lengthOf = (month: number): number => firstDayOf(month + 1) - firstDayOf(month)

/** Nothing is scheduled after this day. */
export const LAST_DAY = dayOf({ year: 9999, month: 12, day: 31 })

/** Parses a date as `YYYY-MM-DD`; undefined for other text and for days that do not exist. Years 1970 to 9999. */
export function parseDate(text: string): number | undefined {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!parts) return undefined
  const [year, month, day] = parts.slice(1).map(Number)
  return year === undefined || month === undefined || day === undefined ? undefined : realDay({ year, month, day })
}

/** The day, or undefined when the calendar has no such date. */
export function realDay(date: CalendarDate): number | undefined {
  const day = dayOf(date)
  const real = dateOf(day)
  const same = real.year === date.year && real.month === date.month && real.day === date.day
  return same && date.year >= 1970 ? day : undefined
}

/** Minutes after midnight from `HH:mm`; undefined for anything else. */
export function parseTime(text: string): number | undefined {
  const parts = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text)
  return parts ? Number(parts[1]) * 60 + Number(parts[2]) : undefined
}
