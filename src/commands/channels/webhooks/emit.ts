import {
  CHANNEL_EVENT_TYPE,
  type ChannelWebhookEvent,
  type StoredChannelEvent,
} from '../../../core/channels/webhooks/events.ts'
import type { Tx } from '../../../store/store.ts'
import { emit, type EmittedEvent, type Occasion } from '../../emit.ts'

/** Emits events for the account's webhooks of the channels interface, in the transaction of the change. */
export const emitChannelEvents = (tx: Tx, on: Occasion, ...events: readonly ChannelWebhookEvent[]): Promise<void> =>
  emit(tx, ...events.map((event) => ({ ...on, ...channelEventOf(event, on.atMs) })))

/** What is written of an event. */
export function channelEventOf({ name, object, data }: ChannelWebhookEvent, atMs: number): EmittedEvent {
  const stored: StoredChannelEvent = { object, data, atMs }
  return { type: CHANNEL_EVENT_TYPE, event: name, subject: null, data: stored }
}
