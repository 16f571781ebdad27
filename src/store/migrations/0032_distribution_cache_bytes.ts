import { type Kysely, sql } from 'kysely'

/** How many of the bytes for viewers of distributions were sent by caches, by their logs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('distribution_bytes')
    .addColumn('cache_bytes', sql`bigint`, (column) => column.notNull().defaultTo(0))
    .execute()
}
