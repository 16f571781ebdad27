import { LIVE_TYPE, type LiveEvent, type StoredLiveEvent } from '../../core/webhooksV2/events.ts'
import type { Tx } from '../../store/store.ts'

/**
 * Tells the account's webhooks of the live interface: one row in the outbox, in the transaction of the change that it
 * is about, so that there is never one without the other.
 */
export async function tellLive(tx: Tx, on: { accountId: string; atMs: number }, event: LiveEvent): Promise<void> {
  const stored: StoredLiveEvent = { object: event.object, data: event.data, atMs: on.atMs }
  await tx.outbox.append({
    accountId: on.accountId,
    type: LIVE_TYPE,
    event: event.name,
    subject: null,
    data: JSON.stringify(stored),
    createdAtMs: on.atMs,
  })
}
