import { sql, type SqlBool } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import type { DueKinds, DueQuery } from '../store.ts'
import {
  hasChangesSinceSeq,
  hasChangesSinceSnapshot,
  hasUnseen,
  serverStart,
  type Unseen,
  unseenOf,
} from './changes.ts'
import { isProbeDueAt } from './channelWebhooks.ts'
import { areRetriesDue } from './deliveryReads.ts'
import { META } from './meta.ts'

/** `Unseen` is of PostgreSQL. */
type DueParameters = Pick<DueQuery, 'nowMs' | 'node'> & Unseen

/**
 * Each part costs the look-up of one index entry. `min` and not `exists`, for which PostgreSQL may choose to read a table
 * whose rows have been deleted.
 */
const due = statement((db, p: DueParameters, dialect) =>
  db
    .selectFrom('meta')
    .select('value as floor')
    .select(
      dialect === 'postgres'
        ? [
            sql<string>`cast(pg_snapshot_xmin(pg_current_snapshot()) as text)`.as('top'),
            sql<SqlBool>`${hasUnseen(p)}`.as('changes'),
            serverStart.as('server'),
          ]
        : [
            sql<string>`(select coalesce(max(seq), 0) from changes)`.as('top'),
            // The position says it.
            sql<SqlBool>`0`.as('changes'),
            sql<string>`''`.as('server'),
          ],
    )
    .select([
      sql<SqlBool>`(select min(id) from outbox) is not null`.as('events'),
      sql<SqlBool>`(select min(webhook_id) from deliveries where state = 'pending') is not null`.as('pending'),
      areRetriesDue(p).as('retries'),
      sql<SqlBool>`exists (select 1 from webhooks where ${isProbeDueAt(p)})`.as('probes'),
      sql<SqlBool>`(select min(next_at_ms) from schedulers where next_at_ms is not null) <= ${p.nowMs}`.as(
        'schedulers',
      ),
      sql<SqlBool>`exists (select 1 from reload_requests where node_id = ${p.node} and answer is null)`.as('reloads'),
      sql<SqlBool>`exists (select 1 from serving_nodes where id = ${p.node} and draining_since_ms is not null)`.as(
        'drain',
      ),
      sql<SqlBool>`(select min(id) from pulls where enabled = 1) is not null`.as('pulls'),
      sql<SqlBool>`(select min(wanted) from engine_states where wanted = 1) is not null
        or (select max(node) from engine_states) is not null`.as('engines'),
    ])
    .where('key', '=', META.changesFloor),
)

/** What there is to do, in one statement. */
export async function readDue(executor: Executor, { nowMs, node, cursor }: DueQuery): Promise<DueKinds> {
  const row = await executor.first(due, { nowMs, node, ...unseenOf(cursor) })
  if (!row) throw new Error('the meta row of the changes is missing')
  const hasChanges = executor.dialect.name === 'postgres' ? hasChangesSinceSnapshot : hasChangesSinceSeq
  return {
    changes: cursor !== null && hasChanges(cursor, { ...row, hasRows: Boolean(row.changes) }),
    deliveries: [row.events, row.pending, row.retries, row.probes].some(Boolean),
    schedulers: Boolean(row.schedulers),
    reloads: Boolean(row.reloads),
    drain: Boolean(row.drain),
    pulls: Boolean(row.pulls),
    engines: Boolean(row.engines),
  }
}
