import {
  CHANNEL_EVENT_TYPE,
  type ChannelWebhookEvent,
  type StoredChannelEvent,
} from '../../../core/channels/webhooks/events.ts'
import type { Tx } from '../../../store/store.ts'
import { emit, type Occasion } from '../../emit.ts'

/** Emits an event for the account's webhooks of the channels interface, in the transaction of the change. */
export async function emitChannelEvent(tx: Tx, on: Occasion, event: ChannelWebhookEvent): Promise<void> {
  const { name, object, data } = event
  const stored: StoredChannelEvent = { object, data, atMs: on.atMs }
  await emit(tx, on, { type: CHANNEL_EVENT_TYPE, event: name, subject: null, data: stored })
}
