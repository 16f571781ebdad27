import {
  CHANNEL_EVENT_TYPE,
  type ChannelWebhookEvent,
  type StoredChannelEvent,
} from '../../../core/channels/webhooks/events.ts'
import type { Tx } from '../../../store/store.ts'

/**
 * Emits an event for the account's webhooks of the channels interface: one row in the outbox, in the transaction of the
 * change. So change and event are written together or not at all.
 */
export async function emitChannelEvent(
  tx: Tx,
  on: { accountId: string; atMs: number },
  event: ChannelWebhookEvent,
): Promise<void> {
  const stored: StoredChannelEvent = { object: event.object, data: event.data, atMs: on.atMs }
  await tx.outbox.append({
    accountId: on.accountId,
    type: CHANNEL_EVENT_TYPE,
    event: event.name,
    subject: null,
    data: JSON.stringify(stored),
    createdAtMs: on.atMs,
  })
}
