import { err, ok, type Result } from '../../base/result.ts'
import { failure, invalid, type Failure } from '../../core/errors.ts'
import { HISTORY_SLOT_MS } from '../../core/streams/history.ts'
import {
  MONITORED_MS,
  type MonitoredStream,
  type MonitoredSummary,
  monitoredDetails,
  monitoredStream,
  type RecentFeed,
  summaryOf,
  withTargets,
} from '../../core/streams/monitoring.ts'
import {
  type MonitoringPage,
  monitoringPage,
  MonitoringQuery,
  MonitoringSummaryQuery,
  readMonitoringQuery,
} from '../../core/streams/monitoringQuery.ts'
import { viewersOf } from '../../core/streams/reading.ts'
import type { SessionContext } from '../context.ts'

/** Beyond them the newest count. */
const FEEDS_MAX = 10_000
const POINTS_MAX = 3600

/** One page of the streams that are on the air, or ended within the hour. */
export async function listMonitored(
  ctx: SessionContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<MonitoringPage<MonitoredStream>, Failure>> {
  const read = readMonitoringQuery(MonitoringQuery, query)
  if (!read.ok) return err(invalid(read.error))
  const page = monitoringPage(await streamsOf(ctx, accountId), read.value, ctx.clock.now())
  return ok({ ...page, data: await targetsShown(ctx, accountId, page.data) })
}

/** The same without feeds. */
export async function summarizeMonitored(
  ctx: SessionContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<MonitoringPage<MonitoredSummary>, Failure>> {
  const read = readMonitoringQuery(MonitoringSummaryQuery, query)
  if (!read.ok) return err(invalid(read.error))
  const page = monitoringPage(await streamsOf(ctx, accountId), read.value, ctx.clock.now())
  return ok({ ...page, data: page.data.map(summaryOf) })
}

/** One stream, with an hour of what was measured of its feeds. */
export async function readMonitored(ctx: SessionContext, accountId: string, streamName: string) {
  const found = await streamOf(ctx, accountId, streamName)
  if (!found.ok) return found
  const untilMs = ctx.clock.now() + 1
  const span = { fromMs: untilMs - MONITORED_MS, untilMs, slotMs: HISTORY_SLOT_MS, limit: POINTS_MAX }
  const points = await ctx.store.read.feedHealth.points({ accountId, streamName, ...span })
  const [stream = found.value.stream] = await targetsShown(ctx, accountId, [found.value.stream])
  return ok(monitoredDetails(stream, found.value.feeds, points, untilMs))
}

/** The same without feeds. */
export async function summarizeOne(
  ctx: SessionContext,
  accountId: string,
  streamName: string,
): Promise<Result<MonitoredSummary, Failure>> {
  const found = await streamOf(ctx, accountId, streamName)
  return found.ok ? ok(summaryOf(found.value.stream)) : found
}

async function streamOf(ctx: SessionContext, accountId: string, streamName: string) {
  const feeds = await recentFeeds(ctx, accountId, streamName)
  const [stream] = await withViewers(ctx, accountId, feeds)
  return stream
    ? ok({ stream, feeds })
    : err(failure('bad_request', `Stream name ${streamName.slice(0, 256)} not found`))
}

const streamsOf = async (ctx: SessionContext, accountId: string): Promise<MonitoredStream[]> =>
  withViewers(ctx, accountId, await recentFeeds(ctx, accountId))

const recentFeeds = ({ store, clock }: SessionContext, accountId: string, streamName?: string): Promise<RecentFeed[]> =>
  store.read.feeds.recent({
    accountId,
    ...(streamName === undefined ? {} : { streamName }),
    sinceMs: clock.now() - MONITORED_MS,
    limit: FEEDS_MAX,
  })

async function targetsShown(
  { store }: SessionContext,
  accountId: string,
  streams: readonly MonitoredStream[],
): Promise<MonitoredStream[]> {
  const ids = streams.flatMap(({ feeds }) => feeds.map(({ feedId }) => feedId))
  const changes = Map.groupBy(await store.read.restreamEvents.ofFeeds(accountId, ids), ({ feedId }) => feedId)
  return streams.map((stream) => withTargets(stream, changes))
}

/** From the first to the last name that a stream can have. */
const ALL_NAMES = { from: '', to: '\u{10FFFF}'.repeat(128) }

/** Viewers at this node as they are now, at other nodes as those wrote it a few seconds ago. */
async function withViewers(
  { store, sessions, streamMeter }: SessionContext,
  accountId: string,
  feeds: readonly RecentFeed[],
): Promise<MonitoredStream[]> {
  const streams = Map.groupBy(feeds, ({ streamName }) => streamName)
  const [name, another] = streams.keys()
  if (name === undefined) return []
  // The order of names here is not that of a database, so of several the first and the last one are not known.
  const span = another === undefined ? { from: name, to: name } : ALL_NAMES
  const remote = await store.read.streamNodes.sum({ accountId, ...span, except: sessions.node })
  return [...streams].flatMap(([streamName, [first, ...more]]) => {
    const here = viewersOf(streamMeter.viewing(accountId, streamName))
    const there = remote.get(streamName)
    return first ? [monitoredStream([first, ...more], here + (there ? viewersOf(there) : 0))] : []
  })
}
