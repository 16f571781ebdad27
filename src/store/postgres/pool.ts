import { type CustomTypesConfig, Pool, type PoolClient, type PoolConfig, TypeOverrides } from 'pg'
import type { StoreLog } from '../log.ts'
import type { StopTimeout } from '../stopTimeout.ts'
import { type ClientSettings, type ServerLimits, StoreClient } from './client.ts'
import { StoreUnavailable } from '../store.ts'
import { StaleConnections, Unreachable, unopened } from './errors.ts'
import type { Hosts } from './hosts.ts'
import { PoolTurns } from './poolTurns.ts'

export interface PostgresOptions {
  readonly poolSize: number
  /** Of the process: when it stops, connections end with it. */
  readonly stopTimeout: StopTimeout
  readonly log: StoreLog
}

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

/** Limits every wait: for the opening of a connection, an answer, and on the server for a lock, a statement and an idle transaction. */
export const OPENING_MS = 5_000
const IDLE_TIMEOUT_MS = 30_000
const ANSWER_MS = 15_000
const LIMITS: ServerLimits = {
  lock_timeout: 5_000,
  statement_timeout: 10_000,
  idle_in_transaction_session_timeout: 10_000,
}

const givenUp = (): Unreachable => new Unreachable('the database server gave no answer, and was given up')

/** A pool that knows how many of its connections are in use, and that replaces all of them after a failover. */
export class StorePool extends Pool {
  readonly #hosts: Hosts
  readonly #stopTimeout: StopTimeout
  readonly #turns: PoolTurns
  /** With what notes the end of the wait for each. */
  readonly #lent = new Map<PoolClient, (isAnswered: boolean) => void>()
  /** Connections that may be lent; one that is open but not here is closed instead. */
  readonly #current = new Set<PoolClient>()

  constructor(hosts: Hosts, config: PoolConfig, stopTimeout: StopTimeout) {
    super(config)
    this.#hosts = hosts
    this.#stopTimeout = stopTimeout
    this.#turns = new PoolTurns(this.size)
    stopTimeout.givenUp.addEventListener('abort', () => this.#turns.refuseAll(givenUp()))
    this.on('connect', (client) => this.#current.add(client))
    this.on('remove', (client) => this.#current.delete(client))
    this.on('acquire', (client) => this.#lent.set(client, stopTimeout.wait()))
    this.on('release', (failed: unknown, client) => {
      this.#lent.get(client)?.(!failed)
      this.#lent.delete(client)
    })
  }

  /** Open connections that run a query or a transaction. One that is still being opened, or being closed, is not in use. */
  get inUse(): number {
    return this.#lent.size
  }

  get size(): number {
    return this.options.max
  }

  /** Lends a connection. `giveBack` returns it. @param isFirst before all who wait for one @throws StoreUnavailable */
  async lend(isFirst = false): Promise<PoolClient> {
    if (this.#stopTimeout.givenUp.aborted) throw givenUp()
    try {
      await this.#turns.take(isFirst)
      return await this.#lendInTurn()
    } catch (error) {
      throw unopened(error, this)
    }
  }

  /** @param error why its work failed; @param isBroken close it, whatever the error was */
  giveBack(client: PoolClient, error?: unknown, isBroken = false): void {
    if (error instanceof StaleConnections && this.#current.has(client)) this.#replaceAll()
    client.release(isBroken || !this.#current.has(client))
    this.#turns.giveBack()
  }

  /** Resolves when all connections are closed. An open one would keep the process. */
  async close(): Promise<void> {
    const over = this.#stopTimeout.wait()
    this.#turns.refuseAll(new StoreUnavailable('the store is closed'))
    await this.end()
    while (this.#current.size > 0) await new Promise<void>((resolve) => this.once('remove', () => resolve()))
    over(true)
  }

  async #lendInTurn(): Promise<PoolClient> {
    try {
      return await this.#hosts.each(() => this.#lendCurrent())
    } catch (error) {
      this.#turns.giveBack()
      throw error
    }
  }

  async #lendCurrent(): Promise<PoolClient> {
    for (;;) {
      const client = await this.connect()
      if (this.#current.has(client)) return client
      client.release(true)
    }
  }

  /** Closes idle connections now, and those in use when they are given back. */
  #replaceAll(): void {
    for (const client of this.#current) if (!this.#lent.has(client)) void client.end().catch(() => undefined)
    this.#current.clear()
  }
}

export function createPool(hosts: Hosts, { stopTimeout, poolSize: max, log }: PostgresOptions): StorePool {
  const settings = { hosts, stopTimeout, openingMs: OPENING_MS, answerMs: ANSWER_MS }
  const Client = clientOf({ ...settings, limits: LIMITS, types: types() })
  const config = { Client, max, idleTimeoutMillis: IDLE_TIMEOUT_MS }
  const pool = new StorePool(hosts, config, stopTimeout)
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'))
  return pool
}

/** The class of a pool's connections: a pool makes them without arguments of ours. */
export const clientOf = (settings: ClientSettings): (new () => StoreClient) =>
  class extends StoreClient {
    constructor() {
      super(settings)
    }
  }
