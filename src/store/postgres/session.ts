import type { ClientBase } from 'pg'
import { postgresEngine } from '../engines.ts'
import { type QueryAnswer, type Query, Executor } from '../executor.ts'
import { translatePostgresError } from './errors.ts'
import { StorePool } from './pool.ts'

/** Runs queries on a pool (each on any connection) or on one connection (a transaction, or the connection's owner). */
export class PgExecutor extends Executor {
  readonly #target: StorePool | ClientBase

  constructor(target: StorePool | ClientBase) {
    super(postgresEngine)
    this.#target = target
  }

  override async execute(query: Query): Promise<QueryAnswer> {
    if (!(this.#target instanceof StorePool)) return run(this.#target, query)
    const client = await this.#target.lend()
    try {
      const answer = await run(client, query)
      this.#target.giveBack(client)
      return answer
    } catch (error) {
      this.#target.giveBack(client, error, true)
      throw error
    }
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
