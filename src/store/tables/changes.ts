import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { type DialectName, type Executor, statement, Verbs } from '../executor.ts'
import type { Change, DatedChange, Store } from '../store.ts'
import { META } from './meta.ts'

/** A reader that is further behind drops its whole cache, which costs less than dropping the entries one by one. */
export const MAX_CHANGES = 2_000

/** The channel on which PostgreSQL notifies other nodes of changes, by their kind. */
export const CHANNEL = 'sluice_changes'

const append = statement((db, p: Omit<Change, 'streamName'> & { streamName: string | null; atMs: number }, dialect) => {
  const { kind, accountId: account_id, id: ref_id, streamName: stream_name, atMs: at_ms } = p
  const insert = db.insertInto('changes').values({ kind, account_id, ref_id, stream_name, at_ms })
  // PostgreSQL sends it at commit; as part of the insert it costs no round trip.
  const notify = sql`pg_notify(${sql.lit(CHANNEL)}, ${kind})`.as('notified')
  return dialect === 'postgres' ? insert.returning(notify) : insert
})

/** Of a change: `seq` in SQLite, the transaction in PostgreSQL. */
const positionIn = (dialect: DialectName): RawBuilder<number> =>
  dialect === 'postgres' ? sql`cast(cast(xid as text) as bigint)` : sql`seq`

/** The last position that pruning removes. Where an older transaction still runs, readers may be behind the change. */
const lastBefore = statement((db, p: { beforeMs: number }, dialect) => {
  const old = db
    .selectFrom('changes')
    .select(sql<number | null>`max(${positionIn(dialect)})`.as('position'))
    .where('at_ms', '<', p.beforeMs)
  return dialect === 'postgres' ? old.where(sql<SqlBool>`xid < pg_snapshot_xmin(pg_current_snapshot())`) : old
})

const raiseFloor = statement((db, p: { position: number }) =>
  db
    .updateTable('meta')
    .set({ value: p.position })
    .where('key', '=', META.changesFloor)
    .where('value', '<', p.position),
)

const prune = statement((db, p: { beforeMs: number; position: number }, dialect) =>
  db.deleteFrom('changes').where('at_ms', '<', p.beforeMs).where(positionIn(dialect), '<=', p.position),
)

const floor = statement((db) => db.selectFrom('meta').select('value').where('key', '=', META.changesFloor))

const newest = statement((db) => db.selectFrom('changes').select((eb) => eb.fn.max('seq').as('seq')))

const since = statement((db, p: { seq: number }) =>
  db
    .selectFrom('changes')
    .select(['seq', 'kind', 'account_id', 'ref_id', 'stream_name', 'at_ms'])
    .where('seq', '>', p.seq)
    .orderBy('seq')
    .limit(sql.lit(MAX_CHANGES + 1)),
)

/**
 * Which server it is, by its start, microseconds. A standby that was promoted may lack the last transactions of the lost primary, and then
 * gives their numbers again.
 */
export const serverStart = sql<string>`cast(cast(extract(epoch from pg_postmaster_start_time()) * 1000000 as bigint) as text)`

/** What a position in PostgreSQL has not seen. Null: there is no position. */
export interface Unseen {
  /** The first transaction that had not begun. */
  readonly xmax: string | null
  /** Those that were running, as an array of SQL. */
  readonly running: string | null
}

/** The first transaction with a change that is not before this one: a look into an index. `exists` would read the table. */
const firstFrom = (xid: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select xid from changes where xid >= ${xid} order by xid limit 1)`

/** A look for each transaction that was running, also while one of another program runs for hours. */
export const hasUnseen = (p: Unseen): RawBuilder<SqlBool> =>
  sql`${firstFrom(sql`cast(${p.xmax} as xid8)`)} is not null or exists (select 1
    from unnest(cast(${p.running} as xid8[])) as running(id) where ${firstFrom(sql`running.id`)} = running.id)`

/**
 * Rows of every transaction that was unfinished at the last read, the next position, and the floor, in one snapshot. `seq`
 * is not sufficient: a transaction may take its number early and commit late, after a reader has passed that number.
 */
const sinceSnapshot = statement((db, p: Unseen) =>
  db
    .selectFrom(
      db
        .selectFrom('meta')
        .select([sql<string>`cast(pg_current_snapshot() as text)`.as('snapshot'), 'value as floor'])
        .select(serverStart.as('server'))
        .where('key', '=', META.changesFloor)
        .as('position'),
    )
    .leftJoin('changes', (join) =>
      join.on(
        sql<SqlBool>`(changes.xid >= cast(${p.xmax} as xid8) or changes.xid = any(cast(${p.running} as xid8[])))`,
      ),
    )
    .select(['snapshot', 'floor', 'server', 'kind', 'account_id', 'ref_id', 'stream_name', 'at_ms'])
    .orderBy('seq')
    .limit(sql.lit(MAX_CHANGES + 1)),
)

export class ChangeTxVerbs extends Verbs {
  async append(change: DatedChange): Promise<void> {
    await this.executor.run(append, { ...change, streamName: change.streamName ?? null })
  }

  async prune(beforeMs: number): Promise<number> {
    const position = (await this.executor.first(lastBefore, { beforeMs }))?.position ?? null
    if (position === null) return 0
    await this.executor.run(raiseFloor, { position })
    return this.executor.run(prune, { beforeMs, position })
  }
}

/** SQLite commits one transaction at a time, so `seq` is the order of commits, and the cursor is the last one read. */
export async function changesSinceSeq(executor: Executor, cursor: string | null): ReturnType<Store['changesSince']> {
  const seen = cursor === null ? null : Number(cursor)
  const rows = seen === null || Number.isNaN(seen) ? [] : await executor.all(since, { seq: seen })
  const pruned = (await executor.first(floor, {}))?.value ?? 0
  const top = Math.max(pruned, (await executor.first(newest, {}))?.seq ?? 0)
  if (seen === null) return { changes: [], cursor: String(top), reset: false }
  // A position after the newest means that an older database was restored.
  const lost = Number.isNaN(seen) || seen < pruned || seen > top || rows.length > MAX_CHANGES
  if (lost) return { changes: [], cursor: String(top), reset: true }
  return { changes: rows.flatMap(toChange), cursor: String(rows.at(-1)?.seq ?? seen), reset: false }
}

/** A position in PostgreSQL: everything of this server that its snapshot sees was read. */
interface SnapshotPosition {
  /** See `serverStart`. */
  readonly server: string
  /** The oldest transaction that was running, or else `xmax`. */
  readonly xmin: string
  readonly unseen: Unseen
}

function snapshotOf(cursor: string | null): SnapshotPosition | null {
  const [, server, xmin, xmax, running] = /^(\d{1,20}):(\d{1,20}):(\d{1,20}):([\d,]*)$/.exec(cursor ?? '') ?? []
  if (server === undefined || xmin === undefined || xmax === undefined) return null
  return { server, xmin, unseen: { xmax, running: `{${running}}` } }
}

export const unseenOf = (cursor: string | null): Unseen => snapshotOf(cursor)?.unseen ?? { xmax: null, running: null }

/** In PostgreSQL the cursor is a server and a snapshot. */
export async function changesSinceSnapshot(
  executor: Executor,
  cursor: string | null,
): ReturnType<Store['changesSince']> {
  const rows = await executor.all(sinceSnapshot, unseenOf(cursor))
  const [first] = rows
  if (!first) throw new Error('the meta row of the changes is missing')
  const next = `${first.server}:${first.snapshot}`
  if (cursor === null) return { changes: [], cursor: next, reset: false }
  const seen = snapshotOf(cursor)
  const [top = ''] = first.snapshot.split(':')
  const lost = seen === null || isLost(seen, { ...first, top }) || rows.length > MAX_CHANGES
  return { changes: lost ? [] : rows.flatMap(toChange), cursor: next, reset: lost }
}

/** The position is one of another server, or of rows that are gone, or it is ahead of all: an older database was restored. */
const isLost = ({ server, xmin }: SnapshotPosition, now: Pick<ChangesTop, 'server' | 'top' | 'floor'>): boolean =>
  server !== now.server || BigInt(xmin) <= BigInt(now.floor) || BigInt(xmin) > BigInt(now.top)

/** What says whether there are changes after a position, and whether the position is still one. */
interface ChangesTop {
  /** The newest position: `seq` of SQLite, the oldest running transaction of PostgreSQL. */
  readonly top: string
  /** The last position that pruning removed. */
  readonly floor: number
  /** Of PostgreSQL. */
  readonly hasRows: boolean
  /** Of PostgreSQL; see `serverStart`. */
  readonly server: string
}

/** Whether `changesSinceSeq` would find something. */
export const hasChangesSinceSeq = (cursor: string, { top, floor }: ChangesTop): boolean =>
  Math.max(Number(top), floor) !== Number(cursor)

/** Whether `changesSinceSnapshot` would find something, or a position that pruning does not overtake. */
export function hasChangesSinceSnapshot(cursor: string, now: ChangesTop): boolean {
  const seen = snapshotOf(cursor)
  if (now.hasRows || seen === null || isLost(seen, now)) return true
  return seen.xmin !== seen.unseen.xmax && seen.xmin !== now.top
}

/** Without a change, the outer join returns one row with null columns. */
function toChange(row: {
  kind: Change['kind'] | null
  account_id: string | null
  ref_id: number | null
  stream_name: string | null
  at_ms: number | null
}): DatedChange[] {
  const { kind, account_id: accountId, ref_id: id, stream_name: streamName, at_ms: atMs } = row
  if (kind === null || accountId === null || id === null || atMs === null) return []
  return [{ kind, accountId, id, atMs, ...(streamName === null ? {} : { streamName }) }]
}
