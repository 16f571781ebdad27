import type { PoolClient } from 'pg'
import { runScoped } from '../scoped.ts'
import type { Executor } from '../executor.ts'
import { CommitLost, OutdatedPlan, Retry, translatePostgresError, Unreachable } from './errors.ts'
import type { StorePool } from './pool.ts'
import { PgExecutor } from './session.ts'

const RETRIES = 3

/** Runs work in a transaction on a pooled connection, and retries when the server asks for it. */
export class Transactions {
  readonly #pool: StorePool

  constructor(pool: StorePool) {
    this.#pool = pool
  }

  /** @param isFirst before all who wait for a connection */
  async run<T>(work: (executor: Executor) => Promise<T>, isFirst = false): Promise<T> {
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#once(work, isFirst)
      } catch (error) {
        const mayRetry = error instanceof Retry || error instanceof OutdatedPlan
        if (!mayRetry || retries === RETRIES) throw error
      }
    }
  }

  /** Rethrows errors of `work` unchanged; the executor has translated those of its statements. */
  async #once<T>(work: (executor: Executor) => Promise<T>, isFirst: boolean): Promise<T> {
    const client = await this.#pool.lend(isFirst)
    try {
      await control(client, 'begin')
      const value = await runScoped(new PgExecutor(client), work)
      await commit(client)
      this.#pool.giveBack(client)
      return value
    } catch (error) {
      // A server that gave no answer would give this one none either.
      const isBroken = error instanceof Unreachable || !(await rollback(client))
      this.#pool.giveBack(client, error, isBroken)
      throw error
    }
  }
}

async function control(client: PoolClient, command: 'begin' | 'commit'): Promise<void> {
  try {
    await client.query(command)
  } catch (error) {
    throw translatePostgresError(error)
  }
}

const commit = (client: PoolClient): Promise<void> =>
  control(client, 'commit').catch((error: unknown) => {
    throw error instanceof Unreachable ? new CommitLost(error.message, { cause: error.cause }) : error
  })

/** False: the connection cannot be used any more. */
const rollback = (client: PoolClient): Promise<boolean> =>
  client.query('rollback').then(
    () => true,
    () => false,
  )
