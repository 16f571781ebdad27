import type { Kysely } from 'kysely'

/**
 * How often what a row of the access log says has happened, and when it last did. What is there already, and what nodes of
 * the version before still write, has happened once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('access_log')
    .addColumn('count', 'bigint', (column) => column.notNull().defaultTo(1))
    .execute()
  await db.schema.alterTable('access_log').addColumn('last_at_ms', 'bigint').execute()
}
