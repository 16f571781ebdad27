import type { Pool, PoolClient } from 'pg'
import { postgresEngine } from '../engines.ts'
import { type Answer, type Query, Session } from '../session.ts'
import { translate } from './errors.ts'

/** Runs queries on a pool (each on any connection) or on one client (a transaction). */
export class PgSession extends Session {
  readonly #target: Pool | PoolClient

  constructor(target: Pool | PoolClient) {
    super(postgresEngine)
    this.#target = target
  }

  override async execute({ sql, parameters, name }: Query): Promise<Answer> {
    try {
      const config = { text: sql, values: [...parameters] }
      const result = await this.#target.query<object>(name === undefined ? config : { ...config, name })
      return { rows: result.rows, changed: result.rowCount ?? 0 }
    } catch (error) {
      throw translate(error)
    }
  }
}
