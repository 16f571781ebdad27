import type { StoreLog } from '../log.ts'
import type { StopTimeout } from '../stopTimeout.ts'
import type { Executor } from '../executor.ts'
import { CHANNEL } from '../tables/changes.ts'
import { StoreClient } from './client.ts'
import type { Hosts } from './hosts.ts'
import { OPENING_MS, type PostgresOptions, types } from './pool.ts'
import { PgExecutor } from './session.ts'

const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

/** After this time without an answer the listener replaces the connection. */
const ANSWER_MS = 5_000

/**
 * Listens for commits of other nodes on a connection of its own, and also reads the changes on it, so that a busy pool
 * delays neither. Reconnects by itself, and then rings once, because notifications in between are lost.
 */
export class Listener {
  readonly #hosts: Hosts
  readonly #stopTimeout: StopTimeout
  readonly #ring: (kind?: string) => void
  readonly #log: StoreLog
  #client: StoreClient | undefined
  /** The client once it listens. */
  #ready: StoreClient | undefined
  #timer: NodeJS.Timeout | undefined
  #retryMs = FIRST_RETRY_MS
  #isLost = false
  #closed = false

  /** @param ring called with the kind of a change; without one when any may have been missed */
  constructor(
    hosts: Hosts,
    { stopTimeout, log }: Pick<PostgresOptions, 'stopTimeout' | 'log'>,
    ring: (kind?: string) => void,
  ) {
    this.#hosts = hosts
    this.#stopTimeout = stopTimeout
    this.#ring = ring
    this.#log = log
  }

  /** Starts listening; retries while the server is unreachable. */
  async start(): Promise<void> {
    const client = new StoreClient({
      hosts: this.#hosts,
      stopTimeout: this.#stopTimeout,
      openingMs: OPENING_MS,
      answerMs: ANSWER_MS,
      types: types(),
    })
    this.#client = client
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ payload }) => this.#ring(payload))
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.#retryMs = FIRST_RETRY_MS
      this.#ready = client
      if (this.#isLost) this.#log.info({}, 'the database tells of changes again')
      this.#isLost = false
      this.#ring()
    } catch (error) {
      this.#lost(client, error)
    }
  }

  /** Runs `work` on the connection; undefined while there is none. */
  async ask<T>(work: (executor: Executor) => Promise<T>): Promise<T | undefined> {
    const client = this.#ready
    if (!client) return undefined
    try {
      return await work(new PgExecutor(client))
    } catch (error) {
      this.#lost(client, error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    const over = this.#stopTimeout.wait()
    await this.#client?.end().catch(() => undefined)
    over(true)
  }

  /** Logs the first loss, and not each attempt while the server is away. */
  #lost(client: StoreClient, error?: unknown): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.#ready = undefined
    client.end().catch(() => undefined)
    if (!this.#isLost)
      this.#log.warn({ err: error }, 'the connection that listens for changes was lost; polling meanwhile')
    this.#isLost = true
    this.#timer = setTimeout(() => void this.start(), this.#retryMs).unref()
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS)
  }
}
