import { err, type Result } from '../../base/result.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { type FeedReading, readStoredReading } from '../../core/streams/reading.ts'
import type { StreamOnAir } from '../../core/streams/streamOnAir.ts'
import { readOnAirQuery } from '../../core/streams/streamQuery.ts'
import { streamKey } from '../../media/sessionRegistry.ts'
import type { OnAirFeed, OnAirQuery } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'

/** The feeds of one stream, the oldest first; never empty. */
type Feeds = readonly [OnAirFeed, ...OnAirFeed[]]

interface Read {
  readonly feed: OnAirFeed
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
    scope: { list: 'live streams', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: ([feed]: Feeds) => [feed.streamName],
    read: ([after], most) =>
      streamsOf(ctx, { accountId, ...filter, limit: most, ...(typeof after === 'string' ? { after } : {}) }),
  })
  return mapPage(page, (feeds) => toStreamOnAir(ctx, feeds))
}

/** The first streams on the air, by name. */
export const firstStreamsOnAir = async (
  ctx: SessionContext,
  accountId: string,
  limit: number,
): Promise<StreamOnAir[]> => (await streamsOf(ctx, { accountId, limit })).map((feeds) => toStreamOnAir(ctx, feeds))

async function streamsOf(ctx: SessionContext, query: OnAirQuery): Promise<Feeds[]> {
  const feeds = await ctx.store.read.feeds.onAir(query)
  const streams = Map.groupBy(feeds, ({ streamName }) => streamName).values()
  return [...streams].filter((of): of is [OnAirFeed, ...OnAirFeed[]] => of.length > 0)
}

/** Omits what is not known. */
function toStreamOnAir(ctx: SessionContext, feeds: Feeds): StreamOnAir {
  const main = feeds.find(({ sourceId }) => sourceId === null) ?? feeds[0]
  const all = feeds.map((feed) => readingOf(ctx, feed))
  const { reading } = all.find(({ feed }) => feed === main) ?? { reading: null }
  const { bitrateOut, ...viewersByProtocol } = viewingOf(all)
  const viewers = viewersByProtocol.whep + viewersByProtocol.hls
  return {
    streamName: main.streamName,
    streamId: streamKey(main.accountId, main.streamName),
    startedOn: new Date(feeds[0].startedAtMs).toISOString(),
    sources: feeds.length,
    feedId: main.feedId,
    sessionId: main.sessionId,
    ...(main.sourceId === null ? {} : { sourceId: main.sourceId }),
    protocol: main.protocol,
    node: main.node,
    ...(main.url === null ? {} : { nodeUrl: main.url }),
    tokenId: main.tokenId,
    ...(main.tokenLabel === null ? {} : { tokenLabel: main.tokenLabel }),
    secured: feeds.some(({ secured }) => secured),
    ...known(reading),
    health: reading?.health ?? ('steady' as const),
    viewers,
    viewersByProtocol,
    mostViewers: Math.max(viewers, ...all.map(({ mostViewers }) => mostViewers)),
    bitrateOut,
    channel: null,
  }
}

/** Of this node as it is now, of other nodes as they wrote it a few seconds ago. */
function readingOf({ sessions, streamMeter }: SessionContext, feed: OnAirFeed): Read {
  const here = feed.node === sessions.node ? streamMeter.reading(feed.feedId) : undefined
  if (here) return { feed, reading: here, mostViewers: here.mostViewers }
  return { feed, reading: readStoredReading(feed.reading), mostViewers: feed.mostViewers }
}

/** Every feed of a node counts all viewers of the stream there, so each node counts once. */
function viewingOf(all: readonly Read[]): Pick<FeedReading, 'whep' | 'hls' | 'bitrateOut'> {
  const byNode = new Map(all.flatMap(({ feed, reading }) => (reading ? [[feed.node, reading]] : [])))
  const sum = { whep: 0, hls: 0, bitrateOut: 0 }
  for (const { whep, hls, bitrateOut } of byNode.values()) {
    sum.whep += whep
    sum.hls += hls
    sum.bitrateOut += bitrateOut
  }
  return sum
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
