import type { Kysely } from 'kysely'

/** Where clients reach a node. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nodes').addColumn('url', 'text').execute()
}
