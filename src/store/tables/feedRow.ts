import type { Selectable } from 'kysely'
import type { FeedTable } from '../schema.ts'
import type { StoredFeed } from '../store.ts'

export const feedFromRow = (row: Selectable<FeedTable>): StoredFeed => ({
  feedId: row.id,
  sessionId: row.session_id,
  accountId: row.account_id,
  streamName: row.stream_name,
  sourceId: row.source === '' ? null : row.source,
  tokenId: row.token_id,
  secured: row.secured === 1,
  node: row.node,
  startedAtMs: row.started_at_ms,
})
