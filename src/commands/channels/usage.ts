import { err, ok, type Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import {
  RECORDS_MAX,
  readSeriesQuery,
  readSpanQuery,
  runTimes,
  type SeriesParameters,
  type SeriesRecord,
  spanOf,
  stepOf,
  tooMuch,
  toSeries,
  type UsageAmount,
  usageAmount,
} from '../../core/channels/analytics.ts'
import { type ChannelFailure, noSuch, validationFailed } from '../../core/channels/errors.ts'
import { readPageQuery } from '../../core/channels/listQuery.ts'
import { UNKNOWN_COUNTRY } from '../../core/usage/report.ts'
import { instant } from '../../core/validation/moments.ts'
import { Problems } from '../../core/validation/problems.ts'
import type { ServedQuery, ServedSum } from '../../store/store.ts'
import type { ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { isOnRecord } from './onRecord.ts'
import { type ChannelResult, channelPage } from './channelCommand.ts'

/** What a report sums: served bytes, or minutes of media. */
export interface Subject {
  readonly kind: 'channel' | 'distribution'
  readonly id: string
  readonly counted: 'bytes' | 'minutes'
}

type Query = Record<string, unknown>
type Of = Pick<ServedQuery, 'channelId' | 'distributionId' | 'viewed'>

const WHOLE_TIME = { stepMs: 900_000, offsetMs: 0 }

/** Served bytes or minutes, by time. */
export async function servedSeries(
  ctx: ChannelContext,
  accountId: string,
  subject: Subject,
  query: Query,
): ChannelResult<SeriesRecord[]> {
  const read = readSeriesQuery(query, parametersOf(subject))
  if (!read.ok) return read
  const of = await ownedBy(ctx, accountId, subject)
  if (!of.ok) return of
  const question = read.value
  // Everything that Sluice serves here is HLS.
  if (question.formats && !question.formats.includes('hls')) return ok(await inTurns(toSeries(question, [])))
  const sums = await ctx.store.read.served.sum({
    ...of.value,
    ...question,
    ...(question.ids ? { distributionIds: question.ids } : {}),
    groupBy: question.groupBy === 'distribution' ? ['slotMs', 'distributionId'] : ['slotMs'],
    slot: { stepMs: stepOf(question.resolution), offsetMs: question.offsetMs },
    limit: RECORDS_MAX + 1,
  })
  if (sums.length > RECORDS_MAX) return err(tooMuch)
  const idOf = ({ distributionId }: ServedSum): string =>
    question.groupBy === 'streaming-format' ? 'hls' : distributionId || subject.id
  const isBytes = subject.counted === 'bytes'
  const amounts = sums.map((sum) => ({
    slotMs: sum.slotMs,
    id: idOf(sum),
    ...(isBytes ? { amount: sum.bytesOut, bytesFromCaches: sum.bytesFromCaches } : { amount: sum.viewedMs }),
  }))
  const series = await inTurns(toSeries(question, amounts))
  return ok(isBytes ? series : series.map(inMinutes))
}

type ServedGroup = 'channel' | 'distribution' | 'streaming-format'

/**
 * Only the report of a channel groups and filters by distribution. Only bytes group and filter by streaming format;
 * minutes have a single format.
 */
function parametersOf({ kind, counted }: Subject): SeriesParameters<ServedGroup> {
  const formats = counted === 'bytes' ? ({ groups: ['streaming-format'], formats: true } as const) : { groups: [] }
  return kind === 'channel'
    ? { ...formats, groups: ['channel', 'distribution', ...formats.groups], ids: 'distributionIds' }
    : { ...formats, groups: ['distribution', ...formats.groups] }
}

const amountOf = ({ counted }: Subject, { bytesOut, bytesFromCaches, viewedMs }: ServedSum): UsageAmount =>
  counted === 'bytes' ? usageAmount(bytesOut, bytesFromCaches) : { amount: minutesOf(viewedMs) }

/** Served bytes or minutes by the viewer's country, highest first. */
export async function servedCountries(
  ctx: ChannelContext,
  accountId: string,
  subject: Subject,
  query: Query,
): ChannelResult<({ countryCode: string } & UsageAmount)[]> {
  const span = readSpanQuery(query)
  if (!span.ok) return span
  const of = await ownedBy(ctx, accountId, subject)
  if (!of.ok) return of
  const asked = { ...of.value, ...span.value, groupBy: ['country'], slot: WHOLE_TIME, limit: RECORDS_MAX } as const
  const sums = await ctx.store.read.served.sum(asked)
  const amounts = sums.map((sum) => ({ countryCode: sum.country || UNKNOWN_COUNTRY, ...amountOf(subject, sum) }))
  return ok(amounts.sort((a, b) => b.amount - a.amount || (a.countryCode < b.countryCode ? -1 : 1)))
}

/** What Sluice served for one tracking id; without one: to viewers that have none. */
export interface TrackedUsage extends UsageAmount {
  trackingId?: string
}

/** One page of served bytes or minutes, by tracking id. */
export async function servedTrackingIds(
  ctx: ChannelContext,
  accountId: string,
  subject: Subject,
  query: Query,
): ChannelResult<KeysetPage<TrackedUsage>> {
  const read = readPageQuery<{ start: number; end: number }>(query, { start: instant, end: instant })
  if (!read.ok) return read
  const { limit, cursor, filters } = read.value
  const problems = new Problems()
  const span = problems.settle(spanOf(filters, problems) ?? { fromMs: 0, untilMs: 0 })
  if (!span.ok) return err(validationFailed(span.error))
  const of = await ownedBy(ctx, accountId, subject)
  if (!of.ok) return of
  const asked = { ...of.value, ...span.value, groupBy: ['trackingId'], slot: WHOLE_TIME } as const
  const page = await channelPage(ctx, {
    scope: { list: 'served_tracking_ids', filters: { accountId, ...subject, ...span.value } },
    limit,
    cursor,
    keyOf: (row: ServedSum) => [row.trackingId],
    read: ([after], count) =>
      ctx.store.read.served.sum({
        ...asked,
        limit: count,
        ...(typeof after === 'string' ? { afterTrackingId: after } : {}),
      }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map((sum) => toTracked(subject, sum)) }) : page
}

const toTracked = (subject: Subject, sum: ServedSum): TrackedUsage => ({
  ...(sum.trackingId === '' ? {} : { trackingId: sum.trackingId }),
  ...amountOf(subject, sum),
})

/** Running minutes of engines, with or without a source, by time. An open run counts up to now. */
export async function transcodingMinutes(
  ctx: ChannelContext,
  accountId: string,
  channelId: string,
  query: Query,
): ChannelResult<SeriesRecord[]> {
  const read = readSeriesQuery(query, { groups: ['channel', 'engine'], ids: 'engineIds' })
  if (!read.ok) return read
  const of = await ownedBy(ctx, accountId, { kind: 'channel', id: channelId, counted: 'minutes' })
  if (!of.ok) return of
  const { fromMs, untilMs, groupBy, ids } = read.value
  const runs = await ctx.store.read.runs.within({ channelId, fromMs, untilMs, limit: RECORDS_MAX + 1 })
  if (runs.length > RECORDS_MAX) return err(tooMuch)
  const nowMs = ctx.clock.now()
  const times = runs
    .filter(({ engineId }) => ids?.includes(engineId) ?? true)
    .map(({ engineId, startedAtMs, endedAtMs }) => ({
      id: groupBy === 'engine' ? engineId : channelId,
      startedAtMs,
      endedAtMs: endedAtMs ?? nowMs,
    }))
  const amounts = runTimes(read.value, times)
  if (!amounts.ok) return amounts
  return ok((await inTurns(toSeries(read.value, amounts.value))).map(inMinutes))
}

/** To a hundredth. */
const minutesOf = (ms: number): number => Math.round(ms / 600) / 100

const inMinutes = ({ timestamp, records }: SeriesRecord): SeriesRecord => ({
  timestamp,
  records: records.map(({ id, amount }) => ({ id, amount: minutesOf(amount) })),
})

async function ownedBy(
  ctx: ChannelContext,
  accountId: string,
  { kind, id, counted }: Subject,
): Promise<Result<Of, ChannelFailure>> {
  if (!(await isOnRecord(ctx, accountId, kind, id))) return err(noSuch(kind, id))
  const viewed = counted === 'minutes' ? ({ viewed: true } as const) : {}
  return ok(kind === 'channel' ? { channelId: id, ...viewed } : { distributionId: id, ...viewed })
}
