import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { runScoped } from '../scoped.ts'
import type { Executor } from '../executor.ts'
import { StoreUnavailable } from '../store.ts'
import type { SqliteConnection } from './connection.ts'
import { isBusy } from './errors.ts'

type Work = (executor: Executor) => Promise<unknown>
type Outcome = { ok: true; value: unknown } | { ok: false; error: unknown }

interface Job {
  work: Work
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** The most transactions that share one commit. A larger group saves little (a 128th of a sync each) and waits longer. */
const GROUP_MAX = 128
const QUEUE_MAX = 10_000
/** How long to wait, without blocking, while another process writes. */
const BUSY_WAIT_MS = 5_000
const BUSY_RETRY_MS = 5

/**
 * Group commit: transactions that wait at the same time run one after another, each in its own savepoint, and share one
 * commit. The sync of a commit costs more than the writes, so this multiplies throughput under load.
 */
export class CommitQueue {
  readonly #writer: SqliteConnection
  #waiting: Job[] = []
  #flushing: Promise<void> | undefined
  #closed = false

  constructor(writer: SqliteConnection) {
    this.#writer = writer
  }

  add<T>(work: (executor: Executor) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#waiting.length >= QUEUE_MAX) return Promise.reject(new StoreUnavailable('too many writes are waiting'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject })
      this.#flushing ??= this.#flush()
    })
  }

  /** Commits the queued transactions; refuses later ones. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#flushing
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      // One turn of the event loop, in which further transactions join the group.
      await nextTurn()
      const group = this.#waiting.splice(0, GROUP_MAX)
      await this.#commitGroup(group)
    }
    this.#flushing = undefined
  }

  async #commitGroup(group: Job[]): Promise<void> {
    try {
      await this.#begin()
      const outcomes = await this.#runAll(group)
      this.#writer.runSync('commit')
      for (const [at, job] of group.entries()) settle(job, outcomes[at])
    } catch (error) {
      this.#rollback()
      for (const job of group) job.reject(error)
    }
  }

  /** The connection itself hardly waits, because that would block the whole process. */
  async #begin(): Promise<void> {
    const giveUpAt = performance.now() + BUSY_WAIT_MS
    for (;;) {
      try {
        this.#writer.runSync('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error
        await sleep(BUSY_RETRY_MS)
      }
    }
  }

  async #runAll(group: Job[]): Promise<Outcome[]> {
    const [only] = group
    if (only && group.length === 1) return [{ ok: true, value: await runScoped(this.#writer, only.work) }]
    const outcomes: Outcome[] = []
    for (const job of group) outcomes.push(await this.#runInSavepoint(job.work))
    return outcomes
  }

  /** @throws an error that ends the whole group: the database failed, and may have rolled back the others */
  async #runInSavepoint(work: Work): Promise<Outcome> {
    this.#writer.runSync('savepoint work')
    try {
      const value = await runScoped(this.#writer, work)
      this.#writer.runSync('release work')
      return { ok: true, value }
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      if (!this.#writer.inTransaction) throw new StoreUnavailable('SQLite gave up the transaction', { cause: error })
      this.#writer.runSync('rollback to work')
      this.#writer.runSync('release work')
      return { ok: false, error }
    }
  }

  #rollback(): void {
    try {
      if (this.#writer.inTransaction) this.#writer.runSync('rollback')
    } catch {
      // The next `begin immediate` reports the problem with the connection.
    }
  }
}

function settle(job: Job, outcome: Outcome | undefined): void {
  if (outcome?.ok) job.resolve(outcome.value)
  else job.reject(outcome?.error)
}
