import { sql } from 'kysely'
import type { Bytes } from '../../core/sessions/types.ts'
import { type Executor, inSlices } from '../executor.ts'
import type { SessionEnd, SessionReport } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { NO_ADDRESS } from './viewerTraces.ts'

export type Total = Bytes & { readonly id: string }

/** Writes totals of active sessions. Returns the ids of those that are not active. */
export async function writeTotals(executor: Executor, totals: readonly Total[]): Promise<string[]> {
  const gone: string[] = []
  await inOrder(executor, totals, async (open, ended) => {
    gone.push(...ended)
    const values = open.map(({ id, ...bytes }) => sql`(${id}, ${bigint(bytes.bytesIn)}, ${bigint(bytes.bytesOut)})`)
    if (open.length > 0)
      await executor.execute(
        sql`update sessions set ${RISEN} from (values ${sql.join(values)}) as total where sessions.id = total.column1`.compile(
          executor.engine.db,
        ),
      )
  })
  return gone
}

/** Ends active sessions with their last totals. */
export async function endSessions(executor: Executor, ends: readonly SessionEnd[]): Promise<void> {
  await inOrder(executor, ends, async (open) => {
    const values = open.map(
      ({ id, bytesIn, bytesOut, atMs, reason }) =>
        sql`(${id}, ${bigint(bytesIn)}, ${bigint(bytesOut)}, ${bigint(atMs)}, ${reason})`,
    )
    if (open.length > 0)
      await executor.execute(
        sql`update sessions set ${RISEN}, ended_at_ms = total.column4, end_reason = total.column5
          from (values ${sql.join(values)}) as total where sessions.id = total.column1`.compile(executor.engine.db),
      )
  })
}

/** Replaces what players reported, also of sessions that are over. */
export async function writeQuality(executor: Executor, reports: readonly SessionReport[]): Promise<void> {
  const ordered = reports.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await inSlices(ordered, async (slice) => {
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

const bigint = (value: number) => sql`cast(${value} as bigint)`

/** Totals only rise: a write whose answer was lost may reach the database after a later one. */
const rise = (column: string, total: string) =>
  sql`${sql.ref(column)} = case when ${sql.ref(total)} > ${sql.ref(column)} then ${sql.ref(total)} else ${sql.ref(column)} end`

const RISEN = sql.join([rise('bytes_in', 'total.column2'), rise('bytes_out', 'total.column3')])

/**
 * Locks the active ones of the sessions and passes them on, with the ids of the others. Works in slices, so that no statement
 * takes long on a slow server, in the order of the ids, so that two writers cannot deadlock.
 */
async function inOrder<T extends { readonly id: string }>(
  executor: Executor,
  items: readonly T[],
  write: (open: readonly T[], ended: readonly string[]) => Promise<void>,
): Promise<void> {
  const ordered = items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await inSlices(ordered, async (slice) => {
    const ids = slice.map(({ id }) => id)
    const rows = await executor.ask((db, engine) => {
      const open = db.selectFrom('sessions').select('id').where('id', 'in', ids).where('ended_at_ms', 'is', null)
      return lockRows(engine, open.orderBy('id'), 'update')
    })
    const active = new Set(rows.map(({ id }) => id))
    await write(
      slice.filter(({ id }) => active.has(id)),
      ids.filter((id) => !active.has(id)),
    )
  })
}
