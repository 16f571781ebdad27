import { type CustomTypesConfig, Pool, type PoolConfig, TypeOverrides } from 'pg'
import type { StoreLog } from '../log.ts'

/** Object identifiers of the types for which Sluice replaces the parser of `pg`. */
const INT8 = 20
const BYTEA = 17

/** Reads bigint as number (ids and milliseconds stay far below 2^53) and bytea as plain bytes; for these connections only. */
export function types(): CustomTypesConfig {
  const overrides = new TypeOverrides()
  overrides.setTypeParser(INT8, Number)
  overrides.setTypeParser(BYTEA, (text: string) => new Uint8Array(Buffer.from(text.slice(2), 'hex')))
  return overrides
}

/** Limits every wait: for a connection, a lock, a statement, an answer, and an idle transaction. */
const LIMITS = {
  connectionTimeoutMillis: 5_000,
  lock_timeout: 5_000,
  statement_timeout: 10_000,
  query_timeout: 15_000,
  idle_in_transaction_session_timeout: 10_000,
  idleTimeoutMillis: 30_000,
} as const

/** A pool that knows how many of its connections are in use. */
export class StorePool extends Pool {
  #inUse = 0

  constructor(config: PoolConfig) {
    super(config)
    this.on('acquire', () => (this.#inUse += 1))
    this.on('release', () => (this.#inUse -= 1))
  }

  /** Open connections that run a query or a transaction. One that is still being opened, or being closed, is not in use. */
  get inUse(): number {
    return this.#inUse
  }

  get size(): number {
    return this.options.max
  }
}

export function createPool(url: string, size: number, log: StoreLog): StorePool {
  const pool = new StorePool({ connectionString: url, max: size, keepAlive: true, types: types(), ...LIMITS })
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'))
  // A connection that breaks while it is lent out also rejects its query; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
