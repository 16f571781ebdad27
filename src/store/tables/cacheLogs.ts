import { sql } from 'kysely'
import { HOUR_MS } from '../../base/time.ts'
import { type Executor, inSlices, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf } from '../records.ts'
import { RowTable } from '../rowTable.ts'
import type { CacheBytes } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { pruning } from './pruning.ts'
import { addToHours, type UsageHour } from './usage.ts'

const advance = statement((db, p: { id: string; from: number; to: number; atMs: number }) =>
  db
    .insertInto('cache_logs')
    .values({ id: p.id, position: p.to, counted_at_ms: p.atMs })
    .onConflict((c) =>
      c
        .column('id')
        .doUpdateSet({ position: p.to, counted_at_ms: p.atMs })
        .where('cache_logs.position', '<=', sql<number>`cast(${p.from} as bigint)`),
    ),
)

const position = statement((db, p: { id: string }) =>
  db.selectFrom('cache_logs').select('position').where('id', '=', p.id),
)

const prune = pruning('cache_logs', 'counted_at_ms', ['id'])

const SENT = new RowTable('sent', { sent_id: 'text', sent_bytes: 'bigint' })

const addToSessions = statement(
  (_, p: ReturnType<typeof SENT.params>, dialect) =>
    sql`update sessions set cache_bytes = cache_bytes + sent_bytes from ${SENT.from(p, dialect)} where id = sent_id`,
)

export class CacheLogTxVerbs extends Verbs {
  /** One statement decides, so that of two writers of the same lines only one counts them. */
  async advance(log: { id: string; from: number; to: number }, atMs: number): Promise<boolean> {
    return (await this.executor.run(advance, { ...log, atMs })) > 0
  }

  async position(id: string): Promise<number> {
    return (await this.executor.first(position, { id }))?.position ?? 0
  }

  /**
   * Adds bytes that a cache sent to sessions, open or ended, and to the hour. Those of a session have a column of their own,
   * because only its node writes its totals.
   */
  async count(sent: readonly CacheBytes[], atMs: number): Promise<(string | null)[]> {
    const stored = await lockSessions(this.executor, new Set(sent.flatMap(({ sessionIds }) => sessionIds)))
    const ids = sent.map(({ sessionIds }) => sessionIds.find((id) => stored.has(id)) ?? null)
    const sums = new Map<string, number>()
    for (const [at, id] of ids.entries()) if (id !== null) sums.set(id, (sums.get(id) ?? 0) + (sent[at]?.bytesOut ?? 0))
    const added = [...sums]
    await inSlices(added, (slice) => {
      const rows = slice.map(([sentId, sentBytes]) => ({ sentId, sentBytes }))
      return this.executor.run(addToSessions, SENT.params(this.executor, rows))
    })
    const hours = added.flatMap(([id, bytesOut]) => {
      const session = stored.get(id)
      return session === undefined || session.action === 'preview' ? [] : [hourOf(session, bytesOut, atMs)]
    })
    await addToHours(this.executor, hours)
    return ids
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

/** What bytes of a session count for. */
const COUNTED = ['id', 'action', 'account_id', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'] as const
type Counted = FieldsOf<'sessions', (typeof COUNTED)[number]>

const hourOf = (of: Counted, bytesOut: number, atMs: number): UsageHour => ({
  accountId: of.accountId,
  hourMs: Math.floor(atMs / HOUR_MS) * HOUR_MS,
  streamName: of.streamName,
  protocol: of.protocol,
  tokenId: of.tokenId ?? 0,
  trackingId: of.trackingId ?? '',
  country: of.country ?? '',
  bytesIn: 0,
  bytesOut,
  cacheBytes: bytesOut,
})

/** Locks them in the order of every lock on several sessions, so that no two writers of the same ones deadlock. */
async function lockSessions(executor: Executor, ids: ReadonlySet<string>): Promise<Map<string, Counted>> {
  const rows = await executor.askInSlices([...ids].toSorted(), (db, slice, dialect) => {
    const named = db.selectFrom('sessions').select(fieldsOf('sessions', COUNTED)).where('id', 'in', slice).orderBy('id')
    return lockRows(dialect, named, 'update')
  })
  return new Map(rows.map((row) => [row.id, row]))
}
