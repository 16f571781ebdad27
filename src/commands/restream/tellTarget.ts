import type { TargetNews } from '../../core/restream/state.ts'
import type { WebhookEvent } from '../../core/webhooks/events.ts'
import type { RestreamedFeed, TargetReport } from '../../services/restreams.ts'
import type { CommandContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

/** Tells webhooks what became of a target. */
export function tellTarget(
  { store, clock }: Pick<CommandContext, 'store' | 'clock'>,
  feed: RestreamedFeed,
  target: TargetReport,
  news: TargetNews,
): Promise<void> {
  const on = { accountId: feed.accountId, atMs: clock.now() }
  return store.transaction((tx) => emitStreamEvent(tx, on, eventOf(feed, target, news)))
}

function eventOf(feed: RestreamedFeed, target: TargetReport, news: TargetNews): WebhookEvent {
  const { feedId, accountId, streamName, tokenId } = feed
  const { index, label, url, state } = target
  const streamId = `${accountId}/${streamName}`
  const data = { feedId, accountId, name: streamName, streamId, tokenId, index, label, url }
  if (news !== 'error') return { type: 'restream', event: news, data }
  return { type: 'restream', event: 'error', data: { ...data, problem: state.message ?? '' } }
}
