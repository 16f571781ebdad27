import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { DialectName } from '../executor.ts'
import * as schema from './0001_schema.ts'

type Up = (db: Kysely<unknown>, dialect: DialectName) => Promise<void>

/** The schema of the first release. No earlier sources gave theirs this name. */
const FIRST = '0001_schema_0_1_0'

/** Every migration by its name, in order. They only go forward; a released one is never edited. */
export const MIGRATIONS = new Map<string, Up>([[FIRST, schema.up]])

/** Why no version opens a database from before the first release, and what to do. Null: it is from later. */
export function problemBeforeRelease(schema: readonly string[]): string | null {
  const first = schema.find((name) => name.startsWith('0001_') && name !== FIRST)
  if (first === undefined) return null
  return (
    `is from before the first release of Sluice, 0.1.0 (its first migration is ${first}). ` +
    // Without the name of the program, which would be taken for the one of this version.
    'Run `provision export FILE` of the sources that made it, which writes its tokens, webhooks and channels. ' +
    'Then start this version with an empty data directory or database, and run `sluice provision apply` with the file'
  )
}

/** This version cannot use the database. The message says why, and what to do. */
export class UnusableDatabase extends Error {}

/** The database was written by a newer version of this program. */
export class DatabaseTooNew extends UnusableDatabase {
  override readonly name = 'DatabaseTooNew'
}

/** The database is from before the first release. */
export class DatabaseTooOld extends UnusableDatabase {
  override readonly name = 'DatabaseTooOld'
}

/**
 * Migrates the database to the schema of this version, in one transaction. Any number of processes may call it at once:
 * one migrates, the others wait and find nothing to do.
 * @throws DatabaseTooNew when the database has a migration of a newer version
 * @throws DatabaseTooOld when it is from before the first release
 */
export async function migrate(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  const found = await namesOf(db, dialect)
  refuseOthers(found)
  // What follows reads the columns of all tables, and locks, which each command and each start would pay for.
  if (found.length === MIGRATIONS.size) return
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations(dialect)) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function migrations(dialect: DialectName): Record<string, Migration> {
  return Object.fromEntries(
    [...MIGRATIONS].map(([name, up]) => [name, { up: (db: Kysely<unknown>) => up(db, dialect) }]),
  )
}

/** The table in which Kysely notes what has run, if there is one. */
const NOTES = {
  sqlite: sql`select name from sqlite_master where type = 'table' and name = 'kysely_migration'`,
  postgres: sql`select 1 as name where to_regclass('kysely_migration') is not null`,
} as const satisfies Record<DialectName, unknown>

/** The migrations that the database has. */
async function namesOf(db: Kysely<unknown>, dialect: DialectName): Promise<string[]> {
  const notes = await NOTES[dialect].execute(db)
  if (notes.rows.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map(({ name }) => name)
}

function refuseOthers(found: readonly string[]): void {
  const problem = problemBeforeRelease(found)
  if (problem !== null) throw new DatabaseTooOld(`The database ${problem}.`)
  const unknown = found.filter((name) => !MIGRATIONS.has(name))
  if (unknown.length > 0) {
    throw new DatabaseTooNew(
      `The database was written by a newer version (it has ${unknown.join(', ')}). Start that version, or restore a backup made before the upgrade.`,
    )
  }
}
