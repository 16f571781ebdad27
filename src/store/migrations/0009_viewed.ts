import type { Kysely } from 'kysely'

/** The duration of served media, beside the bytes; unknown for rows from before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('distribution_bytes')
    .addColumn('viewed_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
}
