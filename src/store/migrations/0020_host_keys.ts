import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

/**
 * The host key of a node was called its place. Nodes of the previous version have prepared statements that read all columns
 * of `nodes`, so on PostgreSQL that name and these columns stay, as a view that can be written like a table. Processes on
 * one SQLite file are upgraded together.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  await db.schema.alterTable('nodes').renameTo('serving_nodes').execute()
  await db.schema.alterTable('serving_nodes').renameColumn('place', 'host_key').execute()
  if (dialect === 'postgres') {
    await sql`create view nodes as
      select id, host_key as place, pid, seen_at_ms, alive_until_ms, url from serving_nodes`.execute(db)
  }
}
