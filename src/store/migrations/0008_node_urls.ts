import type { Kysely } from 'kysely'

/** The address of a node for clients. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nodes').addColumn('url', 'text').execute()
}
