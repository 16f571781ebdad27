import { err, ok, type Result } from '../../base/result.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, type TimeSpan, isoTime } from '../../base/time.ts'
import { Problems } from '../validation/problems.ts'
import { type ChannelFailure, refusal, validationFailed } from './errors.ts'
import { type ValueReader, readers, readParameters } from './listQuery.ts'
import { instant } from '../validation/moments.ts'

/** Lengths of the slots of a report. Months consist of days. */
const STEPS_MS = { '15min': 15 * MINUTE_MS, hour: HOUR_MS, day: DAY_MS, month: DAY_MS } as const
export const RESOLUTIONS = ['15min', 'hour', 'day', 'month'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

const STREAMING_FORMATS = ['hls', 'hesp', 'hlsMpegTs'] as const

/** The most slots of a report, and the most numbers in one. */
export const SLOTS_MAX = 3000
export const RECORDS_MAX = 50_000

/** A query for a time series. `offsetMs`: the start of its days, east of UTC. */
export interface SeriesQuestion<G extends string> extends TimeSpan {
  readonly resolution: Resolution
  readonly offsetMs: number
  readonly groupBy: G
  /** Only these distributions or engines. */
  readonly ids?: readonly string[]
  /** Only media that was served in these formats. */
  readonly formats?: readonly string[]
}

/** The parameters of one report. The first grouping is the default. */
export interface SeriesParameters<G extends string> {
  readonly groups: readonly [G, ...G[]]
  /** The name of the parameter with the ids. */
  readonly ids?: 'distributionIds' | 'engineIds'
  readonly formats?: true
}

interface Given {
  start: number
  end: number
  resolution: string
  utcOffset: number
  groupBy: string
  distributionIds: readonly string[]
  engineIds: readonly string[]
  streamingFormats: readonly string[]
}

/** Parses the query of a time series. Reports all errors at once and clamps nothing. */
export function readSeriesQuery<G extends string>(
  query: Record<string, unknown>,
  takes: SeriesParameters<G>,
): Result<SeriesQuestion<G>, ChannelFailure> {
  const problems = new Problems()
  const given = readParameters<Partial<Given>>(query, readersOf(takes), problems)
  const span = spanOf(given, problems)
  const resolution = RESOLUTIONS.find((one) => one === given.resolution)
  if (query['resolution'] === undefined) problems.add('resolution', `is required, one of ${RESOLUTIONS.join(', ')}`)
  if (span && resolution && slotCount(span, resolution) > SLOTS_MAX) {
    problems.add('end', `is too far from start: a report has at most ${SLOTS_MAX} steps of ${resolution}`)
  }
  const ids = takes.ids && given[takes.ids]
  const settled = problems.settle({
    ...(span ?? { fromMs: 0, untilMs: 0 }),
    resolution: resolution ?? 'hour',
    offsetMs: (given.utcOffset ?? 0) * MINUTE_MS,
    groupBy: takes.groups.find((group) => group === given.groupBy) ?? takes.groups[0],
    ...(ids ? { ids } : {}),
    ...(given.streamingFormats ? { formats: given.streamingFormats } : {}),
  })
  return settled.ok ? settled : err(validationFailed(settled.error))
}

/** Parses the query of a report over one time span. */
export function readSpanQuery(query: Record<string, unknown>): Result<TimeSpan, ChannelFailure> {
  const problems = new Problems()
  const given = readParameters<Partial<Given>>(query, { start: instant, end: instant }, problems)
  const settled = problems.settle(spanOf(given, problems) ?? { fromMs: 0, untilMs: 0 })
  return settled.ok ? settled : err(validationFailed(settled.error))
}

function readersOf<G extends string>({ groups, ids, formats }: SeriesParameters<G>) {
  return {
    start: instant,
    end: instant,
    resolution: readers.oneOf(RESOLUTIONS),
    utcOffset,
    groupBy: readers.oneOf(groups),
    ...(ids ? { [ids]: readers.ids } : {}),
    ...(formats ? { streamingFormats: readers.someOf(STREAMING_FORMATS) } : {}),
  }
}

/** Time zones range from 12 hours west to 14 hours east, in quarters of an hour. */
const utcOffset: ValueReader<number> = (text) => {
  const minutes = /^-?\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  const isValid = minutes >= -720 && minutes <= 840 && minutes % 15 === 0
  return isValid ? ok(minutes) : err('must be minutes east of UTC, -720 to 840 in steps of 15')
}

export function spanOf({ start, end }: { start?: number; end?: number }, problems: Problems): TimeSpan | null {
  for (const [name, value] of Object.entries({ start, end })) {
    if (value === undefined && !problems.touches(name)) problems.add(name, 'is required')
  }
  if (start === undefined || end === undefined) return null
  if (end <= start) problems.add('end', 'must be later than start; it is exclusive')
  return { fromMs: start, untilMs: end }
}

/** An upper bound: every month counts as a short one. */
const slotCount = ({ fromMs, untilMs }: TimeSpan, resolution: Resolution): number =>
  (untilMs - fromMs) / (resolution === 'month' ? 28 * DAY_MS : STEPS_MS[resolution])

/** The length of the slots that a store sums for this resolution: for a month, its days. */
export const stepOf = (resolution: Resolution): number => STEPS_MS[resolution]

type Cut = Pick<SeriesQuestion<string>, 'resolution' | 'offsetMs'>

/** The start of the slot that contains a moment. */
export function slotAt(ms: number, { resolution, offsetMs }: Cut): number {
  const local = ms + offsetMs
  if (resolution !== 'month') return ms - (local % STEPS_MS[resolution])
  const date = new Date(local)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - offsetMs
}

/** No month has more than 31 days, so 32 days later is always in the next one. */
export function slotAfter(slotMs: number, cut: Cut): number {
  return cut.resolution === 'month' ? slotAt(slotMs + 32 * DAY_MS, cut) : slotMs + STEPS_MS[cut.resolution]
}

/** One number of a report. */
export interface Amount {
  readonly slotMs: number
  readonly id: string
  readonly amount: number
  /** How many of these bytes caches sent. Absent: none. */
  readonly bytesFromCaches?: number
}

/** A number of an answer. Bytes that caches sent are part of it, and stand beside it. */
export interface UsageAmount {
  amount: number
  bytesFromCaches?: number
}

/** @param bytesFromCaches how many of the bytes in `amount` caches sent */
export const usageAmount = (amount: number, bytesFromCaches: number): UsageAmount =>
  bytesFromCaches === 0 ? { amount } : { amount, bytesFromCaches }

export interface SeriesRecord {
  timestamp: string
  records: ({ id: string } & UsageAmount)[]
}

/** Every slot of the time span in order, with its amounts by id. May pause after each amount and each slot. */
export function* toSeries(question: TimeSpan & Cut, amounts: Iterable<Amount>): Generator<void, SeriesRecord[]> {
  const slots = new Map<number, Map<string, Required<UsageAmount>>>()
  for (let ms = slotAt(question.fromMs, question); ms < question.untilMs; ms = slotAfter(ms, question)) {
    slots.set(ms, new Map())
  }
  for (const { slotMs, id, amount, bytesFromCaches = 0 } of amounts) {
    const slot = slots.get(slotAt(slotMs, question))
    const before = slot?.get(id) ?? { amount: 0, bytesFromCaches: 0 }
    slot?.set(id, { amount: before.amount + amount, bytesFromCaches: before.bytesFromCaches + bytesFromCaches })
    yield
  }
  const series: SeriesRecord[] = []
  for (const [ms, sums] of slots) {
    const records = [...sums].map(([id, sum]) => ({ id, ...usageAmount(sum.amount, sum.bytesFromCaches) }))
    series.push({ timestamp: isoTime(ms), records: records.sort((a, b) => (a.id < b.id ? -1 : 1)) })
    yield
  }
  return series
}

/** A run from `startedAtMs` to `endedAtMs`. */
export interface RunTime {
  readonly id: string
  readonly startedAtMs: number
  readonly endedAtMs: number
}

/** Milliseconds per slot and id. A refusal when there are more than a report can have. */
export function runTimes(question: TimeSpan & Cut, runs: Iterable<RunTime>): Result<Amount[], ChannelFailure> {
  const amounts: Amount[] = []
  for (const { id, startedAtMs, endedAtMs } of runs) {
    const [from, until] = [Math.max(startedAtMs, question.fromMs), Math.min(endedAtMs, question.untilMs)]
    if (until <= from) continue
    for (let slotMs = slotAt(from, question); slotMs < until; slotMs = slotAfter(slotMs, question)) {
      const end = Math.min(until, slotAfter(slotMs, question))
      amounts.push({ slotMs, id, amount: end - Math.max(from, slotMs) })
      if (amounts.length > RECORDS_MAX) return err(tooMuch)
    }
  }
  return ok(amounts)
}

export const tooMuch = refusal(
  'validation_failed',
  `end: the report would have more than ${RECORDS_MAX} numbers; ask for less time, or in larger steps`,
)
