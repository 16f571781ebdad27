import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

/**
 * The state of an engine was called its life. On PostgreSQL a view keeps the old name for nodes of the previous version,
 * which are upgraded one after another; it can be written like a table. Processes on one SQLite file are upgraded together.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  await db.schema.alterTable('engine_lives').renameTo('engine_states').execute()
  if (dialect === 'postgres') await sql`create view engine_lives as select * from engine_states`.execute(db)
}
