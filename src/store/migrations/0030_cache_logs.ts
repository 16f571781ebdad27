import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * Bytes that caches sent to viewers, from their logs: how far each log is counted, the bytes of each session, and the part
 * of each hour. Those of sessions have a table of their own, because nodes of the version before have prepared statements
 * that read all columns of `sessions`.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const maker = new Maker(db, engine)
  await maker.table('cache_logs', 'id text key, position big, counted_at_ms big')
  await maker.index('cache_logs_counted', 'cache_logs', ['counted_at_ms'])
  await maker.table('session_cache_bytes', 'session_id session key, bytes_out big')
  await db.schema
    .alterTable('usage_hourly')
    .addColumn('cache_bytes', sql`bigint`, (column) => column.notNull().defaultTo(0))
    .execute()
}
