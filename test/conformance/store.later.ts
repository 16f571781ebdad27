import { type Kysely, sql } from 'kysely'
import { MIGRATIONS } from '../../src/store/migrations/migrate.ts'

/** The name of a migration after those of this version. It adds a table of the same name. */
export const LATER = '0099_later'

const addTable = (db: Kysely<unknown>) => sql`create table ${sql.table(LATER)} (id text)`.execute(db)

/** Makes this process one of the version with it. */
export function addLaterMigration(): void {
  MIGRATIONS.set(LATER, async (db) => {
    await addTable(db)
  })
}

/** The same with a migration that also adds a column to every table. */
export function addWideMigration(): void {
  MIGRATIONS.set(LATER, async (db) => {
    for (const { name } of await db.introspection.getTables())
      await sql`alter table ${sql.table(name)} add column added_later text`.execute(db)
    await addTable(db)
  })
}

export const removeLaterMigration = (): boolean => MIGRATIONS.delete(LATER)
