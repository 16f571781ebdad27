import type { TargetNews, TargetStatus } from '../../core/restream/state.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { WebhookEvent } from '../../core/webhooks/events.ts'
import type { RestreamedFeed, TargetReport } from '../../services/restreams.ts'
import type { EndedFeed, Tx } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

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
    const change = { index, label, url, status: state.status, problem: state.message, atMs }
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

/** Ends what is on record of the targets of feeds that end, with their events, in the transaction that ends the feeds. */
export async function endTargets(tx: Tx, feeds: readonly EndedFeed[]): Promise<void> {
  const ended = new Map(feeds.map((feed) => [feed.feedId, feed]))
  for (const { id: _id, ...latest } of await tx.restreamEvents.unfinished([...ended.keys()])) {
    const feed = ended.get(latest.feedId)
    if (feed === undefined) continue
    const atMs = Math.max(feed.endedAtMs, latest.atMs)
    await tx.restreamEvents.add({ ...latest, status: 'off', problem: null, atMs }, KEPT_OF_FEED)
    const { accountId } = feed
    if (latest.status === 'live')
      await emitStreamEvent(tx, { accountId, atMs }, { type: 'restream', event: 'ended', data: dataOf(feed, latest) })
  }
}

function eventOf(feed: RestreamedFeed, target: TargetReport, news: TargetNews): WebhookEvent {
  const data = dataOf(feed, target)
  if (news !== 'error') return { type: 'restream', event: news, data }
  return { type: 'restream', event: 'error', data: { ...data, problem: target.state.message ?? '' } }
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
