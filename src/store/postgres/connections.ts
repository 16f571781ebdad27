import { sql } from 'kysely'
import { postgresEngine } from '../engines.ts'
import type { Executor } from '../executor.ts'
import type { PoolConnections } from '../store.ts'

/** PoolConnections beside the pool: one listens for changes, one renews leases. */
const BESIDE_THE_POOL = 2

/** PostgreSQL hides the `backend_type` of other users' connections without special rights: they count as clients. */
const question = sql<{ most: number; open: number; isDurable: boolean }>`select
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
  current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as "isDurable",
  (select count(*)::int from pg_stat_activity
    where usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend') as open`

export async function readConnections(executor: Executor, poolSize: number): Promise<PoolConnections> {
  const { rows } = await executor.execute(question.compile(postgresEngine.db))
  const [row] = rows as { most: number; open: number; isDurable: boolean }[]
  if (!row) throw new Error('a select without a table returned no row')
  return { ours: poolSize + BESIDE_THE_POOL, ...row }
}
