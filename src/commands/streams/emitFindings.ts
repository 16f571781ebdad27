import type { FeedNews } from '../../services/streamMeter.ts'
import type { Tx } from '../../store/store.ts'
import { emit } from '../emit.ts'
import { feedData } from '../sessions/close.ts'
import { streamEventOf } from '../webhooks/emit.ts'

/** Emits what is wrong with the media of feeds, or no longer, in the transaction that writes their readings. */
export function emitFindings(tx: Tx, news: readonly FeedNews[]): Promise<void> {
  const events = news.map(({ feed, priority, findings, cleared, withheld, atMs }) => {
    const about = { ...feedData({ ...feed, priority }), active: true }
    const data = { ...about, findings: [...findings], cleared: [...cleared], ...(withheld > 0 ? { withheld } : {}) }
    return { accountId: feed.accountId, atMs, ...streamEventOf({ type: 'feeds', event: 'health', data }) }
  })
  return emit(tx, ...events)
}
