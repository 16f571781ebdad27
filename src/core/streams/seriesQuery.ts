import { err, ok, type Result } from '../../base/result.ts'
import { MINUTE_MS, type TimeSpan } from '../../base/time.ts'
import type { FieldErrors } from '../errors.ts'
import { parametersOf, wordOf } from '../pages/parameters.ts'

export type SeriesMetric = (typeof SERIES_METRICS)[number]
export type SeriesRange = (typeof SERIES_RANGES)[number]

export const SERIES_METRICS = ['viewers', 'bytesOut', 'bytesIn'] as const
export const SERIES_RANGES = ['hour', 'day'] as const

const MINUTES: Readonly<Record<SeriesRange, number>> = { hour: 60, day: 1440 }

export interface SeriesQuery {
  readonly metrics: readonly SeriesMetric[]
  readonly range: SeriesRange
}

/** What happened in one minute. */
export interface AccountMinute {
  readonly minuteMs: number
  /** The most at once. */
  readonly viewers: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Parses the query of `GET /api/analytics/live_series` and reports all errors at once. */
export function readMinutesQuery(query: Record<string, unknown>): Result<SeriesQuery, FieldErrors> {
  const given = parametersOf(query, ['metric', 'range'])
  const metrics = readMetrics(given.metric)
  const range = given.range === undefined ? 'hour' : wordOf(SERIES_RANGES, given.range)
  const errors: FieldErrors = {}
  if (metrics === null) errors['metric'] = [`must name one or several of ${SERIES_METRICS.join(', ')}`]
  if (range === undefined) errors['range'] = [`must be one of ${SERIES_RANGES.join(', ')}`]
  return metrics === null || range === undefined ? err(errors) : ok({ metrics, range })
}

/** The metrics that a parameter names, in the usual order; null when it names another one or none. */
function readMetrics(value: string | string[] | undefined): SeriesMetric[] | null {
  if (value === undefined) return [...SERIES_METRICS]
  const named = [value].flat().flatMap((text) => text.split(',').map((word) => wordOf(SERIES_METRICS, word.trim())))
  return named.includes(undefined) ? null : SERIES_METRICS.filter((metric) => named.includes(metric))
}

/** The minutes of a range, half open: the last one is in progress. */
export function minutesOf(range: SeriesRange, nowMs: number): TimeSpan {
  const untilMs = nowMs - (nowMs % MINUTE_MS) + MINUTE_MS
  return { fromMs: untilMs - MINUTES[range] * MINUTE_MS, untilMs }
}

/** One value for each minute of a span; 0 where nothing is on record. */
export function columnOf(
  rows: readonly AccountMinute[],
  metric: SeriesMetric,
  { fromMs, untilMs }: TimeSpan,
): number[] {
  const column = Array.from({ length: (untilMs - fromMs) / MINUTE_MS }, () => 0)
  for (const row of rows) {
    const at = (row.minuteMs - fromMs) / MINUTE_MS
    if (at in column) column[at] = row[metric]
  }
  return column
}
