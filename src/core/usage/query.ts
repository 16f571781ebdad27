import { err, ok, type Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import type { FieldErrors } from '../errors.ts'
import { nameProblem } from '../validation/text.ts'
import { parametersOf, readFlag, wordOf } from '../pages/parameters.ts'

export type UsageResolution = 'Hour' | 'Day' | 'Month'

/** The parameters of one endpoint beside the dates. */
export interface UsageParameters {
  /** The parameter that names the tracking ids or streams. */
  readonly names?: 'trackingIds' | 'streamNames'
  readonly resolutions?: readonly UsageResolution[]
}

/** A parsed usage query. The time span is half open. */
export interface UsageQuestion {
  readonly fromMs: number
  readonly untilMs: number
  /** Empty when the endpoint takes no names. In the order of the query, each once. */
  readonly names: readonly string[]
  readonly resolution: UsageResolution
  /** Only what viewers were sent and what publishers sent, without the reports that each side sends to the other. */
  readonly mediaOnly: boolean
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const DAYS_MAX = 366
const NAMES_MAX = 10

type Query = Record<string, unknown>

/** Parses the query of an analytics endpoint. Reports all errors at once and clamps nothing. */
export function readUsageQuery(query: Query, takes: UsageParameters): Result<UsageQuestion, FieldErrors> {
  const errors: FieldErrors = {}
  const note = <T>(field: string, read: Result<T, string>): T | undefined => {
    if (read.ok) return read.value
    errors[field] = [read.error]
    return undefined
  }
  const given = parametersOf(query, ['startDate', 'stopDate', 'resolution', 'trackingIds', 'streamNames', 'mediaOnly'])
  const fromMs = note('startDate', readDate(given.startDate))
  const untilMs = note('stopDate', readDate(given.stopDate))
  const names = takes.names ? note(takes.names, readNames(given[takes.names], takes.names)) : []
  const resolution = note('resolution', readResolution(given.resolution, takes.resolutions))
  const mediaOnly = note('mediaOnly', given.mediaOnly === undefined ? ok(false) : readFlag(given.mediaOnly))
  if (fromMs !== undefined && untilMs !== undefined) note('stopDate', checkSpan(fromMs, untilMs, resolution))
  if (Object.keys(errors).length > 0) return err(errors)
  return ok({
    fromMs: fromMs ?? 0,
    untilMs: untilMs ?? 0,
    names: names ?? [],
    resolution: resolution ?? 'Hour',
    mediaOnly: mediaOnly ?? false,
  })
}

const DATE_RULE = 'must be a date such as 2026-01-31 (UTC), or an ISO 8601 time with a zone on a whole hour'

function readDate(value: unknown): Result<number, string> {
  if (value === undefined) return err(`is required; it ${DATE_RULE}`)
  if (typeof value !== 'string') return err('may be given once')
  const wellFormed = /^\d{4}-\d{2}-\d{2}(T\d{2}:00(:00(\.0{1,9})?)?(Z|[+-]\d{2}:00))?$/.test(value)
  const ms = wellFormed ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms) || !isOnTheCalendar(value)) return err(DATE_RULE)
  return ok(ms)
}

/** The engine reads 30 February as 2 March, so a date that does not exist must be refused here. */
function isOnTheCalendar(text: string): boolean {
  const day = text.slice(0, 10)
  const ms = Date.parse(day)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

function readNames(value: unknown, parameter: string): Result<string[], string> {
  const given = value === undefined ? [] : [value].flat()
  const texts = given.flatMap((one) => {
    if (typeof one !== 'string') return ['']
    return parameter === 'trackingIds' ? one.split(',') : [one]
  })
  const names = [...new Set(texts)]
  if (names.length < 1 || names.length > NAMES_MAX) return err(`must name 1 to ${NAMES_MAX}`)
  const problem = names.map(parameter === 'trackingIds' ? nameProblem : checkStreamName).find((one) => one !== null)
  return problem === undefined ? ok(names) : err(`each ${problem}`)
}

function readResolution(
  value: unknown,
  allowed: readonly UsageResolution[] | undefined,
): Result<UsageResolution, string> {
  if (!allowed) return ok('Hour')
  const found = wordOf(allowed, value)
  return found ? ok(found) : err(`is required, one of ${allowed.join(', ')}`)
}

function checkSpan(fromMs: number, untilMs: number, resolution: UsageResolution | undefined): Result<null, string> {
  if (untilMs <= fromMs) return err('must be later than startDate; it is exclusive')
  if (untilMs - fromMs > DAYS_MAX * DAY_MS) return err(`must be at most ${DAYS_MAX} days after startDate`)
  if (resolution === 'Day' && (fromMs % DAY_MS !== 0 || untilMs % DAY_MS !== 0)) {
    return err('and startDate must be days (UTC) when the resolution is Day')
  }
  const areMonths = isFirstOfMonth(fromMs) && isFirstOfMonth(untilMs)
  return resolution === 'Month' && !areMonths
    ? err('and startDate must be the first day of a month when the resolution is Month')
    : ok(null)
}

const isFirstOfMonth = (ms: number): boolean => ms % DAY_MS === 0 && new Date(ms).getUTCDate() === 1

/** The start of the slot that contains a time. */
export function slotOf(ms: number, resolution: UsageResolution): number {
  if (resolution === 'Hour') return ms - (ms % HOUR_MS)
  if (resolution === 'Day') return ms - (ms % DAY_MS)
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** The starts of all slots of a time span, in order. At most 8784. */
export function slotsOf({ fromMs, untilMs, resolution }: UsageQuestion): number[] {
  const slots: number[] = []
  for (let ms = slotOf(fromMs, resolution); ms < untilMs; ms = next(ms, resolution)) slots.push(ms)
  return slots
}

/** No month has more than 31 days, so 32 days later is always in the next one. */
function next(slotMs: number, resolution: UsageResolution): number {
  if (resolution === 'Hour') return slotMs + HOUR_MS
  return resolution === 'Day' ? slotMs + DAY_MS : slotOf(slotMs + 32 * DAY_MS, 'Month')
}
