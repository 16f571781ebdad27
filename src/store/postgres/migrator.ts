import { Kysely, PostgresDialect } from 'kysely'
import { Pool, type PoolClient } from 'pg'
import { migrate, UnusableDatabase } from '../migrations/migrate.ts'
import { type ServerLimits, StoreClient } from './client.ts'
import { SharedSessions, translatePostgresError } from './errors.ts'
import type { Hosts } from './hosts.ts'
import { clientOf, OPENING_MS } from './pool.ts'

/** While a migration waits for a table that a client has locked, as `pg_dump` does, the statements of other nodes wait behind it. */
const LIMITS: ServerLimits = { lock_timeout: 3_000 }

/**
 * Migrates the database to the current schema. Kysely holds an advisory lock, so other nodes wait, up to an hour.
 * @throws UnusableDatabase, StoreUnavailable
 */
export async function migrateDatabase(hosts: Hosts): Promise<void> {
  try {
    await hosts.each(() => migrateHost(hosts))
  } catch (error) {
    throw error instanceof UnusableDatabase ? error : translatePostgresError(error)
  }
}

async function migrateHost(hosts: Hosts): Promise<void> {
  const pool = new Pool({ Client: clientOf({ hosts, openingMs: OPENING_MS, limits: LIMITS }), max: 2 })
  pool.on('error', () => undefined)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    await refuseSharedSessions(pool)
    await refuseEncoding(pool)
    await migrate(db, 'postgres')
  } finally {
    await db.destroy()
  }
}

/**
 * PgBouncer in transaction mode gives the session that one connection has just used to the next one that asks. In session
 * mode a connection has its session for as long as it is open.
 * @throws SharedSessions
 */
async function refuseSharedSessions(pool: Pool): Promise<void> {
  const first = await pool.connect()
  try {
    if (!(first instanceof StoreClient) || !first.isPooled) return
    const second = await pool.connect()
    const isShared = (await pidOf(second)) === (await pidOf(first)) || (await pidOf(first)) !== first.serverPid
    second.release()
    if (isShared) throw new SharedSessions()
  } finally {
    first.release()
  }
}

/**
 * Names and labels may have any character, which other encodings refuse later, one by one. `createdb` takes that of the locale.
 * @throws UnusableDatabase
 */
async function refuseEncoding(pool: Pool): Promise<void> {
  const question =
    'select pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()'
  const { rows } = await pool.query<{ encoding: string }>(question)
  const encoding = rows[0]?.encoding
  if (encoding === 'UTF8') return
  const remedy = 'make it again with `createdb --encoding=UTF8 --template=template0`'
  throw new UnusableDatabase(`The database has the encoding ${encoding}, and Sluice needs UTF8: ${remedy}.`)
}

async function pidOf(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}
