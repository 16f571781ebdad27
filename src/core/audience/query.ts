import { err, ok, type Result } from '../../base/result.ts'
import { PROTOCOLS_OF } from '../access/protocols.ts'
import { checkStreamName } from '../access/streamName.ts'
import type { FieldErrors } from '../errors.ts'
import { parametersOf, wordOf } from '../pages/parameters.ts'
import {
  beginOfDay,
  dayOfHour,
  type HourSpan,
  lengthInDays,
  readDateIn,
  readZone,
  REPORT_DAYS_MAX,
  type SlotResolution,
  slotsOf,
  type ZonedSpan,
} from '../zonedSlots.ts'
import { AUDIENCE_DIMENSIONS, type AudienceDimension } from './slots.ts'

export const AUDIENCE_RESOLUTIONS = ['Hour', 'Day', 'Month'] as const satisfies readonly SlotResolution[]

/** What a report can be divided by. */
export const AUDIENCE_BY = ['streamName', ...AUDIENCE_DIMENSIONS] as const
export type AudienceBy = (typeof AUDIENCE_BY)[number]

/** A parsed question. */
export interface AudienceQuestion extends HourSpan {
  readonly zone: string
  /** As many days before. */
  readonly before: HourSpan
  /** Null: no series. */
  readonly resolution: SlotResolution | null
  /** Null: all streams. */
  readonly streamName: string | null
  readonly filter: { readonly dimension: AudienceDimension; readonly value: string } | null
  readonly by: readonly AudienceBy[]
}

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
  const days = span === undefined ? 0 : lengthInDays(span)
  const by = note('by', readBy(given.by, streamName, filter !== null, days)) ?? []
  const resolution = note('resolution', readResolution(given.resolution, days)) ?? null
  if (span === undefined || Object.keys(errors).length > 0) return err(errors)
  return ok({ ...span, before: spanBefore(span), resolution, streamName, filter, by })
}

function readSpan(given: Given, zone: string, note: Note): ZonedSpan | undefined {
  const fromMs = note('startDate', readDateIn(zone, given.startDate))
  const untilMs = note('stopDate', readDateIn(zone, given.stopDate))
  if (fromMs === undefined || untilMs === undefined) return undefined
  if (untilMs <= fromMs) return note('stopDate', err('must be later than startDate; it is exclusive'))
  const span = { fromMs, untilMs, zone }
  return lengthInDays(span) > REPORT_DAYS_MAX
    ? note('stopDate', err(`must be at most ${REPORT_DAYS_MAX} days after startDate`))
    : span
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

function readResolution(text: Given['resolution'], days: number): Result<SlotResolution | null, string> {
  if (text === undefined) return ok(null)
  const word = wordOf(AUDIENCE_RESOLUTIONS, text)
  if (word === undefined) return err(`must be one of ${AUDIENCE_RESOLUTIONS.join(', ')}`)
  return word === 'Hour' && days > HOURS_DAYS_MAX ? err(`may be Hour for at most ${HOURS_DAYS_MAX} days`) : ok(word)
}

/** As many days of the zone's calendar, or as many hours where the span is not of whole days. */
function spanBefore({ fromMs, untilMs, zone }: ZonedSpan): HourSpan {
  const [from, until] = [dayOfHour(zone, fromMs), dayOfHour(zone, untilMs)]
  const areDays = beginOfDay(zone, from) === fromMs && beginOfDay(zone, until) === untilMs
  return { fromMs: areDays ? beginOfDay(zone, 2 * from - until) : 2 * fromMs - untilMs, untilMs: fromMs }
}

/** The beginnings of the slots of a series, in order; the first may be before the span. */
export const seriesSlotsOf = ({ resolution, ...span }: AudienceQuestion): number[] =>
  resolution === null ? [] : slotsOf({ ...span, resolution })
