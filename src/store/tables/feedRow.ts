import type { Kysely } from 'kysely'
import type { StoredFeed } from '../store.ts'
import type { DB, RowOf } from '../schema.ts'

/** The columns of a feed without what is measured of it, which is large. */
export const FEED_COLUMNS = [
  'feeds.id',
  'feeds.session_id',
  'feeds.account_id',
  'feeds.stream_name',
  'feeds.source',
  'feeds.token_id',
  'feeds.secured',
  'feeds.priority',
  'feeds.record_switch',
  'feeds.regions',
  'feeds.node',
  'feeds.started_at_ms',
  'feeds.ended_at_ms',
] as const

export type FeedRow = Omit<RowOf<'feeds'>, 'reading' | 'most_viewers' | 'bytes_out'>

export const feedFromRow = (row: FeedRow): StoredFeed => ({
  feedId: row.id,
  sessionId: row.session_id,
  accountId: row.account_id,
  streamName: row.stream_name,
  sourceId: row.source === '' ? null : row.source,
  tokenId: row.token_id,
  secured: row.secured === 1,
  priority: row.priority,
  recordSwitch: row.record_switch === null ? null : row.record_switch === 1,
  regions: row.regions === null ? null : (JSON.parse(row.regions) as string[]),
  node: row.node,
  startedAtMs: row.started_at_ms,
})

/** Feeds, each with its token and the session of its publisher while they are on record. */
export const feedsWithOrigin = (db: Kysely<DB>) =>
  db
    .selectFrom('feeds')
    .leftJoin('tokens', (join) =>
      join.onRef('tokens.id', '=', 'feeds.token_id').onRef('tokens.account_id', '=', 'feeds.account_id'),
    )
    .leftJoin('sessions', 'sessions.id', 'feeds.session_id')
    .select(FEED_COLUMNS)
