import type { TargetNews, TargetStatus } from '../../core/restream/state.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { WebhookEvent } from '../../core/webhooks/events.ts'
import type { RestreamedFeed, TargetReport } from '../../services/restreams.ts'
import type { EndedFeed, Tx } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'
import type { EmittedEvent, Occasion } from '../emit.ts'
import { emitStreamEvent, streamEventOf } from '../webhooks/emit.ts'

/** Changes of the targets of a feed that are kept. One that stays away makes four a minute. */
const KEPT_OF_FEED = 200

/**
 * Writes that a target got another status, and tells webhooks of it if it is news, in one transaction. When the end of the feed
 * is on record, so is that of its targets, and nothing more is written. Nothing is written twice either, so that a write whose
 * answer was lost may be repeated; and after a change that was lost each start still has one end.
 */
export function recordTarget(
  { store }: Pick<CommandContext, 'store'>,
  feed: RestreamedFeed,
  target: TargetReport,
  news: TargetNews | null,
): Promise<void> {
  const { feedId, accountId, streamName } = feed
  const { index, label, url, state } = target
  const atMs = state.sinceMs
  return store.transaction(async (tx) => {
    const open = await tx.feeds.lockOpen({ accountId, streamName })
    if (!open.some((one) => one.feedId === feedId)) return
    const before = (await tx.restreamEvents.unfinished([feedId])).find((one) => one.index === index)
    const isKept = before ? before.status === state.status && before.atMs === atMs : state.status === 'off'
    if (isKept) return
    const change = { index, label, url, status: state.status, problem: state.problem, atMs }
    await tx.restreamEvents.add({ feedId, accountId, streamName, ...change }, KEPT_OF_FEED)
    const told = newsAfter(before?.status === 'live', state.status, news)
    if (told !== null) await emitStreamEvent(tx, { accountId, atMs }, eventOf(feed, target, told))
  })
}

/** What is news, given whether the target is live on record: changes before may be lost. */
function newsAfter(wasLive: boolean, status: TargetStatus, news: TargetNews | null): TargetNews | null {
  if (status === 'live') return wasLive ? null : news
  if (!wasLive) return news === 'ended' ? null : news
  // Without news it is off where it has got another index.
  return news ?? (status === 'off' ? null : 'ended')
}

/**
 * Ends what is on record of the targets of feeds that end, in the transaction that ends the feeds. Returns the events to emit
 * there. A node that dies may leave thousands of targets.
 */
export async function endTargets(tx: Tx, feeds: readonly EndedFeed[]): Promise<(Occasion & EmittedEvent)[]> {
  const latest = await tx.restreamEvents.unfinished(feeds.map(({ feedId }) => feedId))
  if (latest.length === 0) return []
  const ofFeed = Map.groupBy(latest, ({ feedId }) => feedId)
  const ends = feeds.flatMap((feed) =>
    (ofFeed.get(feed.feedId) ?? []).map((target) => ({ feed, target, atMs: Math.max(feed.endedAtMs, target.atMs) })),
  )
  const off = ends.map(({ target: { id: _id, ...target }, atMs }) => {
    return { ...target, status: 'off' as const, problem: null, atMs }
  })
  await tx.restreamEvents.addAll(off, KEPT_OF_FEED)
  const live = ends.filter(({ target }) => target.status === 'live')
  return live.map(({ feed, target, atMs }) => {
    const event = streamEventOf({ type: 'restream', event: 'ended', data: dataOf(feed, target) })
    return { accountId: feed.accountId, atMs, ...event }
  })
}

function eventOf(feed: RestreamedFeed, target: TargetReport, news: TargetNews): WebhookEvent {
  const data = dataOf(feed, target)
  if (news !== 'error') return { type: 'restream', event: news, data }
  return { type: 'restream', event: 'error', data: { ...data, problem: target.state.problem?.message ?? '' } }
}

function dataOf(
  { feedId, accountId, streamName, tokenId }: RestreamedFeed,
  { index, label, url }: Pick<TargetReport, 'index' | 'label' | 'url'>,
) {
  return {
    feedId,
    accountId,
    name: streamName,
    streamId: streamIdOf({ accountId, streamName }),
    tokenId,
    index,
    label,
    url,
  }
}
