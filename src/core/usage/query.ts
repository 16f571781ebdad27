import { err, ok, type Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import type { FieldErrors } from '../errors.ts'
import { nameProblem } from '../validation/text.ts'
import { parametersOf, readFlag, wordOf } from '../pages/parameters.ts'
import {
  beginsSlot,
  lengthInDays,
  readDateIn,
  readZone,
  REPORT_DAYS_MAX,
  type SlotResolution,
  type SlottedSpan,
  slotsOf,
} from '../zonedSlots.ts'

/** The parameters of one endpoint beside the dates. */
export interface UsageParameters {
  /** The parameter that names the tracking ids or streams. */
  readonly names?: 'trackingIds' | 'streamNames'
  readonly resolutions?: readonly SlotResolution[]
}

/** A parsed usage query. */
export interface UsageQuestion extends SlottedSpan {
  /** Empty when the endpoint takes no names. In the order of the query, each once. */
  readonly names: readonly string[]
  /** The beginnings of the slots of a series. Computed once, because those of a zone are not cheap, and a report has many series. */
  readonly slots: readonly number[]
  /** Only what viewers were sent and what publishers sent, without the reports that each side sends to the other. */
  readonly mediaOnly: boolean
}

const NAMES_MAX = 10
/** Of reports by tracking id. */
const TRACKING_DAYS_MAX = 366

/** The longest time of a report, in days. */
export const daysMaxOf = ({ names }: Pick<UsageParameters, 'names'>): number =>
  names === 'trackingIds' ? TRACKING_DAYS_MAX : REPORT_DAYS_MAX

type Query = Record<string, unknown>

const PARAMETERS = [
  'startDate',
  'stopDate',
  'timeZone',
  'resolution',
  'trackingIds',
  'streamNames',
  'mediaOnly',
] as const

/** Parses the query of an analytics endpoint. Reports all errors at once and clamps nothing. */
export function readUsageQuery(query: Query, takes: UsageParameters): Result<UsageQuestion, FieldErrors> {
  const errors: FieldErrors = {}
  const note = <T>(field: string, read: Result<T, string>): T | undefined => {
    if (read.ok) return read.value
    errors[field] = [read.error]
    return undefined
  }
  const given = parametersOf(query, PARAMETERS)
  const zone = note('timeZone', readZone(given.timeZone)) ?? 'UTC'
  const fromMs = note('startDate', readDateIn(zone, given.startDate))
  const untilMs = note('stopDate', readDateIn(zone, given.stopDate))
  const names = takes.names ? note(takes.names, readNames(given[takes.names], takes.names)) : []
  const resolution = note('resolution', readResolution(given.resolution, takes.resolutions)) ?? 'Hour'
  const mediaOnly = note('mediaOnly', given.mediaOnly === undefined ? ok(false) : readFlag(given.mediaOnly))
  if (fromMs !== undefined && untilMs !== undefined)
    note('stopDate', checkSpan({ fromMs, untilMs, zone, resolution }, daysMaxOf(takes)))
  if (Object.keys(errors).length > 0) return err(errors)
  const span = { fromMs: fromMs ?? 0, untilMs: untilMs ?? 0, zone, resolution }
  return ok({ ...span, names: names ?? [], slots: slotsOf(span), mediaOnly: mediaOnly ?? false })
}

function readNames(value: unknown, parameter: string): Result<string[], string> {
  const given = value === undefined ? [] : [value].flat()
  const texts = given.flatMap((one) => {
    if (typeof one !== 'string') return ['']
    return parameter === 'trackingIds' ? splitIds(one) : [one]
  })
  const names = [...new Set(texts)]
  if (names.length < 1 || names.length > NAMES_MAX) return err(`must name 1 to ${NAMES_MAX}`)
  const problem = names.map(parameter === 'trackingIds' ? nameProblem : checkStreamName).find((one) => one !== null)
  return problem === undefined ? ok(names) : err(`each ${problem}`)
}

/** A comma after a backslash belongs to the id, which may have any character. */
const splitIds = (text: string): string[] => text.split(/(?<!\\),/).map((id) => id.replaceAll('\\,', ','))

function readResolution(
  value: unknown,
  allowed: readonly SlotResolution[] | undefined,
): Result<SlotResolution, string> {
  if (!allowed) return ok('Hour')
  const found = wordOf(allowed, value)
  return found ? ok(found) : err(`is required, one of ${allowed.join(', ')}`)
}

function checkSpan({ fromMs, untilMs, zone, resolution }: SlottedSpan, daysMax: number): Result<null, string> {
  if (untilMs <= fromMs) return err('must be later than startDate; it is exclusive')
  if (lengthInDays({ fromMs, untilMs, zone }) > daysMax) return err(`must be at most ${daysMax} days after startDate`)
  const isWhole = [fromMs, untilMs].every((ms) => beginsSlot(ms, zone, resolution))
  if (isWhole) return ok(null)
  return resolution === 'Day'
    ? err('and startDate must be days of timeZone when the resolution is Day')
    : err('and startDate must be the first day of a month when the resolution is Month')
}
