import { sql } from 'kysely'
import type { Bytes } from '../../core/sessions/types.ts'
import { type Executor, inSlices, statement } from '../executor.ts'
import { larger, RowTable } from '../rowTable.ts'
import type { SessionEnd, SessionReport } from '../store.ts'
import { NO_ADDRESS } from './viewerTraces.ts'

export type Total = Bytes & { readonly id: string }

/** Writes totals of active sessions. Returns the ids of those that are not active. */
export async function writeTotals(executor: Executor, totals: readonly Total[]): Promise<string[]> {
  const gone: string[] = []
  await inOrder(totals, async (slice) => {
    const active = new Set((await executor.all(rise, TOTALS.params(executor, slice.map(toRow)))).map(({ id }) => id))
    gone.push(...slice.flatMap(({ id }) => (active.has(id) ? [] : [id])))
  })
  return gone
}

/** Ends active sessions with their last totals. */
export function endSessions(executor: Executor, ends: readonly SessionEnd[]): Promise<void> {
  return inOrder(ends, (slice) => executor.run(end, TOTALS.params(executor, slice.map(toRow))))
}

/** Replaces what players reported, also of sessions that are over. */
export function writeQuality(executor: Executor, reports: readonly SessionReport[]): Promise<void> {
  return inOrder(reports, (slice) => {
    const rows = slice.map(({ id, quality }) => ({ reportId: id, reported: quality }))
    return executor.run(report, REPORTS.params(executor, rows))
  })
}

/** What is written of sessions, a row each. The last two are of ends. */
const TOTALS = new RowTable('total', {
  total_id: 'text',
  total_in: 'bigint',
  total_out: 'bigint',
  at_ms: 'bigint',
  reason: 'text',
})

const REPORTS = new RowTable('report', { report_id: 'text', reported: 'text' })

const toRow = ({ id, bytesIn, bytesOut, atMs, reason }: Total & Partial<Pick<SessionEnd, 'atMs' | 'reason'>>) => ({
  totalId: id,
  totalIn: bytesIn,
  totalOut: bytesOut,
  atMs,
  reason,
})

const RISEN = sql`bytes_in = ${larger(sql.ref('bytes_in'), sql.ref('total_in'))},
  bytes_out = ${larger(sql.ref('bytes_out'), sql.ref('total_out'))}`

type Totals = ReturnType<typeof TOTALS.params>

const rise = statement(
  (_, p: Totals, dialect) => sql<{
    id: string
  }>`update sessions set ${RISEN} from ${TOTALS.locking(p, dialect, 'sessions', 'total_id')}
      where id = total_id and ended_at_ms is null returning id`,
)

const end = statement(
  (_, p: Totals, dialect) => sql`update sessions set ${RISEN}, ended_at_ms = at_ms, end_reason = reason
      from ${TOTALS.locking(p, dialect, 'sessions', 'total_id')}
      where id = total_id and ended_at_ms is null`,
)

const report = statement(
  (
    _,
    p: ReturnType<typeof REPORTS.params>,
    dialect,
  ) => sql`update sessions set quality = reported from ${REPORTS.locking(p, dialect, 'sessions', 'report_id')}
      where id = report_id and address <> ${NO_ADDRESS}`,
)

/** A statement of so many takes some 10 ms; with 100, PostgreSQL spends a fifth more on each row. */
const SLICE = 500

/** Works in slices, so that no statement takes long on a slow server, in the order of the ids, as each of them locks its rows. */
function inOrder<T extends { readonly id: string }>(
  items: readonly T[],
  write: (slice: readonly T[]) => Promise<unknown>,
): Promise<void> {
  const ordered = items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return inSlices(ordered, write, SLICE)
}
