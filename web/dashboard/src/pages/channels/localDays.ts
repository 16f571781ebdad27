/** Days of a time zone as `2026-11-22`, so that no arithmetic meets a clock change. */

const DAY_MS = 86_400_000
const MONDAY = 1
const DAYS_OF_WEEK = 7

const formats = new Map<string, Intl.DateTimeFormat>()

/** Date and time of a zone, in digits. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  formats.set(timeZone, made)
  return made
}

/** The clock of a zone at an instant, as if it were UTC; epoch milliseconds. */
function clockMs(ms: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(ms)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = [
    'year',
    'month',
    'day',
    'hour',
    'minute',
    'second',
  ].map((type) => Number(parts.find((part) => part.type === type)?.value))
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/** The day of a zone at an instant (epoch milliseconds). */
export const dayOf = (ms: number, timeZone: string): string =>
  new Date(clockMs(ms, timeZone)).toISOString().slice(0, 10)

/** The instant at which a day of a zone begins, epoch milliseconds. */
export function midnightMs(day: string, timeZone: string): number {
  const clock = Date.parse(`${day}T00:00:00Z`)
  const guess = clock - (clockMs(clock, timeZone) - clock)
  // The clock may change between the guess and midnight.
  return clock - (clockMs(guess, timeZone) - guess)
}

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** `count` days from `first` on. */
export const daysFrom = (first: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => addDays(first, index))

/** The Monday of the week of a day. */
function mondayOf(day: string): string {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  return addDays(day, -((weekday - MONDAY + DAYS_OF_WEEK) % DAYS_OF_WEEK))
}

export type CalendarView = 'week' | 'month'

/** The days that a view shows around a day: whole weeks, from Monday on. */
export function daysOfView(view: CalendarView, day: string): readonly string[] {
  if (view === 'week') return daysFrom(mondayOf(day), DAYS_OF_WEEK)
  const first = mondayOf(`${day.slice(0, 7)}-01`)
  const next = firstOfMonth(day, 1)
  const weeks = Math.ceil((Date.parse(next) - Date.parse(first)) / (DAYS_OF_WEEK * DAY_MS))
  return daysFrom(first, weeks * DAYS_OF_WEEK)
}

function firstOfMonth(day: string, months: number): string {
  const [year = 0, month = 1] = day.split('-').map(Number)
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10)
}

/** The day that the view before (-1) or after (1) is around. */
export const stepDay = (view: CalendarView, day: string, step: -1 | 1): string =>
  view === 'week' ? addDays(day, step * DAYS_OF_WEEK) : firstOfMonth(day, step)

/** A day of an old link, or else `otherwise`. */
export const readDay = (text: string | null, otherwise: string): string =>
  text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : otherwise
