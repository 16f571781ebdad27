import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The events of channels, stored for receivers that have to catch up; the last probe of a paused webhook; and an index for
 * the log of a webhook by time: `ended_at_ms` stands in for skipped deliveries, which never started.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.table('channel_events', 'id text key, account_id text, at_ms big, type text, data text')
  await make.index('channel_events_account', 'channel_events', ['account_id', 'at_ms', 'id'])
  await make.index('channel_events_at', 'channel_events', ['at_ms'])
  const big = engine === 'postgres' ? 'bigint' : 'integer'
  await db.schema.alterTable('webhooks').addColumn('probed_at_ms', big).execute()
  await make.index('webhooks_paused', 'webhooks', ['disabled_until_ms'], 'disabled_until_ms is not null')
  await make.index('deliveries_waiting_for', 'deliveries', ['webhook_id', 'id'], "state = 'waiting'")
  await sql`create index deliveries_channel_log on deliveries (webhook_id, (coalesce(started_at_ms, ended_at_ms)), id)
    where type = 'live'`.execute(db)
}
