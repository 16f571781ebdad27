import { type Kysely, sql } from 'kysely'

/** Whether the expiry of a token ends its sessions. Nodes of the version before leave it as it is. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tokens')
    .addColumn('end_at_expiry', sql`smallint`, (column) => column.notNull().defaultTo(0))
    .execute()
}
