import { Client } from 'pg'
import { ownPort } from '../../test/support/ownPort.ts'
import { findBinaries, startPostgres } from '../../test/support/postgres.setup.ts'
import { SEALING_KEY } from '../../test/support/sealingKey.ts'
import { type BenchServer, startServer } from './server.ts'

export interface Cluster {
  readonly nodes: readonly BenchServer[]
  /** The rows that the database answers. */
  query(sql: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/** Nodes of one installation on a PostgreSQL of their own, each as `npm start` runs it. @param settingsOf those of one node, by its port */
export async function startCluster(
  count: number,
  settingsOf: (at: number, port: number) => Promise<Record<string, string>> = async () => ({}),
): Promise<Cluster> {
  const binaries = findBinaries()
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  const postgres = await startPostgres(binaries)
  const nodes: BenchServer[] = []
  for (let at = 0; at < count; at += 1) {
    const port = await ownPort()
    nodes.push(
      await startServer({
        SLUICE_STORAGE_URL: postgres.url,
        SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
        SLUICE_SERVER_PORT: String(port),
        SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
        ...(await settingsOf(at, port)),
      }),
    )
  }
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  return {
    nodes,
    query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    async stop() {
      await client.end()
      for (const node of nodes) await node.stop()
      await postgres.remove()
    },
  }
}
