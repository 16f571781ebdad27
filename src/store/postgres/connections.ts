import { sql } from 'kysely'
import type { Executor } from '../executor.ts'
import type { PoolConnections } from '../store.ts'

/** Connections beside the pool: one listens for changes, one renews leases. */
const BESIDE_THE_POOL = 2

/**
 * The narrowest of the limits of server, database and user. PostgreSQL hides the `backend_type` of other users' connections without
 * special rights: they count as clients.
 */
const question = sql<{ most: number; open: number; isDurable: boolean }>`
  with clients as (select datname, usename from pg_stat_activity
    where usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend')
  select most, open::int,
    current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as "isDurable"
  from (
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
      (select count(*) from clients) as open
    union all select datconnlimit, (select count(*) from clients where datname = current_database())
      from pg_database where datname = current_database() and datconnlimit >= 0
    union all select rolconnlimit, (select count(*) from clients where usename = current_user)
      from pg_roles where rolname = current_user and rolconnlimit >= 0
  ) limits
  order by most - open limit 1`

export async function readConnections(executor: Executor, poolSize: number): Promise<PoolConnections> {
  const [row] = await executor.ask(() => question)
  if (!row) throw new Error('a select without a table returned no row')
  return { ours: poolSize + BESIDE_THE_POOL, ...row }
}
