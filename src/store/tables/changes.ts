import { sql } from 'kysely'
import { type Executor, statement, Verbs } from '../executor.ts'
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

/** The last position that pruning removes: `seq` in SQLite, the transaction in PostgreSQL. */
const lastBefore = statement((db, p: { beforeMs: number }, dialect) => {
  const position = dialect === 'postgres' ? sql`cast(cast(xid as text) as bigint)` : sql`seq`
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

/**
 * Rows of every transaction that was unfinished at the last read, the next position, and the floor, in one snapshot. `seq`
 * is not sufficient: a transaction may take its number early and commit late, after a reader has passed that number.
 * `pg_snapshot_xmin` is the oldest transaction still running, so every row that is missing now has at least that number.
 */
const sinceTransaction = statement((db, p: { xid: string }) =>
  db
    .selectFrom(
      db
        .selectFrom('meta')
        .select([sql<string>`cast(pg_snapshot_xmin(pg_current_snapshot()) as text)`.as('xmin'), 'value as floor'])
        .select(serverStart.as('server'))
        .where('key', '=', META.changesFloor)
        .as('position'),
    )
    .leftJoin('changes', (join) => join.on(sql<boolean>`changes.xid >= cast(${p.xid} as xid8)`))
    .select(['xmin', 'floor', 'server', 'kind', 'account_id', 'ref_id', 'stream_name', 'at_ms'])
    .orderBy('seq')
    .limit(sql.lit(MAX_CHANGES + 1)),
)

const MAX_XID = '18446744073709551615'

export class ChangeTxVerbs extends Verbs {
  async append(change: DatedChange): Promise<void> {
    await this.executor.run(append, { ...change, streamName: change.streamName ?? null })
  }

  async prune(beforeMs: number): Promise<number> {
    const position = (await this.executor.first(lastBefore, { beforeMs }))?.position ?? null
    if (position === null) return 0
    await this.executor.run(raiseFloor, { position })
    return this.executor.run(prune, { beforeMs })
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

/** A position in PostgreSQL: everything of this server with a lower transaction number was read. */
interface XidPosition {
  /** See `serverStart`. */
  readonly server: string
  readonly xid: string
}

const xidPositionOf = (cursor: string | null): XidPosition | null => {
  const [, server, xid] = /^(\d{1,20}):(\d{1,20})$/.exec(cursor ?? '') ?? []
  return server === undefined || xid === undefined ? null : { server, xid }
}

/** From where on a cursor has to be read; all, if it is none. */
export const xidOf = (cursor: string | null): string => xidPositionOf(cursor)?.xid ?? '0'

/** In PostgreSQL the cursor is a server and a transaction number. */
export async function changesSinceXid(executor: Executor, cursor: string | null): ReturnType<Store['changesSince']> {
  const seen = xidPositionOf(cursor)
  const rows = await executor.all(sinceTransaction, { xid: seen?.xid ?? MAX_XID })
  const [first] = rows
  if (!first) throw new Error('the meta row of the changes is missing')
  const next = `${first.server}:${first.xmin}`
  if (cursor === null) return { changes: [], cursor: next, reset: false }
  const lost = seen === null || isLost(seen, { ...first, top: first.xmin }) || rows.length > MAX_CHANGES
  return { changes: lost ? [] : rows.flatMap(toChange), cursor: next, reset: lost }
}

/** The position is one of another server, or of rows that are gone, or it is ahead of all: an older database was restored. */
const isLost = ({ server, xid }: XidPosition, now: Pick<ChangesTop, 'server' | 'top' | 'floor'>): boolean =>
  server !== now.server || BigInt(xid) <= BigInt(now.floor) || BigInt(xid) > BigInt(now.top)

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

/** Whether `changesSinceXid` would find something. The position may be older: no transaction since has a change. */
export function hasChangesSinceXid(cursor: string, now: ChangesTop): boolean {
  const seen = xidPositionOf(cursor)
  return now.hasRows || seen === null || isLost(seen, now)
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
