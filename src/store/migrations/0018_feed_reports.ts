import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What nodes measure of their feeds, viewers and bytes by minute, and indexes of what needs attention. Nodes of the version
 * before measure nothing: their feeds have no report, and their minutes are missing. The reports are a table of their own,
 * because those nodes have prepared statements that read all columns of `feeds`. The database deletes a report with its
 * feed, because those nodes delete feeds too.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  const make = new Maker(db, dialect)
  await make.table('feed_reports', 'feed_id feed, reading text null, most_viewers big, bytes_out big', ['feed_id'])
  await make.index('feeds_broadcasts', 'feeds', ['account_id', 'ended_at_ms', 'id'], 'ended_at_ms is not null')
  const key = ['account_id', 'minute_ms', 'node']
  await make.table(
    'account_minutes',
    'account_id text, minute_ms big, node text, viewers big, bytes_in big, bytes_out big',
    key,
  )
  await make.index('account_minutes_old', 'account_minutes', ['minute_ms'])
  await make.index('tokens_expiring', 'tokens', ['account_id', 'expires_at_ms'], 'expires_at_ms is not null')
  const named = "(allowed_countries <> '[]' or denied_countries <> '[]')"
  await make.index('tokens_countries', 'tokens', ['account_id'], named)
}
