import type { FeedNews } from '../../services/streamMeter.ts'
import type { Tx } from '../../store/store.ts'
import { emit } from '../emit.ts'
import { feedData } from '../sessions/close.ts'
import { streamEventOf } from '../webhooks/emit.ts'

/** Emits what is wrong with the media of feeds, or no longer, in the transaction that writes their readings. */
export function emitHealth(tx: Tx, news: readonly FeedNews[]): Promise<void> {
  const events = news.map(({ feed, priority, health, findings, cleared, withheld, atMs }) => {
    const about = { ...feedData({ ...feed, priority }), active: true }
    const more = withheld > 0 ? { withheld } : {}
    const data = { ...about, health, findings: [...findings], cleared: [...cleared], ...more }
    return { accountId: feed.accountId, atMs, ...streamEventOf({ type: 'feeds', event: 'health', data }) }
  })
  return emit(tx, ...events)
}
