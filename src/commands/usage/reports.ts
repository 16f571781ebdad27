import { joined, lazyObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import { failure, invalid, type Failure } from '../../core/errors.ts'
import { usageCsv } from '../../core/usage/csv.ts'
import { readUsageQuery, type UsageParameters, type UsageQuestion } from '../../core/usage/query.ts'
import * as report from '../../core/usage/report.ts'
import type { RestreamHourQuery, UsageQuery } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { writeUsage } from '../sessions/writeUsage.ts'
import { isWatchable, readWatched } from './watched.ts'

/** Bounds a report: hours, streams and tracking ids multiply, and more rows would exhaust the server's memory. */
const ROWS_MAX = 100_000

/** A report: its parameters, the grouping of its sums, and the form of its rows. */
export interface Report extends UsageParameters {
  readonly groupBy: UsageQuery['groupBy']
  /** The grouping of what targets used. Absent: the report does not show it. */
  readonly restreamsBy?: RestreamHourQuery['groupBy']
  /** It shows broadcasts and views too. */
  readonly isWatched?: true
  readonly show: (rows: readonly report.UsageRow[], question: UsageQuestion) => unknown
}

type Rows = readonly report.UsageRow[]

const trackingIdOf = (row: report.UsageRow): string => row.trackingId
const streamNameOf = (row: report.UsageRow): string => row.streamName

const countriesIn = (question: UsageQuestion) => (isWatchable(question) ? report.byCountry : report.bytesByCountry)

const geo = (value: unknown) => lazyObject([value], (one) => ['geo', one])

/** Every report under `/api/analytics`, by its path. */
export const REPORTS = {
  'account/total': { groupBy: [], restreamsBy: [], show: (rows: Rows) => report.total(rows) },
  'account/series': {
    groupBy: ['slot'],
    restreamsBy: ['slotMs'],
    resolutions: ['Hour', 'Day', 'Month'],
    show: report.series,
  },
  'account/geo': {
    groupBy: ['country'],
    isWatched: true,
    show: (rows: Rows) => geo(report.viewsByCountry(rows)),
  },
  'account/geo_total': {
    groupBy: ['country'],
    isWatched: true,
    show: (rows: Rows) => geo(report.byCountry(rows)),
  },
  'account/geo_series': {
    resolutions: ['Hour', 'Day'],
    groupBy: ['slot', 'country'],
    isWatched: true,
    show: (rows: Rows, question) => geo(report.bySlot(rows, question, countriesIn(question))),
  },
  'account/protocol_total': { groupBy: ['protocol'], show: (rows: Rows) => report.byProtocol(rows) },
  'account/token_total': { groupBy: ['tokenId'], show: (rows: Rows) => report.perToken(rows) },
  'streams/total': {
    names: 'streamNames',
    groupBy: ['streamName'],
    restreamsBy: ['streamName'],
    show: (rows: Rows, { names }) => report.byName(rows, names, streamNameOf, report.total),
  },
  'streams/series': {
    names: 'streamNames',
    resolutions: ['Hour', 'Day'],
    groupBy: ['streamName', 'slot'],
    restreamsBy: ['streamName', 'slotMs'],
    show: (rows: Rows, question) =>
      report.byName(rows, question.names, streamNameOf, (of) => report.series(of, question)),
  },
  'streams/geo': {
    names: 'streamNames',
    groupBy: ['streamName', 'country'],
    isWatched: true,
    show: (rows: Rows, { names }) => report.byName(rows, names, streamNameOf, (of) => geo(report.viewsByCountry(of))),
  },
  'streams/geo_total': {
    names: 'streamNames',
    groupBy: ['streamName', 'country'],
    isWatched: true,
    show: (rows: Rows, { names }) => geo(report.byName(rows, names, streamNameOf, report.byCountry)),
  },
  'streams/geo_series': {
    names: 'streamNames',
    resolutions: ['Hour', 'Day'],
    groupBy: ['streamName', 'slot', 'country'],
    isWatched: true,
    show: (rows: Rows, question) =>
      geo(
        report.byName(rows, question.names, streamNameOf, (of) => report.bySlot(of, question, countriesIn(question))),
      ),
  },
  'tracking/total': {
    names: 'trackingIds',
    groupBy: ['trackingId', 'streamName'],
    show: (rows: Rows, { names }) => report.byName(rows, names, trackingIdOf, report.perStream),
  },
  'tracking/series': {
    names: 'trackingIds',
    resolutions: ['Hour', 'Day'],
    groupBy: ['trackingId', 'streamName', 'slot'],
    show: (rows: Rows, question) =>
      report.byName(rows, question.names, trackingIdOf, (of) => report.bySlot(of, question, report.perStream)),
  },
  'tracking/streams/total': {
    names: 'streamNames',
    groupBy: ['streamName', 'trackingId'],
    show: (rows: Rows, { names }) => report.byName(rows, names, streamNameOf, report.perTrackingId),
  },
  'tracking/streams/series': {
    names: 'streamNames',
    resolutions: ['Hour', 'Day'],
    groupBy: ['streamName', 'slot', 'trackingId'],
    show: (rows: Rows, question) =>
      report.byName(rows, question.names, streamNameOf, (of) => report.bySlot(of, question, report.perTrackingId)),
  },
} as const satisfies Record<string, Report>

export type ReportName = keyof typeof REPORTS

/** Transferred bytes as one of the reports, for `jsonOf`; up to now for the sessions of this node. */
export async function analyse(
  ctx: SessionContext,
  accountId: string,
  name: ReportName,
  query: Record<string, unknown>,
): Promise<Result<unknown, Failure>> {
  const found = await readRows(ctx, accountId, name, query)
  if (!found.ok) return found
  const { rows, question } = found.value
  const report: Report = REPORTS[name]
  return ok(report.show(rows, question))
}

/** The same as CSV. */
export async function analyseAsCsv(
  ctx: SessionContext,
  accountId: string,
  name: ReportName,
  query: Record<string, unknown>,
): Promise<Result<string, Failure>> {
  const found = await readRows(ctx, accountId, name, query)
  if (!found.ok) return found
  const { rows, question } = found.value
  const { groupBy, restreamsBy, isWatched, resolutions }: Report = REPORTS[name]
  const hasViews = isWatched === true && (resolutions === undefined || isWatchable(question))
  const csv = usageCsv(rows, { dimensions: groupBy, hasRestreams: restreamsBy !== undefined, hasViews }, question)
  return ok(await inTurns(joined(csv)))
}

/** What the report shows, up to now. */
async function readRows(
  ctx: SessionContext,
  accountId: string,
  name: ReportName,
  query: Record<string, unknown>,
): Promise<Result<{ rows: Rows; question: UsageQuestion }, Failure>> {
  const report: Report = REPORTS[name]
  const read = readUsageQuery(query, report)
  if (!read.ok) return err(invalid(read.error))
  const question = read.value
  await writeUsage(ctx, Number.POSITIVE_INFINITY)
  const rows = await ctx.store.read.usage.sum({
    ...scopeOf(accountId, report, question),
    groupBy: report.groupBy,
    mediaOnly: question.mediaOnly,
  })
  if (rows.length > ROWS_MAX) return err(failure('bad_request', `More than ${ROWS_MAX} rows: ask for less time`))
  const restreams = await readRestreams(ctx, accountId, report, question)
  const watched = report.isWatched ? await readWatched(ctx, accountId, report, question) : ok([])
  return watched.ok ? ok({ rows: [...rows, ...restreams, ...watched.value], question }) : watched
}

/** What targets used, as rows beside those of publishers and viewers. They have feeds and hours, so there are fewer. */
async function readRestreams(
  ctx: SessionContext,
  accountId: string,
  shown: Report,
  question: UsageQuestion,
): Promise<report.UsageRow[]> {
  const { restreamsBy: groupBy } = shown
  if (groupBy === undefined) return []
  await ctx.restreamUsage.write(ctx.store)
  const sums = await ctx.store.read.restreamHours.sum({ ...scopeOf(accountId, shown, question), groupBy })
  return sums.map(({ slotMs, streamName, ...restream }) => ({ ...report.BLANK_ROW, slotMs, streamName, restream }))
}

const scopeOf = (accountId: string, shown: Report, { fromMs, untilMs, names, slots }: UsageQuestion) => ({
  accountId,
  fromMs,
  untilMs,
  slots,
  ...(shown.names ? { [shown.names]: names } : {}),
  limit: ROWS_MAX + 1,
})
