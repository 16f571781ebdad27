import { err, ok, type Result } from '../../base/result.ts'
import { PROTOCOLS_OF } from '../access/protocols.ts'
import { checkStreamName } from '../access/streamName.ts'
import { dayAt, instantOf, isZone } from '../channels/schedules/zone.ts'
import type { FieldErrors } from '../errors.ts'
import { parametersOf, wordOf } from '../pages/parameters.ts'
import { AUDIENCE_DIMENSIONS, type AudienceDimension, DAY_MS, HOUR_MS } from './slots.ts'

export const AUDIENCE_RESOLUTIONS = ['Hour', 'Day', 'Month'] as const
export type AudienceResolution = (typeof AUDIENCE_RESOLUTIONS)[number]

/** What a report can be divided by. */
export const AUDIENCE_BY = ['streamName', ...AUDIENCE_DIMENSIONS] as const
export type AudienceBy = (typeof AUDIENCE_BY)[number]

/** Half open, on whole hours. */
export interface AudienceSpan {
  readonly fromMs: number
  readonly untilMs: number
}

/** A parsed question. */
export interface AudienceQuestion extends AudienceSpan {
  readonly zone: string
  /** As many days before. */
  readonly before: AudienceSpan
  /** Null: no series. */
  readonly resolution: AudienceResolution | null
  /** Null: all streams. */
  readonly streamName: string | null
  readonly filter: { readonly dimension: AudienceDimension; readonly value: string } | null
  readonly by: readonly AudienceBy[]
}

/** Thirteen months. */
const DAYS_MAX = 400
/** Over more days, what is divided by the hour would be too much to read. */
export const HOURS_DAYS_MAX = 31
const VALUE_MAX = 255

const NAMES = ['startDate', 'stopDate', 'timeZone', 'resolution', 'by', ...AUDIENCE_BY] as const
type Given = Partial<Record<(typeof NAMES)[number], string | string[]>>
type Note = <T>(field: string, read: Result<T, string>) => T | undefined

/** Parses the query of a report and reports all errors at once. */
export function readAudienceQuery(query: Record<string, unknown>): Result<AudienceQuestion, FieldErrors> {
  const errors: FieldErrors = {}
  const note: Note = (field, read) => {
    if (read.ok) return read.value
    errors[field] = [read.error]
    return undefined
  }
  const given: Given = parametersOf(query, NAMES)
  const zone = note('timeZone', readZone(given.timeZone)) ?? 'UTC'
  const span = readSpan(given, zone, note)
  const streamName = note('streamName', readStream(given.streamName)) ?? null
  const filter = readFilter(given, note)
  const by = note('by', readBy(given.by, streamName, filter !== null, lengthInDays(span))) ?? []
  const resolution = note('resolution', readResolution(given.resolution, span)) ?? null
  if (span === undefined || Object.keys(errors).length > 0) return err(errors)
  return ok({ ...span, zone, before: spanBefore(span, zone), resolution, streamName, filter, by })
}

function readZone(text: Given['timeZone']): Result<string, string> {
  if (text === undefined) return ok('UTC')
  return typeof text === 'string' && isZone(text)
    ? ok(text)
    : err('must be a name of the IANA time zone database, such as Europe/Vienna')
}

function readSpan(given: Given, zone: string, note: Note): AudienceSpan | undefined {
  const fromMs = note('startDate', readDate(given.startDate, zone))
  const untilMs = note('stopDate', readDate(given.stopDate, zone))
  if (fromMs === undefined || untilMs === undefined) return undefined
  if (untilMs <= fromMs) return note('stopDate', err('must be later than startDate; it is exclusive'))
  if (untilMs - fromMs > DAYS_MAX * DAY_MS)
    return note('stopDate', err(`must be at most ${DAYS_MAX} days after startDate`))
  return { fromMs, untilMs }
}

const DATE_RULE = 'must be a date such as 2026-01-31, or an ISO 8601 time with a zone on a whole hour'

function readDate(text: string | string[] | undefined, zone: string): Result<number, string> {
  if (typeof text !== 'string') return err(`is required once; it ${DATE_RULE}`)
  const dayMs = Date.parse(text.slice(0, 10))
  const isOnTheCalendar = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(text.slice(0, 10))
  if (!isOnTheCalendar) return err(DATE_RULE)
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return ok(beginOfDay(zone, dayMs / DAY_MS))
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:00(:00(\.0{1,9})?)?(Z|[+-]\d{2}:00)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? err(DATE_RULE) : ok(ms)
}

/** Hours are those of UTC, so in a zone with half an hour more a day begins with the hour that its midnight is in. */
function beginOfDay(zone: string, day: number): number {
  const ms = instantOf(zone, day, 0)
  return ms - (ms % HOUR_MS)
}

function readStream(text: Given['streamName']): Result<string | null, string> {
  if (text === undefined) return ok(null)
  const problem = typeof text === 'string' ? checkStreamName(text) : 'may be given once'
  return typeof text === 'string' && problem === null ? ok(text) : err(problem ?? '')
}

function readFilter(given: Given, note: Note): AudienceQuestion['filter'] {
  const [first, ...others] = AUDIENCE_DIMENSIONS.filter((dimension) => given[dimension] !== undefined)
  if (first === undefined) return null
  for (const other of others) note(other, err(`may not be combined with ${first}; only streamName may`))
  const value = note(first, readValue(first, given[first]))
  return value === undefined ? null : { dimension: first, value }
}

function readValue(dimension: AudienceDimension, text: string | string[] | undefined): Result<string, string> {
  if (typeof text !== 'string' || text.length > VALUE_MAX) return err(`must be one text of at most ${VALUE_MAX}`)
  if (dimension === 'country') return ok(text.toUpperCase() === UNKNOWN_VALUES.country ? '' : text.toUpperCase())
  if (dimension === 'protocol' && wordOf(PROTOCOLS_OF.view, text) === undefined)
    return err(`must be one of ${PROTOCOLS_OF.view.join(', ')}`)
  return ok(text === UNKNOWN_VALUES[dimension] ? '' : text)
}

/** What reports say where a value is not known. ISO 3166 reserves ZZ for such use. */
export const UNKNOWN_VALUES: Readonly<Record<AudienceBy, string>> = {
  streamName: '',
  protocol: 'unknown',
  country: 'ZZ',
  site: 'unknown',
  device: 'unknown',
  browser: 'unknown',
}

function readBy(
  text: string | string[] | undefined,
  streamName: string | null,
  isFiltered: boolean,
  days: number,
): Result<AudienceBy[], string> {
  const texts = text === undefined ? [] : [text].flat().flatMap((one) => one.split(','))
  const named = texts.map((one) => wordOf(AUDIENCE_BY, one.trim()))
  const by = AUDIENCE_BY.filter((one) => named.includes(one))
  if (named.includes(undefined)) return err(`must name one or several of ${AUDIENCE_BY.join(', ')}`)
  if (streamName !== null && by.includes('streamName')) return err('may not be streamName for one stream')
  if (isFiltered && by.some((one) => one !== 'streamName')) return err('may only be streamName beside another filter')
  return isFiltered && by.length > 0 && days > HOURS_DAYS_MAX
    ? err(`may not be used beside a filter for more than ${HOURS_DAYS_MAX} days`)
    : ok(by)
}

export const lengthInDays = (span: AudienceSpan | undefined): number =>
  span === undefined ? 0 : (span.untilMs - span.fromMs) / DAY_MS

function readResolution(
  text: Given['resolution'],
  span: AudienceSpan | undefined,
): Result<AudienceResolution | null, string> {
  if (text === undefined) return ok(null)
  const word = wordOf(AUDIENCE_RESOLUTIONS, text)
  if (word === undefined) return err(`must be one of ${AUDIENCE_RESOLUTIONS.join(', ')}`)
  return word === 'Hour' && lengthInDays(span) > HOURS_DAYS_MAX
    ? err(`may be Hour for at most ${HOURS_DAYS_MAX} days`)
    : ok(word)
}

/** As many days of the zone's calendar, or as many hours where the span is not of whole days. */
function spanBefore({ fromMs, untilMs }: AudienceSpan, zone: string): AudienceSpan {
  const [from, until] = [dayAt(zone, fromMs + HOUR_MS - 1), dayAt(zone, untilMs + HOUR_MS - 1)]
  const areDays = beginOfDay(zone, from) === fromMs && beginOfDay(zone, until) === untilMs
  return { fromMs: areDays ? beginOfDay(zone, 2 * from - until) : 2 * fromMs - untilMs, untilMs: fromMs }
}

/** The beginnings of the slots of a series, in order; the first may be before the span. */
export function seriesSlotsOf({ fromMs, untilMs, zone, resolution }: AudienceQuestion): number[] {
  const slots: number[] = []
  if (resolution === null) return slots
  for (let ms = fromMs; ms < untilMs; ms = nextSlot(ms, zone, resolution)) slots.push(ms)
  return slots
}

function nextSlot(ms: number, zone: string, resolution: AudienceResolution): number {
  if (resolution === 'Hour') return ms + HOUR_MS
  // The last moment of its hour, because the day may begin within the hour.
  const day = dayAt(zone, ms + HOUR_MS - 1)
  return beginOfDay(zone, resolution === 'Day' ? day + 1 : nextMonth(day))
}

function nextMonth(day: number): number {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / DAY_MS
}
