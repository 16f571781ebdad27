import type { Kysely } from 'kysely'

/** The seconds of media that were served, beside the bytes. Of what was served before nobody knows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('distribution_bytes')
    .addColumn('viewed_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
}
