import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { findBinaries, startPostgres, type TestServer } from './postgres.setup.ts'
import { until } from './until.ts'

/** A primary, and a standby that has all of it, until the test is over. */
export async function pair(): Promise<[TestServer, TestServer]> {
  const primary = await startPostgres(findBinaries() ?? '')
  onTestFinished(() => primary.remove())
  const standby = await primary.standby()
  onTestFinished(() => standby.remove())
  await isReplicated(primary, "state = 'streaming'")
  return [primary, standby]
}

/** Lets the primary acknowledge nothing that the standby does not have. */
export async function synchronize(primary: TestServer): Promise<void> {
  await ask(primary, "alter system set synchronous_standby_names = '*'")
  await ask(primary, 'select pg_reload_conf()::int')
  await isReplicated(primary, "sync_state = 'sync'")
}

const isReplicated = (primary: TestServer, how: string): Promise<unknown> =>
  until(async () => (await ask(primary, `select count(*) from pg_stat_replication where ${how}`))[0] === 1)

/** `storage.url` of both, of which Sluice uses the one that takes writes. */
export function urlOf(servers: readonly TestServer[]): string {
  const hosts = servers.map(({ url }) => new URL(url).host).join(',')
  return `postgres://sluice@${hosts}/postgres?target_session_attrs=read-write`
}

/** The numbers of the one column that a query answers. */
export async function ask(server: TestServer, query: string): Promise<number[]> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(query)
    return rows.flatMap(Object.values).map(Number)
  } finally {
    await client.end()
  }
}
