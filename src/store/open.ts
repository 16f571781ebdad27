import { isPostgresUrl } from '../base/postgresUrl.ts'
import type { MigrationCopies } from './backup/migrationCopy.ts'
import type { StoreLog } from './log.ts'
import { StopTimeout } from './stopTimeout.ts'
import type { PostgresOptions } from './postgres/pool.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  /** The path of a SQLite file, or `postgres://…`. */
  url: string
  log: StoreLog
  /** Connections to PostgreSQL. */
  poolSize?: number
  /** Of the process, if it stops some day. */
  stopTimeout?: StopTimeout
  /** The backups of a SQLite file from before its migrations; absent: it makes none. */
  copies?: MigrationCopies
}

/**
 * Opens the store, creates what is missing, and migrates it to the schema of this version.
 * @throws StoreUnavailable when it cannot be opened
 * @throws UnusableDatabase when a newer version wrote it, or sources from before the first release
 * @throws NoMigrationCopy when no backup could be made before a migration
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { url, log, poolSize = 10, stopTimeout = new StopTimeout(), copies } = options
  const isServer = isPostgresUrl(url)
  const store = isServer ? await postgres(url, { poolSize, stopTimeout, log }) : await sqlite(url, copies)
  log.info({ engine: isServer ? 'postgres' : 'sqlite' }, 'the store is open')
  return store
}

// Loads only the driver in use, which saves the memory of the other.
async function postgres(url: string, options: PostgresOptions): Promise<Store> {
  const { openPostgres } = await import('./postgres/store.ts')
  return openPostgres(url, options)
}

async function sqlite(path: string, copies?: MigrationCopies): Promise<Store> {
  const { openSqlite } = await import('./sqlite/store.ts')
  if (copies === undefined || copies.keep === 0) return openSqlite(path)
  const { copyBeforeMigration } = await import('./backup/migrationCopy.ts')
  return openSqlite(path, () => copyBeforeMigration(path, copies))
}
