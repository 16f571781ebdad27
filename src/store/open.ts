import type { StoreLog } from './log.ts'
import { openPostgres } from './postgres/store.ts'
import { openSqlite } from './sqlite/store.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  /** The path of a SQLite file, or `postgres://…`. */
  url: string
  log: StoreLog
  /** Connections to PostgreSQL. */
  poolSize?: number
}

/**
 * Opens the store, makes what is missing, and brings it to the schema of this code.
 * @throws StoreUnavailable when it cannot be opened
 * @throws DatabaseTooNew when a newer version wrote it
 */
export async function openStore({ url, log, poolSize = 10 }: StoreOptions): Promise<Store> {
  const isServer = /^postgres(ql)?:\/\//.test(url)
  const store = isServer ? await openPostgres(url, poolSize, log) : await openSqlite(url)
  log.info({ engine: isServer ? 'postgres' : 'sqlite' }, 'the store is open')
  return store
}
