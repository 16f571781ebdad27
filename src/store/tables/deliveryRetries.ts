import { sql } from 'kysely'
import { WAIT_MAX_MS } from '../../core/webhooks/types.ts'
import type { Said } from '../../core/notices.ts'
import { statement } from '../executor.ts'
import { saidColumn } from '../said.ts'
import type { Tx } from '../store.ts'
import { DeliveryCopyVerbs } from './deliveryCopies.ts'
import { isAhead } from './deliveryReads.ts'
import { PENDING, STARTED, WAITING } from './deliveryRow.ts'
import { lockRows } from './lockRows.ts'

// To release, no webhook is locked. So rows that a change of theirs has locked are left for the next second: to wait for them, with
// others locked already, might be a deadlock.

const release = statement((db, p: { fromMs: number; toMs: number; limit: number }, dialect) => {
  const late = db
    .selectFrom('deliveries as late')
    .select('late.id')
    .where('late.state', '=', WAITING)
    .where('late.not_before_ms', '>=', p.fromMs)
    .where('late.not_before_ms', '<=', p.toMs)
    .orderBy('late.not_before_ms')
    .limit(p.limit)
  return db
    .updateTable('deliveries')
    .set({ state: 'pending' })
    .where('id', 'in', lockRows(dialect, late, 'update skip locked'))
})

const releaseAhead = statement((db, p: { nowMs: number; limit: number }, dialect) => {
  const late = db.selectFrom('deliveries as late').select('late.id').where(isAhead(p)).limit(p.limit)
  return db
    .updateTable('deliveries')
    .set({ state: 'pending' })
    .where('id', 'in', lockRows(dialect, late, 'update skip locked'))
})

const forget = statement((db, p: { webhookId: number; reason: string; atMs: number }) =>
  db
    .updateTable('deliveries')
    .set({ state: 'skipped', error: p.reason, ended_at_ms: p.atMs })
    .where('webhook_id', '=', p.webhookId)
    .where('state', 'in', [WAITING, PENDING]),
)

const hold = statement((db, p: { webhookId: number; untilMs: number; except: string; limit: number }, dialect) => {
  const pending = db
    .selectFrom('deliveries as early')
    .select('early.id')
    .where('early.webhook_id', '=', p.webhookId)
    .where('early.state', '=', PENDING)
    .where('early.attempt', 'is not', null)
    .where('early.id', '<>', p.except)
    .orderBy('early.id')
    .limit(p.limit)
  return db
    .updateTable('deliveries')
    .set({ state: 'waiting', not_before_ms: p.untilMs })
    .where('id', 'in', lockRows(dialect, pending, 'update'))
})

const resume = statement((db, p: { webhookId: number; untilMs: number; nowMs: number }) =>
  db
    .updateTable('deliveries')
    .set({ not_before_ms: p.nowMs })
    .where('webhook_id', '=', p.webhookId)
    .where('state', '=', WAITING)
    .where('not_before_ms', '=', p.untilMs),
)

const hasPending = statement((db, p: { webhookId: number }) =>
  db
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', p.webhookId)
    .where('state', '=', PENDING)
    .where('attempt', 'is not', null)
    .limit(1),
)

const releaseOldest = statement((db, p: { webhookId: number }) =>
  db
    .updateTable('deliveries')
    .set({ state: 'pending' })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('deliveries as early')
        .select('early.id')
        .where('early.webhook_id', '=', p.webhookId)
        .where('early.state', '=', WAITING)
        .orderBy('early.id')
        .limit(1),
    )
    .where('state', '=', WAITING),
)

const newestMissed = statement((db, p: { webhookId: number }) =>
  db
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', p.webhookId)
    .where('state', 'in', ['failed', 'unknown', 'skipped'])
    .where('attempt', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1),
)

/** No delivery has this id. */
const NONE = ''

const requeue = statement((db, p: { node: string; id: string }) =>
  db
    .updateTable('deliveries')
    .set({ state: 'pending', node: null, started_at_ms: null, ended_at_ms: null, error: null })
    .where('id', '=', p.id)
    .where('node', '=', p.node)
    .where((eb) => {
      const newer = eb
        .selectFrom('deliveries as newer')
        .select('newer.id')
        .whereRef('newer.webhook_id', '=', 'deliveries.webhook_id')
        .whereRef('newer.event_id', '=', 'deliveries.event_id')
        .whereRef('newer.id', '>', 'deliveries.id')
      const isGivenUp = eb.and([eb('state', '=', sql.lit('unknown' as const)), eb.not(eb.exists(newer))])
      return eb.or([eb('state', '=', STARTED), isGivenUp])
    }),
)

/** Waiting and pending deliveries, and those of a paused webhook. */
export class DeliveryRetryVerbs extends DeliveryCopyVerbs {
  async release(nowMs: number, limit: number): Promise<number> {
    const due = await this.executor.run(release, { fromMs: 0, toMs: nowMs, limit })
    const beyond = { fromMs: nowMs + WAIT_MAX_MS + 1, toMs: Number.MAX_SAFE_INTEGER, limit }
    return due + (await this.executor.run(release, beyond)) + (await this.executor.run(releaseAhead, { nowMs, limit }))
  }

  giveUp(webhookId: number, reason: Said, atMs: number): Promise<number> {
    return this.executor.run(forget, { webhookId, reason: saidColumn(reason), atMs })
  }

  hold({ except, ...input }: Parameters<Tx['deliveries']['hold']>[0]): Promise<number> {
    return this.executor.run(hold, { ...input, except: except ?? NONE })
  }

  resume(webhookId: number, untilMs: number, nowMs: number): Promise<number> {
    return this.executor.run(resume, { webhookId, untilMs, nowMs })
  }

  async requeue(node: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.executor.run(requeue, { node, id })
  }

  async offerProbe({ webhookId, id, atMs }: Parameters<Tx['deliveries']['offerProbe']>[0]): Promise<void> {
    if ((await this.executor.first(hasPending, { webhookId })) !== undefined) return
    if ((await this.executor.run(releaseOldest, { webhookId })) > 0) return
    const missed = await this.executor.first(newestMissed, { webhookId })
    if (missed) await this.retry({ of: missed.id, id, atMs, notBeforeMs: atMs })
  }
}
