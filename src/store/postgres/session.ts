import type { ClientBase } from 'pg'
import { postgresDialect } from '../dialects.ts'
import { type QueryAnswer, type Query, Executor } from '../executor.ts'
import { OutdatedPlan, translatePostgresError } from './errors.ts'
import { StorePool } from './pool.ts'

/** Runs queries on a pool (each on any connection) or on one connection (a transaction, or the connection's owner). */
export class PgExecutor extends Executor {
  readonly #target: StorePool | ClientBase

  constructor(target: StorePool | ClientBase) {
    super(postgresDialect)
    this.#target = target
  }

  override async execute(query: Query): Promise<QueryAnswer> {
    if (!(this.#target instanceof StorePool)) return run(this.#target, query)
    try {
      return await runOnPool(this.#target, query)
    } catch (error) {
      if (!(error instanceof OutdatedPlan)) throw error
      return runOnPool(this.#target, query)
    }
  }
}

async function runOnPool(pool: StorePool, query: Query): Promise<QueryAnswer> {
  const client = await pool.lend()
  try {
    const answer = await run(client, query)
    pool.giveBack(client)
    return answer
  } catch (error) {
    pool.giveBack(client, error, true)
    throw error
  }
}

async function run(client: ClientBase, { sql, parameters, name }: Query): Promise<QueryAnswer> {
  try {
    const config = { text: sql, values: [...parameters] }
    const result = await client.query<object>(name === undefined ? config : { ...config, name })
    return { rows: result.rows, changed: result.rowCount ?? 0 }
  } catch (error) {
    throw translatePostgresError(error)
  }
}
