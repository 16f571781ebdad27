/** A range of days, in UTC, as the reports take it. */
export interface Range {
  readonly startDate: string
  readonly stopDate: string
  readonly resolution: 'Hour' | 'Day'
}

export type Span = 'today' | 'week' | 'month' | 'own'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS: Readonly<Record<Exclude<Span, 'own'>, number>> = { today: 1, week: 7, month: 28 }

/** The range that a span means at `nowMs` (epoch milliseconds): its days, up to now. */
export function rangeOf(span: Span, from: string, to: string, nowMs: number): Range {
  const startMs = span === 'own' ? dayOf(from, nowMs) : Math.floor(nowMs / DAY_MS) * DAY_MS - (DAYS[span] - 1) * DAY_MS
  const lastMs = span === 'own' ? dayOf(to, nowMs) : Math.floor(nowMs / DAY_MS) * DAY_MS
  const isShort = lastMs - startMs <= DAY_MS
  // The reports take whole hours, and whole days when they answer by day.
  const stopMs = isShort ? Math.min(lastMs + DAY_MS, Math.ceil(nowMs / HOUR_MS) * HOUR_MS) : lastMs + DAY_MS
  return {
    startDate: new Date(Math.min(startMs, stopMs - HOUR_MS)).toISOString(),
    stopDate: new Date(stopMs).toISOString(),
    resolution: isShort ? 'Hour' : 'Day',
  }
}

function dayOf(day: string, nowMs: number): number {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(ms) ? Math.floor(nowMs / DAY_MS) * DAY_MS : ms
}

/** Every hour or day of a range, epoch seconds, so that a plot also shows those without traffic. */
export function stepsOf({ startDate, stopDate, resolution }: Range): number[] {
  const stepMs = resolution === 'Hour' ? HOUR_MS : DAY_MS
  const first = Math.floor(Date.parse(startDate) / stepMs) * stepMs
  const steps = Math.min(2000, Math.max(1, Math.ceil((Date.parse(stopDate) - first) / stepMs)))
  return Array.from({ length: steps }, (_, step) => (first + step * stepMs) / 1000)
}
