import type { Kysely } from 'kysely'

/**
 * How often the decision of an access log row was repeated, and when last. Existing rows, and rows that nodes of the
 * version before still write, count once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('access_log')
    .addColumn('count', 'bigint', (column) => column.notNull().defaultTo(1))
    .execute()
  await db.schema.alterTable('access_log').addColumn('last_at_ms', 'bigint').execute()
}
