import type { Session } from '../session.ts'

/** A connection of its own to the store, for a thread that does one small statement after the other. */
export interface OwnConnection {
  readonly session: Session
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

export const openConnection = (url: string): Promise<OwnConnection> =>
  /^postgres(ql)?:\/\//.test(url) ? openPostgres(url) : openSqlite(url)

async function openPostgres(connectionString: string): Promise<OwnConnection> {
  const { Client } = await import('pg')
  const { PgSession } = await import('../postgres/session.ts')
  const client = new Client({ connectionString, ...LIMITS })
  // What breaks while nothing is asked shows at the next statement.
  client.on('error', () => undefined)
  await client.connect()
  return { session: new PgSession(client), close: () => client.end().catch(() => undefined) }
}

async function openSqlite(file: string): Promise<OwnConnection> {
  const { Connection } = await import('../sqlite/connection.ts')
  const connection = new Connection(file, { readOnly: false, busyTimeoutMs: LIMITS.lock_timeout })
  return { session: connection, close: async () => connection.close() }
}
