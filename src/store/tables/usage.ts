import { sql } from 'kysely'
import type { Bytes } from '../../core/sessions/types.ts'
import { type Executor, inSlices } from '../executor.ts'
import type { RowOf } from '../schema.ts'
import type { SessionEnd } from '../store.ts'
import { lockRows } from './lockRows.ts'

const HOUR_MS = 3_600_000

export type Total = Bytes & { readonly id: string }
/** What bytes of a session count for. */
export type Counted = Pick<
  RowOf<'sessions'>,
  | 'action'
  | 'account_id'
  | 'stream_name'
  | 'protocol'
  | 'token_id'
  | 'tracking_id'
  | 'country'
  | 'bytes_in'
  | 'bytes_out'
> & { id: string }

/** The increase of a session's totals. */
interface Rise<T> extends Bytes {
  readonly total: T
  readonly of: Counted
  /** The part of `bytesOut` that a cache sent. */
  readonly cacheBytes?: number
}

/**
 * Writes totals of active sessions, and adds their increase to the hour. The increase is the difference to the stored
 * totals, read under a lock, so that a writer may repeat a call after an unclear result.
 */
export async function countUsage(executor: Executor, totals: readonly Total[], atMs: number): Promise<string[]> {
  const { rises, gone } = await riseSessions(executor, totals, async (risen) => {
    const fresh = risen.filter(hasRisen)
    if (fresh.length > 0) await writeTotals(executor, fresh)
  })
  await addToHours(executor, rises, () => atMs)
  return gone
}

/** Ends active sessions with their last totals; adds the increase to the hour in which each ended. */
export async function endSessions(executor: Executor, ends: readonly SessionEnd[]): Promise<void> {
  const { rises } = await riseSessions(executor, ends, (risen) => writeEnds(executor, risen))
  await addToHours(executor, rises, ({ atMs }) => atMs)
}

/**
 * Works in slices, so that no statement takes long on a slow server, in the order of the ids, so that two writers cannot
 * deadlock.
 */
async function riseSessions<T extends Total>(
  executor: Executor,
  totals: readonly T[],
  write: (risen: readonly Rise<T>[]) => Promise<unknown>,
): Promise<{ rises: Rise<T>[]; gone: string[] }> {
  const rises: Rise<T>[] = []
  const gone: string[] = []
  const ordered = totals.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await inSlices(ordered, async (slice) => {
    const stored = await lockCounted(executor, slice)
    const risen = slice.flatMap((total) => riseOf(stored.get(total.id), total))
    if (risen.length > 0) await write(risen)
    rises.push(...risen)
    gone.push(...slice.filter(({ id }) => !stored.has(id)).map(({ id }) => id))
  })
  return { rises, gone }
}

async function lockCounted(executor: Executor, totals: readonly Total[]): Promise<Map<string, Counted>> {
  const ids = totals.map(({ id }) => id)
  const rows = await executor.ask((db, engine) => {
    const open = db
      .selectFrom('sessions')
      .select(['id', 'action', 'account_id', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'])
      .select(['bytes_in', 'bytes_out'])
      .where('id', 'in', ids)
      .where('ended_at_ms', 'is', null)
      .orderBy('id')
    return lockRows(engine, open, 'update')
  })
  return new Map(rows.map((row) => [row.id, row]))
}

function riseOf<T extends Total>(of: Counted | undefined, total: T): Rise<T>[] {
  if (!of) return []
  const bytesIn = Math.max(0, total.bytesIn - of.bytes_in)
  return [{ total, of, bytesIn, bytesOut: Math.max(0, total.bytesOut - of.bytes_out) }]
}

/** Previews in the dashboard are no use of a stream by viewers. */
const isCounted = (rise: Rise<unknown>): boolean => rise.of.action !== 'preview' && hasRisen(rise)

const hasRisen = ({ bytesIn, bytesOut }: Bytes): boolean => bytesIn > 0 || bytesOut > 0

/** One statement for all, which saves up to a hundred round trips in each slice. */
async function writeTotals(executor: Executor, rises: readonly Rise<Total>[]): Promise<void> {
  const values = rises.map(
    ({ of, bytesIn, bytesOut }) => sql`(${of.id}, cast(${bytesIn} as bigint), cast(${bytesOut} as bigint))`,
  )
  await executor.execute(
    sql`update sessions set bytes_in = bytes_in + rise.column2, bytes_out = bytes_out + rise.column3
      from (values ${sql.join(values)}) as rise where sessions.id = rise.column1`.compile(executor.engine.db),
  )
}

async function writeEnds(executor: Executor, rises: readonly Rise<SessionEnd>[]): Promise<void> {
  const values = rises.map(
    ({ total: { id, atMs, reason }, bytesIn, bytesOut }) =>
      sql`(${id}, cast(${bytesIn} as bigint), cast(${bytesOut} as bigint), cast(${atMs} as bigint), ${reason})`,
  )
  await executor.execute(
    sql`update sessions set bytes_in = bytes_in + ending.column2, bytes_out = bytes_out + ending.column3,
      ended_at_ms = ending.column4, end_reason = ending.column5
      from (values ${sql.join(values)}) as ending where sessions.id = ending.column1`.compile(executor.engine.db),
  )
}

/**
 * One row for each stream, protocol, token, tracking id, country and hour, for any number of sessions. All nodes write to
 * the rows of a popular stream, so this comes last in its transaction: the rows stay locked until the commit.
 */
export async function addToHours<T>(
  executor: Executor,
  rises: readonly Rise<T>[],
  atMsOf: (total: T) => number,
): Promise<void> {
  const hours = new Map<string, RowOf<'usage_hourly'>>()
  for (const rise of rises.filter(isCounted)) {
    const hour = hourOf(rise, Math.floor(atMsOf(rise.total) / HOUR_MS) * HOUR_MS)
    const { bytes_in, bytes_out, cache_bytes, ...key } = hour
    const text = JSON.stringify(Object.values(key))
    const sum = hours.get(text) ?? { bytes_in: 0, bytes_out: 0, cache_bytes: 0 }
    hours.set(text, {
      ...key,
      bytes_in: sum.bytes_in + bytes_in,
      bytes_out: sum.bytes_out + bytes_out,
      cache_bytes: sum.cache_bytes + cache_bytes,
    })
  }
  // Sorted, so that two nodes that add to the same rows cannot deadlock.
  const sorted = [...hours].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, hour]) => hour)
  await inSlices(sorted, (slice) => addSlice(executor, slice))
}

const addSlice = (executor: Executor, hours: readonly RowOf<'usage_hourly'>[]): Promise<number> =>
  executor.change((db) =>
    db
      .insertInto('usage_hourly')
      .values(hours)
      .onConflict((c) =>
        c
          .columns(['account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'])
          .doUpdateSet({
            bytes_in: sql`usage_hourly.bytes_in + excluded.bytes_in`,
            bytes_out: sql`usage_hourly.bytes_out + excluded.bytes_out`,
            cache_bytes: sql`usage_hourly.cache_bytes + excluded.cache_bytes`,
          }),
      ),
  )

const hourOf = ({ of, bytesIn, bytesOut, cacheBytes = 0 }: Rise<unknown>, hourMs: number): RowOf<'usage_hourly'> => ({
  account_id: of.account_id,
  hour_ms: hourMs,
  stream_name: of.stream_name,
  protocol: of.protocol,
  token_id: of.token_id ?? 0,
  tracking_id: of.tracking_id ?? '',
  country: of.country ?? '',
  bytes_in: bytesIn,
  bytes_out: bytesOut,
  cache_bytes: cacheBytes,
})
