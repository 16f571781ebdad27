/** Days of a calendar, both inclusive, as `2026-01-31`. */
interface Days {
  readonly first: string
  readonly last: string
}

/** What the reports of bytes are asked for. */
export interface Range {
  /** A day of `timeZone`. */
  readonly startDate: string
  /** Exclusive. */
  readonly stopDate: string
  readonly timeZone: string
}

export type Span = 'today' | 'week' | 'month' | 'own'

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<Exclude<Span, 'own'>, number>> = { today: 1, week: 7, month: 28 }
const DATE = /^\d{4}-\d{2}-\d{2}$/

/** The days that a span means; `own` those that the address names. */
export function daysOf(span: Span, query: URLSearchParams, now: Date, timeZone: string): Days {
  const today = dayOf(now, timeZone)
  if (span !== 'own') return { first: plus(today, 1 - DAYS[span]), last: today }
  const [first = today, last = today] = ['from', 'to'].map((name) => dayIn(query.get(name)) ?? today).toSorted()
  return { first, last }
}

const dayIn = (text: string | null): string | null =>
  text !== null && DATE.test(text) && !Number.isNaN(Date.parse(text)) ? text : null

/** As `2026-01-31`, which is how Sweden writes a day. */
const dayOf = (now: Date, timeZone: string): string => new Intl.DateTimeFormat('sv-SE', { timeZone }).format(now)

export const plus = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

export const rangeOf = ({ first, last }: Days, timeZone: string): Range => ({
  startDate: first,
  stopDate: plus(last, 1),
  timeZone,
})

/** A single day is shown by its hours. */
export const resolutionOf = ({ startDate, stopDate }: Range): 'Hour' | 'Day' =>
  plus(startDate, 1) === stopDate ? 'Hour' : 'Day'

/** Bytes of media. */
export interface Traffic {
  readonly bytesOut: number
  readonly bytesIn: number
}

/** A series of a report, by ISO times, without what has not begun; but for its first time. */
export const untilNow = <T>(series: Readonly<Record<string, T>>, nowMs: number): [at: string, T][] =>
  Object.entries(series).filter(([at], index) => index === 0 || Date.parse(at) <= nowMs)
