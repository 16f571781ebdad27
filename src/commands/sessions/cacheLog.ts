import type { CacheBytes, CacheLogRange, ServedBytes } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

export interface CountedLog {
  /** False: lines after the beginning of the range were counted before, so none of them is counted now. */
  readonly isCounted: boolean
  /** Up to where the log is counted. */
  readonly position: number
  /** Tickets whose sessions are not stored, so their bytes count for nothing. */
  readonly unknown: number
}

/** Bytes that a cache sent to viewers of a distribution. */
export type ServedByCache = Omit<ServedBytes, 'slotMs' | 'country' | 'viewedMs' | 'bytesFromCaches'>

/** Counts of distributions are kept by quarters of an hour. */
const SLOT_MS = 900_000

/**
 * Counts what a cache sent to viewers, exactly once: a range of its log and the bytes in it are written in one transaction.
 * The bytes count for sessions that are open or over, now, whenever the cache sent them.
 */
export async function countCacheLog(
  ctx: SessionContext,
  range: CacheLogRange,
  sent: readonly CacheBytes[],
  served: readonly ServedByCache[],
): Promise<CountedLog> {
  const atMs = ctx.clock.now()
  const done = await ctx.store.transaction(async (tx) => {
    if (!(await tx.cacheLogs.advance(range, atMs))) return tx.cacheLogs.position(range.id)
    if (served.length > 0) await tx.served.add(rowsOf(served, Math.floor(atMs / SLOT_MS) * SLOT_MS))
    return tx.cacheLogs.count(sent, atMs)
  })
  if (typeof done === 'number') return { isCounted: false, position: done, unknown: 0 }
  for (const [at, id] of done.entries()) noteSent(ctx, id, sent[at]?.bytesOut ?? 0)
  return { isCounted: true, position: range.to, unknown: done.filter((id) => id === null).length }
}

/** One row for each distribution and tracking id. A log says nothing of countries and playing times. */
function rowsOf(served: readonly ServedByCache[], slotMs: number): ServedBytes[] {
  const rows = new Map<string, ServedBytes>()
  for (const one of served) {
    const key = `${one.distributionId} ${one.trackingId}`
    const bytesOut = (rows.get(key)?.bytesOut ?? 0) + one.bytesOut
    rows.set(key, { ...one, slotMs, country: '', viewedMs: 0, bytesOut, bytesFromCaches: bytesOut })
  }
  return [...rows.values()]
}

/** Live figures, of sessions at this node. */
function noteSent({ sessions }: SessionContext, sessionId: string | null, bytesOut: number): void {
  if (sessionId === null) return
  sessions.counts.bytesFromCaches += bytesOut
  const entry = sessions.get(sessionId) ?? sessions.leaving.get(sessionId)?.entry
  if (entry) sessions.streams.moved(entry.session, 0, bytesOut)
}
