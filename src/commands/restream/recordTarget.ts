import type { TargetNews } from '../../core/restream/state.ts'
import type { WebhookEvent } from '../../core/webhooks/events.ts'
import type { RestreamedFeed, TargetReport } from '../../services/restreams.ts'
import type { CommandContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

/** Changes of the targets of a feed that are kept. One that stays away makes four a minute. */
const KEPT_OF_FEED = 200

/** Writes that a target got another status, and tells webhooks of it if it is news, in one transaction. */
export function recordTarget(
  { store, clock }: Pick<CommandContext, 'store' | 'clock'>,
  feed: RestreamedFeed,
  target: TargetReport,
  news: TargetNews | null,
): Promise<void> {
  const { feedId, accountId, streamName } = feed
  const { index, label, url, state } = target
  const change = { index, label, url, status: state.status, problem: state.message, atMs: state.sinceMs }
  return store.transaction(async (tx) => {
    await tx.restreamEvents.add({ feedId, accountId, streamName, ...change }, KEPT_OF_FEED)
    if (news === null) return
    await emitStreamEvent(tx, { accountId, atMs: clock.now() }, eventOf(feed, target, news))
  })
}

function eventOf(feed: RestreamedFeed, target: TargetReport, news: TargetNews): WebhookEvent {
  const { feedId, accountId, streamName, tokenId } = feed
  const { index, label, url, state } = target
  const streamId = `${accountId}/${streamName}`
  const data = { feedId, accountId, name: streamName, streamId, tokenId, index, label, url }
  if (news !== 'error') return { type: 'restream', event: news, data }
  return { type: 'restream', event: 'error', data: { ...data, problem: state.message ?? '' } }
}
