import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * Served bytes by the quarter of an hour, the smallest difference between time zones, and by channel, so that those of a
 * deleted distribution still count for its channel. Also indexes to find rows past their retention, and running engines.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  const table = 'distribution_bytes'
  await db.schema.alterTable(table).renameColumn('hour_ms', 'slot_ms').execute()
  await db.schema
    .alterTable(table)
    .addColumn('channel_id', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await sql`update distribution_bytes set channel_id = coalesce(
    (select channel_id from distributions where distributions.id = distribution_bytes.distribution_id), '')`.execute(db)
  await db.schema.dropIndex('distribution_bytes_account').execute()
  await make.index('distribution_bytes_channel', table, ['channel_id', 'slot_ms'])
  await make.index('distribution_bytes_slot', table, ['slot_ms'])
  await make.index('runs_ended', 'runs', ['ended_at_ms'], 'ended_at_ms is not null')
  await make.index('scheduler_skips_at', 'scheduler_skips', ['at_ms'])
  // Searched every second, among the states of all engines that ever ran.
  await make.index('engine_lives_wanted', 'engine_lives', ['wanted'])
  await make.index('engine_lives_node', 'engine_lives', ['node'])
}
