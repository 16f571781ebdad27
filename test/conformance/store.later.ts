import { sql } from 'kysely'
import { MIGRATIONS } from '../../src/store/migrations/migrate.ts'

/** The name of a migration after those of this version. It adds a table of the same name. */
export const LATER = '0099_later'

/** Makes this process one of the version with it. */
export function addLaterMigration(): void {
  MIGRATIONS.set(LATER, async (db) => {
    await sql`create table "0099_later" (id text)`.execute(db)
  })
}

export const removeLaterMigration = (): boolean => MIGRATIONS.delete(LATER)
