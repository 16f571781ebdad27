import { retryAfterMs } from '../../core/channels/webhooks/events.ts'
import { statement } from '../executor.ts'
import { saidColumn } from '../said.ts'
import type { Tx } from '../store.ts'
import { isLost } from './deliveryReads.ts'
import { DeliveryRetryVerbs } from './deliveryRetries.ts'
import { lockRows } from './lockRows.ts'
import { isLeaseOver, leaseEnd } from './now.ts'

export const senderRenewal = statement((db, p: { id: string; leaseMs: number }, dialect) =>
  db
    .insertInto('delivery_nodes')
    .values({ id: p.id, alive_until_ms: leaseEnd(dialect, p.leaseMs) })
    .onConflict((c) => c.column('id').doUpdateSet((eb) => ({ alive_until_ms: eb.ref('excluded.alive_until_ms') }))),
)

const leave = statement((db, p: { node: string }) => db.deleteFrom('delivery_nodes').where('id', '=', p.node))

const expire = statement(
  (db, p: { nowMs: number; startedBeforeMs: number; reason: string; limit: number }, dialect) => {
    const lost = db
      .selectFrom('deliveries as lost')
      .select('lost.id')
      .where((eb) => isLost(eb, p.startedBeforeMs, dialect))
      .limit(p.limit)
    return db
      .updateTable('deliveries')
      .set({ state: 'unknown', ended_at_ms: p.nowMs, error: p.reason })
      .where('id', 'in', lockRows(dialect, lost, 'update skip locked'))
      .returning(['id', 'attempt'])
  },
)

const forget = statement((db, _none: object, dialect) =>
  db.deleteFrom('delivery_nodes').where(isLeaseOver(dialect, 'alive_until_ms')),
)

/** The nodes that send deliveries, and what they leave behind. */
export class DeliveryNodeVerbs extends DeliveryRetryVerbs {
  async renew(id: string, leaseMs: number): Promise<void> {
    await this.executor.run(senderRenewal, { id, leaseMs })
  }

  async leave(node: string): Promise<void> {
    await this.executor.run(leave, { node })
  }

  /** A node without a row counts as dead too, so rows with an expired lease are deleted. */
  async expire(input: Parameters<Tx['deliveries']['expire']>[0]): Promise<number> {
    const expired = await this.executor.all(expire, { ...input, reason: saidColumn(input.reason) })
    await this.executor.run(forget, {})
    for (const { id, attempt } of expired) await this.#tryAgain(id, attempt, input)
    return expired.length
  }

  /** The receiver may or may not have it. Sending it twice is better than not at all. */
  async #tryAgain(
    id: string,
    attempt: number | null,
    { nowMs, retryId }: Parameters<Tx['deliveries']['expire']>[0],
  ): Promise<void> {
    const pauseMs = attempt === null ? null : retryAfterMs(attempt)
    if (pauseMs === null || retryId === undefined) return
    await this.retry({ of: id, id: retryId(), atMs: nowMs, notBeforeMs: nowMs + pauseMs })
  }
}
