import type { Query } from '../executor.ts'

/** A connection that serves nothing but renewals. */
export interface OwnConnection {
  /** Answers how many rows were written. */
  run(query: Query): Promise<number>
  close(): Promise<void>
}

/** Bounds on every wait; together they are less than a lease, so that a dead connection is replaced in time. */
const LIMITS = {
  connectionTimeoutMillis: 3_000,
  query_timeout: 3_000,
  statement_timeout: 3_000,
  lock_timeout: 1_000,
  keepAlive: true,
} as const

/** Without the rest of the store: a thread that loads little takes little memory. */
export async function connectPostgres(connectionString: string): Promise<OwnConnection> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString, ...LIMITS })
  // What breaks while nothing is asked shows at the next statement.
  client.on('error', () => undefined)
  await client.connect()
  return {
    async run({ sql, parameters, name }) {
      const config = { text: sql, values: [...parameters] }
      const { rowCount } = await client.query(name === undefined ? config : { ...config, name })
      return rowCount ?? 0
    },
    close: () => client.end().catch(() => undefined),
  }
}

/** A wait for another process would stop this one, so it is short, and what fails is tried again soon. */
const SQLITE_WAIT_MS = 20

export async function connectSqlite(file: string): Promise<OwnConnection> {
  const { SqliteConnection } = await import('../sqlite/connection.ts')
  const connection = new SqliteConnection(file, { readOnly: false, busyTimeoutMs: SQLITE_WAIT_MS })
  return {
    run: async (query) => (await connection.execute(query)).changed,
    close: async () => connection.close(),
  }
}
