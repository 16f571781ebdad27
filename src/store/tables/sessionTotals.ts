import { sql } from 'kysely'
import type { Bytes } from '../../core/sessions/types.ts'
import { type DialectName, type Executor, inSlices, statement } from '../executor.ts'
import type { SessionEnd, SessionReport } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { NO_ADDRESS } from './viewerTraces.ts'

export type Total = Bytes & { readonly id: string }

/** Writes totals of active sessions. Returns the ids of those that are not active. */
export async function writeTotals(executor: Executor, totals: readonly Total[]): Promise<string[]> {
  const gone: string[] = []
  await inOrder(totals, async (slice) => {
    const active = new Set((await executor.all(rise, columnsOf(executor, slice))).map(({ id }) => id))
    gone.push(...slice.flatMap(({ id }) => (active.has(id) ? [] : [id])))
  })
  return gone
}

/** Ends active sessions with their last totals. */
export function endSessions(executor: Executor, ends: readonly SessionEnd[]): Promise<void> {
  return inOrder(ends, (slice) => executor.run(end, columnsOf(executor, slice)))
}

/** Replaces what players reported, also of sessions that are over. */
export async function writeQuality(executor: Executor, reports: readonly SessionReport[]): Promise<void> {
  await inOrder(reports, async (slice) => {
    const ids = slice.map(({ id }) => id)
    await executor.ask((db, engine) =>
      lockRows(engine, db.selectFrom('sessions').select('id').where('id', 'in', ids).orderBy('id'), 'update'),
    )
    const values = slice.map(({ id, quality }) => sql`(${id}, ${quality})`)
    await executor.execute(
      sql`update sessions set quality = report.column2 from (values ${sql.join(values)}) as report
        where sessions.id = report.column1 and sessions.address <> ${NO_ADDRESS}`.compile(executor.engine.db),
    )
  })
}

/** What is written of sessions, a row each. `atMs` and `reason` are of ends. */
type Row = Total & Partial<Pick<SessionEnd, 'atMs' | 'reason'>>

/**
 * Rows as parameters of a statement whose text is always the same. PostgreSQL would spend most of its time parsing one with a
 * parameter for each value.
 */
interface Columns {
  /** PostgreSQL takes an array for each column. */
  readonly id?: readonly string[]
  readonly bytesIn?: readonly number[]
  readonly bytesOut?: readonly number[]
  readonly atMs?: readonly (number | undefined)[]
  readonly reason?: readonly (string | undefined)[]
  /** SQLite takes all of them as JSON. */
  readonly json?: string
}

function columnsOf({ engine }: Executor, rows: readonly Row[]): Columns {
  if (engine.name === 'sqlite') {
    const lists = rows.map(({ id, bytesIn, bytesOut, atMs, reason }) => [id, bytesIn, bytesOut, atMs, reason])
    return { json: JSON.stringify(lists) }
  }
  return {
    id: rows.map(({ id }) => id),
    bytesIn: rows.map(({ bytesIn }) => bytesIn),
    bytesOut: rows.map(({ bytesOut }) => bytesOut),
    atMs: rows.map(({ atMs }) => atMs),
    reason: rows.map(({ reason }) => reason),
  }
}

const tableOf = (p: Columns, dialect: DialectName) =>
  dialect === 'sqlite'
    ? sql`(select value ->> 0 as total_id, value ->> 1 as total_in, value ->> 2 as total_out, value ->> 3 as at_ms,
        value ->> 4 as reason from json_each(${p.json})) as total`
    : sql`unnest(cast(${p.id} as text[]), cast(${p.bytesIn} as bigint[]), cast(${p.bytesOut} as bigint[]),
        cast(${p.atMs} as bigint[]), cast(${p.reason} as text[])) as total(total_id, total_in, total_out, at_ms, reason)`

/** Totals only rise: a write whose answer was lost may reach the database after a later one. */
const risen = (column: string, total: string) =>
  sql`${sql.ref(column)} = case when ${sql.ref(total)} > ${sql.ref(column)} then ${sql.ref(total)} else ${sql.ref(column)} end`

const RISEN = sql.join([risen('bytes_in', 'total_in'), risen('bytes_out', 'total_out')])

const rise = statement<Columns, { id: string }>((db, p, dialect) => ({
  compile: () =>
    sql<{ id: string }>`update sessions set ${RISEN} from ${tableOf(p, dialect)}
      where id = total_id and ended_at_ms is null returning id`.compile(db),
}))

const end = statement((db, p: Columns, dialect) => ({
  compile: () =>
    sql`update sessions set ${RISEN}, ended_at_ms = at_ms, end_reason = reason from ${tableOf(p, dialect)}
      where id = total_id and ended_at_ms is null`.compile(db),
}))

/**
 * Works in slices, so that no statement takes long on a slow server, in the order of the ids. PostgreSQL finds and locks the
 * rows in that order, so that two writers do not deadlock; if it ever chooses another one, one of them is tried again.
 */
function inOrder<T extends { readonly id: string }>(
  items: readonly T[],
  write: (slice: readonly T[]) => Promise<unknown>,
): Promise<void> {
  const ordered = items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return inSlices(ordered, write)
}
