import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../base/files.ts'
import { err, type Result } from '../../base/result.ts'
import { MIGRATIONS } from '../migrations/migrate.ts'
import { makeBackup, sqliteSource } from './make.ts'
import { onSqlite, schemaOf } from './sqlite.ts'

/** The database was not migrated, because no backup of it could be made. */
export class NoMigrationCopy extends Error {
  override readonly name = 'NoMigrationCopy'
}

/** The backups from before migrations. */
export interface MigrationCopies {
  /** The most that are kept; 0 makes none. */
  readonly keep: number
  /** The version of Sluice that migrates. */
  readonly version: string
}

const NAME = /^before-.*\.tar$/
/** What a killed process left of one. The lock lets only one process write here. */
const UNFINISHED = /^before-.*\.partial-/

/** The directory of the backups that Sluice makes by itself. */
export const backupsFolder = (database: string): string => join(dirname(database), 'backups')

/**
 * Makes a backup of a database that is about to be migrated, and keeps the last of them. A new database, and one
 * that is up to date, get none. The caller holds the lock for writing.
 * @throws NoMigrationCopy
 */
export async function copyBeforeMigration(database: string, { keep, version }: MigrationCopies): Promise<void> {
  const schema = onSqlite(database, { readOnly: true }, schemaOf)
  const pending = [...MIGRATIONS.keys()].filter((name) => !schema.includes(name))
  if (schema.length === 0 || pending.length === 0) return
  const folder = backupsFolder(database)
  const made = await makeCopy(database, folder, pending[0] ?? '', version).catch((error: Error) => err(error.message))
  if (made.ok) return removeMatching(folder, NAME, keep)
  throw new NoMigrationCopy(
    `The database was not migrated, because no backup of it could be made first: ${made.error}. ` +
      'To migrate without one, set storage.migrationCopies to 0.',
  )
}

async function makeCopy(
  database: string,
  folder: string,
  migration: string,
  version: string,
): Promise<Result<unknown, string>> {
  makeFolder(folder)
  await removeMatching(folder, UNFINISHED, 0)
  const nowMs = Date.now()
  const request = {
    file: join(folder, nameOf(migration, nowMs)),
    version,
    nowMs,
    secrets: { keys: [], authority: null },
  }
  const made = await makeBackup(request, await sqliteSource(database))
  return made.ok ? made : err(made.error.message)
}

/** Sorts by time. */
const nameOf = (migration: string, nowMs: number): string =>
  `before-${new Date(nowMs).toISOString().replaceAll(/[-:]/g, '')}-${migration}.tar`

/** Removes all but the last `keep`. */
async function removeMatching(folder: string, pattern: RegExp, keep: number): Promise<void> {
  const found = (await readdir(folder)).filter((name) => pattern.test(name)).toSorted()
  for (const name of found.slice(0, Math.max(0, found.length - keep))) await rm(join(folder, name), { force: true })
}
