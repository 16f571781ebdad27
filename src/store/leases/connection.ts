import type { Query } from '../executor.ts'
import type { StoreClient } from '../postgres/client.ts'

/** A connection only for renewals. */
export interface OwnConnection {
  /** Returns how many rows the query wrote. */
  run(query: Query): Promise<number>
  close(): Promise<void>
}

/** Limits every wait; together they are shorter than a lease, so that a dead connection is replaced in time. */
const TIMEOUTS = { openingMs: 3_000, answerMs: 3_000 } as const
const LIMITS = { statement_timeout: 3_000, lock_timeout: 1_000 } as const

/** Opens connections to the host that takes writes. Imports little else of the store, which saves memory in the thread. */
export async function postgresConnector(url: string): Promise<() => Promise<OwnConnection>> {
  const [{ Hosts }, { openClient }] = await Promise.all([
    import('../postgres/hosts.ts'),
    import('../postgres/client.ts'),
  ])
  const hosts = new Hosts(url)
  return async () => ownConnection(await openClient({ hosts, ...TIMEOUTS, limits: LIMITS }))
}

function ownConnection(client: StoreClient): OwnConnection {
  return {
    async run({ sql, parameters, name }) {
      const config = { text: sql, values: [...parameters] }
      const { rowCount } = await client.query(name === undefined ? config : { ...config, name })
      return rowCount ?? 0
    },
    close: () => client.end().catch(() => undefined),
  }
}

/** Waiting for another process blocks this one, so the wait is short and a failed renewal is retried soon. */
const SQLITE_WAIT_MS = 20

export async function connectSqlite(file: string): Promise<OwnConnection> {
  const { SqliteConnection } = await import('../sqlite/connection.ts')
  const connection = new SqliteConnection(file, { readOnly: false, busyTimeoutMs: SQLITE_WAIT_MS })
  return {
    run: async (query) => (await connection.execute(query)).changed,
    close: async () => connection.close(),
  }
}
