import { sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import type { Change, Store } from '../store.ts'
import { META } from './meta.ts'

/** A reader that is further behind than this drops everything it cached, which costs less than to forget one by one. */
export const MAX_CHANGES = 2_000

/** The channel on which PostgreSQL tells other nodes that there is something to ask for. */
export const CHANNEL = 'sluice_changes'

const append = statement((db, p: Change & { atMs: number }, engine) => {
  const insert = db.insertInto('changes').values({ kind: p.kind, account_id: p.accountId, ref_id: p.id, at_ms: p.atMs })
  // Sent at commit, and only then; riding on the insert it costs no round trip.
  const notify = sql`pg_notify(${sql.lit(CHANNEL)}, '')`.as('told')
  return engine === 'postgres' ? insert.returning(notify) : insert
})

/** The last position that pruning will take away: `seq` in SQLite, the transaction in PostgreSQL. */
const lastBefore = statement((db, p: { beforeMs: number }, engine) => {
  const position = engine === 'postgres' ? sql`cast(cast(xid as text) as bigint)` : sql`seq`
  return db
    .selectFrom('changes')
    .select(sql<number | null>`max(${position})`.as('position'))
    .where('at_ms', '<', p.beforeMs)
})

const raiseFloor = statement((db, p: { position: number }) =>
  db
    .updateTable('meta')
    .set({ value: p.position })
    .where('key', '=', META.changesFloor)
    .where('value', '<', p.position),
)

const prune = statement((db, p: { beforeMs: number }) => db.deleteFrom('changes').where('at_ms', '<', p.beforeMs))

const floor = statement((db) => db.selectFrom('meta').select('value').where('key', '=', META.changesFloor))

const newest = statement((db) => db.selectFrom('changes').select((eb) => eb.fn.max('seq').as('seq')))

const since = statement((db, p: { seq: number }) =>
  db
    .selectFrom('changes')
    .select(['seq', 'kind', 'account_id', 'ref_id'])
    .where('seq', '>', p.seq)
    .orderBy('seq')
    .limit(sql.lit(MAX_CHANGES + 1)),
)

/**
 * Rows of every transaction that was not finished at the last look, the next position, and the floor, in one snapshot.
 * `seq` would not do: a transaction that took its number early may commit late, behind a reader that has gone past it.
 * `pg_snapshot_xmin` is the oldest transaction still running, so whatever is missing now has at least that number.
 */
const sinceTransaction = statement((db, p: { xid: string }) =>
  db
    .selectFrom(
      db
        .selectFrom('meta')
        .select([sql<string>`cast(pg_snapshot_xmin(pg_current_snapshot()) as text)`.as('xmin'), 'value as floor'])
        .where('key', '=', META.changesFloor)
        .as('position'),
    )
    .leftJoin('changes', (join) => join.on(sql<boolean>`changes.xid >= cast(${p.xid} as xid8)`))
    .select(['xmin', 'floor', 'kind', 'account_id', 'ref_id'])
    .orderBy('seq')
    .limit(sql.lit(MAX_CHANGES + 1)),
)

const MAX_XID = '18446744073709551615'

export async function appendChange(executor: Executor, change: Change & { atMs: number }): Promise<void> {
  await executor.run(append, change)
}

export async function pruneChanges(executor: Executor, beforeMs: number): Promise<number> {
  const position = (await executor.first(lastBefore, { beforeMs }))?.position ?? null
  if (position === null) return 0
  await executor.run(raiseFloor, { position })
  return executor.run(prune, { beforeMs })
}

/** SQLite commits one transaction at a time, so `seq` is the order of commits and the cursor is the last one seen. */
export async function changesSinceSeq(executor: Executor, cursor: string | null): ReturnType<Store['changesSince']> {
  const known = cursor === null ? null : Number(cursor)
  const rows = known === null || Number.isNaN(known) ? [] : await executor.all(since, { seq: known })
  const pruned = (await executor.first(floor, {}))?.value ?? 0
  const top = Math.max(pruned, (await executor.first(newest, {}))?.seq ?? 0)
  if (known === null) return { changes: [], cursor: String(top), reset: false }
  // A position ahead of the newest means that an older database was put in place.
  const lost = Number.isNaN(known) || known < pruned || known > top || rows.length > MAX_CHANGES
  if (lost) return { changes: [], cursor: String(top), reset: true }
  return { changes: rows.flatMap(toChange), cursor: String(rows.at(-1)?.seq ?? known), reset: false }
}

/** In PostgreSQL the cursor is a transaction number: everything below it was seen. */
export async function changesSinceXid(executor: Executor, cursor: string | null): ReturnType<Store['changesSince']> {
  const known = cursor !== null && /^\d{1,20}$/.test(cursor) ? BigInt(cursor) : null
  const rows = await executor.all(sinceTransaction, { xid: known === null ? MAX_XID : String(known) })
  const [first] = rows
  if (!first) throw new Error('the meta row of the changes is gone')
  if (cursor === null) return { changes: [], cursor: first.xmin, reset: false }
  const lost = known === null || known <= BigInt(first.floor) || known > BigInt(first.xmin) || rows.length > MAX_CHANGES
  if (lost) return { changes: [], cursor: first.xmin, reset: true }
  return { changes: rows.flatMap(toChange), cursor: first.xmin, reset: false }
}

/** The outer join leaves the columns of a change null when there is none. */
function toChange(row: { kind: Change['kind'] | null; account_id: string | null; ref_id: number | null }): Change[] {
  const { kind, account_id: accountId, ref_id: id } = row
  return kind === null || accountId === null || id === null ? [] : [{ kind, accountId, id }]
}
