import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Sessions, feeds, the nodes that hold them, and usage. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.table('nodes', 'id text key, place text, pid big, seen_at_ms big, alive_until_ms big')
  await sessions(make)
  await feeds(make)
  await make.table('viewing', 'account_id text, stream_name text, attempt_at_ms big, viewed flag', [
    'account_id',
    'stream_name',
  ])
  await make.index('viewing_viewed', 'viewing', ['account_id', 'stream_name'], 'viewed = 1')
  await usage(make)
}

async function sessions(make: Maker): Promise<void> {
  await make.table(
    'sessions',
    `id text key, action text, protocol text, account_id text, stream_name text, source_id text null,
    token_id big null, jti text null, tracking_id text null, address text, origin text null, country text null,
    node text, feed_id text null, started_at_ms big, ended_at_ms big null, end_reason text null, kick text null,
    bytes_in big, bytes_out big`,
  )
  const open = 'ended_at_ms is null'
  await make.index('sessions_open', 'sessions', ['account_id', 'id'], open)
  await make.index('sessions_token', 'sessions', ['token_id', 'id'], open)
  await make.index('sessions_node', 'sessions', ['node'], open)
  // The viewers of a stream, and when the last one left.
  await make.index('sessions_stream', 'sessions', ['account_id', 'stream_name', 'action', 'ended_at_ms'])
  await make.index('sessions_ended', 'sessions', ['ended_at_ms'], 'ended_at_ms is not null')
}

async function feeds(make: Maker): Promise<void> {
  await make.table(
    'feeds',
    `id text key, session_id text, account_id text, stream_name text, source text, token_id big, secured flag,
    node text, started_at_ms big, ended_at_ms big null`,
  )
  const open = 'ended_at_ms is null'
  // One feed per source over all nodes.
  await make.unique('feeds_source', 'feeds', ['account_id', 'stream_name', 'source'], open)
  await make.index('feeds_session', 'feeds', ['session_id'], open)
  await make.index('feeds_node', 'feeds', ['node'], open)
  await make.index('feeds_stream', 'feeds', ['account_id', 'stream_name', 'ended_at_ms'])
  await make.index('feeds_ended', 'feeds', ['ended_at_ms'], 'ended_at_ms is not null')
}

/** Unknown values are empty or 0, because a key cannot contain null. */
async function usage(make: Maker): Promise<void> {
  await make.table(
    'usage_hourly',
    `account_id text, hour_ms big, stream_name text, protocol text, token_id big, tracking_id text, country text,
    bytes_in big, bytes_out big`,
    ['account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'],
  )
  await make.index('usage_tracking', 'usage_hourly', ['account_id', 'tracking_id', 'hour_ms'], "tracking_id <> ''")
  await make.index('usage_stream', 'usage_hourly', ['account_id', 'stream_name', 'hour_ms'])
}
