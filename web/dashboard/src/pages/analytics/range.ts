/** Days of a calendar, both inclusive, as `2026-01-31`. */
interface Days {
  readonly first: string
  readonly last: string
}

/** What the reports of bytes are asked for, and how their series is shown. */
export interface Range {
  readonly startDate: string
  /** Exclusive. */
  readonly stopDate: string
  /** Of the series that is asked for: days of the reports are those of UTC. */
  readonly resolution: 'Hour' | 'Day'
  readonly shownBy: 'Hour' | 'Day'
  /** The beginnings of the hours or days that are shown, epoch seconds, ascending. */
  readonly steps: readonly number[]
}

export type Span = 'today' | 'week' | 'month' | 'own'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS: Readonly<Record<Exclude<Span, 'own'>, number>> = { today: 1, week: 7, month: 28 }
const DATE = /^\d{4}-\d{2}-\d{2}$/
/** A series of more days has too many hours to fetch: it is shown by days of UTC. */
const OWN_DAYS_MAX = 31

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

/** In the zone of the machine. The reports have whole hours of UTC: where midnight is at half past, the day begins earlier. */
const beginOf = (day: string): number => Math.floor(Date.parse(`${day}T00:00`) / HOUR_MS) * HOUR_MS

const iso = (ms: number): string => new Date(ms).toISOString()

/** What to ask for to show these days up to now (epoch milliseconds). */
export function rangeOf({ first, last }: Days, nowMs: number): Range {
  const days = daysBetween(first, plus(last, 1))
  if (days.length > OWN_DAYS_MAX) return daysOfUtc(days)
  const [startMs, stopMs] = [beginOf(first), beginOf(plus(last, 1))]
  const shownBy = first === last ? 'Hour' : 'Day'
  const all = shownBy === 'Hour' ? hoursBetween(startMs, stopMs) : days.map(beginOf)
  const steps = all.filter((ms, step) => step === 0 || ms <= nowMs).map((ms) => ms / 1000)
  return { startDate: iso(startMs), stopDate: iso(stopMs), resolution: 'Hour', shownBy, steps }
}

function daysOfUtc(days: readonly string[]): Range {
  const begins = days.map((day) => Date.parse(day))
  const [startMs = 0, lastMs = 0] = [begins[0], begins.at(-1)]
  return {
    startDate: iso(startMs),
    stopDate: iso(lastMs + DAY_MS),
    resolution: 'Day',
    shownBy: 'Day',
    steps: begins.map((ms) => ms / 1000),
  }
}

/** A calendar of years is no range: the reports refuse more than 366 days. */
function daysBetween(first: string, end: string): string[] {
  const count = Math.min(1000, Math.max(1, Math.round((Date.parse(end) - Date.parse(first)) / DAY_MS)))
  return Array.from({ length: count }, (_, day) => plus(first, day))
}

const hoursBetween = (startMs: number, stopMs: number): number[] =>
  Array.from({ length: Math.ceil((stopMs - startMs) / HOUR_MS) }, (_, hour) => startMs + hour * HOUR_MS)

/** Bytes of media. */
export interface Traffic {
  readonly bytesOut: number
  readonly bytesIn: number
}

/** A series of a report, by ISO times, summed for each step that is shown. */
export function byStep(series: Readonly<Record<string, Traffic>>, { steps }: Pick<Range, 'steps'>): Traffic[] {
  const sums = steps.map(() => ({ bytesOut: 0, bytesIn: 0 }))
  for (const [at, { bytesOut, bytesIn }] of Object.entries(series)) {
    const sum = sums[steps.findLastIndex((step) => step <= Date.parse(at) / 1000)]
    if (sum === undefined) continue
    sum.bytesOut += bytesOut
    sum.bytesIn += bytesIn
  }
  return sums
}
