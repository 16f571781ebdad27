import { isoTime } from '../../base/time.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { checkStreamName } from '../../core/access/streamName.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { findingOf } from '../../core/streams/findings.ts'
import { historiesOf, type HistorySpan, readHistoryQuery } from '../../core/streams/history.ts'
import {
  type FeedReading,
  readStoredReading,
  type StreamViewing,
  sumOfViewing,
  viewersOf,
} from '../../core/streams/reading.ts'
import { streamIdOf, type StreamRef } from '../../core/streams/streamId.ts'
import { type FeedHealth, type StreamHealthNow, type StreamOnAir, targetOnAir } from '../../core/streams/streamOnAir.ts'
import { readOnAirQuery } from '../../core/streams/streamQuery.ts'
import type { OnAirFeed, OnAirQuery } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'

/** A stream on the air. */
interface OnAir {
  /** The oldest first. */
  readonly feeds: readonly [OnAirFeed, ...OnAirFeed[]]
  /** At all nodes. */
  readonly viewing: StreamViewing
}

export const NOT_ON_AIR = 'No stream of this name is on the air'

interface Read {
  /** Null: its node has not written one yet. */
  readonly reading: FeedReading | null
  readonly mostViewers: number
}

/** One page of the streams on the air at all nodes, by name: one entry for each stream, however many watch it. */
export async function listStreamsOnAir(
  ctx: SessionContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<KeysetPage<StreamOnAir>, Failure>> {
  const read = readOnAirQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await paginate(mac, {
    scope: { list: 'streams on air', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: ({ feeds: [feed] }: OnAir) => [feed.streamName],
    read: ([after], most) =>
      streamsOf(ctx, { accountId, ...filter, limit: most, ...(typeof after === 'string' ? { after } : {}) }),
  })
  return mapPage(page, (stream) => toStreamOnAir(ctx, stream))
}

/** The first streams on the air, by name. */
export const firstStreamsOnAir = async (
  ctx: SessionContext,
  accountId: string,
  limit: number,
): Promise<StreamOnAir[]> => (await streamsOf(ctx, { accountId, limit })).map((stream) => toStreamOnAir(ctx, stream))

/** One stream on the air. */
export async function readStreamOnAir(
  ctx: SessionContext,
  accountId: string,
  streamName: string,
): Promise<Result<StreamOnAir, Failure>> {
  const problem = checkStreamName(streamName)
  if (problem !== null) return err(invalid({ streamName: [problem] }))
  const [stream] = await streamsOf(ctx, { accountId, streamName, limit: 1 })
  return stream ? ok(toStreamOnAir(ctx, stream)) : err(notFound('streamName', NOT_ON_AIR))
}

/** How the media of each publisher of a stream comes in, and came: also if it ended since. */
export async function readStreamHealth(
  ctx: SessionContext,
  accountId: string,
  streamName: string,
  query: Record<string, unknown>,
): Promise<Result<StreamHealthNow, Failure>> {
  const problem = checkStreamName(streamName)
  if (problem !== null) return err(invalid({ streamName: [problem] }))
  const span = readHistoryQuery(query, ctx.clock.now())
  if (!span.ok) return err(invalid(span.error))
  const feeds = await ctx.store.read.feeds.onAir({ accountId, streamName, limit: 1 })
  const history = span.value === null ? null : await historyOf(ctx, { accountId, streamName, ...span.value })
  if (feeds.length === 0 && !history?.sources.length) return err(notFound('streamName', NOT_ON_AIR))
  return ok({
    streamName,
    feeds: feeds.map((feed) => toFeedHealth(ctx, feed)),
    ...(history === null ? {} : { history }),
  })
}

/** Of a stream with more sources, or whose publishers change all the time, the oldest points are left out. */
const POINTS_MAX = 3600

async function historyOf({ store }: SessionContext, query: StreamRef & HistorySpan) {
  const points = await store.read.feedHealth.points({ ...query, limit: POINTS_MAX })
  return { slotSeconds: query.slotMs / 1000, sources: historiesOf(points) }
}

function toFeedHealth(ctx: SessionContext, feed: OnAirFeed): FeedHealth {
  const { feedId, sourceId, protocol, node, startedAtMs } = feed
  const { reading } = readingOf(ctx, feed)
  const { bitrateIn = null, frameRate = null } = reading ?? {}
  return {
    feedId,
    ...(sourceId === null ? {} : { sourceId }),
    protocol,
    node,
    startedOn: isoTime(startedAtMs),
    health: reading?.health ?? ('steady' as const),
    ...(bitrateIn === null ? {} : { bitrateIn }),
    ...(frameRate === null ? {} : { frameRate }),
    ...measuredOf(reading),
  }
}

/** Viewers at this node as they are now, at other nodes as those wrote it a few seconds ago. */
async function streamsOf({ store, sessions, streamMeter }: SessionContext, query: OnAirQuery): Promise<OnAir[]> {
  const { accountId } = query
  const found = await store.read.feeds.onAir(query)
  const [from, to] = [found[0]?.streamName, found.at(-1)?.streamName]
  if (from === undefined || to === undefined) return []
  const remote = await store.read.streamNodes.sum({ accountId, from, to, except: sessions.node })
  const streams = Map.groupBy(found, ({ streamName }) => streamName)
  return [...streams].flatMap(([streamName, [first, ...more]]) => {
    const here = streamMeter.viewing(accountId, streamName)
    const there = remote.get(streamName)
    return first ? [{ feeds: [first, ...more], viewing: there ? sumOfViewing(here, there) : here }] : []
  })
}

/** Omits what is not known. */
function toStreamOnAir(ctx: SessionContext, { feeds, viewing }: OnAir): StreamOnAir {
  const main = feeds.find(({ sourceId }) => sourceId === null) ?? feeds[0]
  const readings = new Map(feeds.map((feed) => [feed, readingOf(ctx, feed)]))
  const reading = readings.get(main)?.reading ?? null
  const targets = [...readings].flatMap(([{ sourceId }, { reading: own }]) =>
    (own?.targets ?? []).map((target) => targetOnAir(target, sourceId)),
  )
  const { bitrateOut, ...viewersByProtocol } = viewing
  const viewers = viewersOf(viewing)
  const spares = feeds.reduce((sum, feed) => sum + feed.spares, 0)
  return {
    streamName: main.streamName,
    streamId: streamIdOf(main),
    startedOn: isoTime(feeds[0].startedAtMs),
    sources: feeds.length,
    feedId: main.feedId,
    sessionId: main.sessionId,
    ...(main.sourceId === null ? {} : { sourceId: main.sourceId }),
    ...(main.priority === null ? {} : { priority: main.priority }),
    ...(spares === 0 ? {} : { spares }),
    protocol: main.protocol,
    node: main.node,
    ...(main.url === null ? {} : { nodeUrl: main.url }),
    tokenId: main.tokenId,
    ...(main.tokenLabel === null ? {} : { tokenLabel: main.tokenLabel }),
    secured: feeds.some(({ secured }) => secured),
    recorded: feeds.some(({ isRecorded }) => isRecorded),
    ...known(reading),
    health: reading?.health ?? ('steady' as const),
    ...measuredOf(reading),
    ...(targets.length === 0 ? {} : { restreams: targets }),
    viewers,
    viewersByProtocol,
    mostViewers: Math.max(viewers, ...[...readings.values()].map(({ mostViewers }) => mostViewers)),
    bitrateOut,
    channel: null,
  }
}

/** Of this node as it is now, of other nodes as they wrote it a few seconds ago. */
function readingOf({ sessions, streamMeter }: SessionContext, feed: OnAirFeed): Read {
  const here = feed.node === sessions.node ? streamMeter.reading(feed.feedId) : undefined
  if (here) return { reading: here, mostViewers: here.mostViewers }
  return { reading: readStoredReading(feed.reading), mostViewers: feed.mostViewers }
}

function measuredOf(reading: FeedReading | null): Pick<StreamOnAir, 'findings' | 'source'> {
  const source = reading?.source ?? {}
  return { findings: (reading?.findings ?? []).map((found) => findingOf(found, source)), source }
}

function known(reading: FeedReading | null): Pick<StreamOnAir, (typeof FIGURES)[number]> {
  const entries = FIGURES.map((name) => [name, reading?.[name] ?? null] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== null))
}

const FIGURES = [
  'videoCodec',
  'audioCodec',
  'width',
  'height',
  'frameRate',
  'bitrateIn',
  'bitrateLowest',
  'bitrateHighest',
] as const
