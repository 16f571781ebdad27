import { subjectOf, type WebhookEvent } from '../../core/webhooks/events.ts'
import type { Notification } from '../../core/webhooks/examples.ts'
import type { Tx } from '../../store/store.ts'
import { emit, type EmittedEvent, type Occasion } from '../emit.ts'

/** An event of the tokens interface: of feeds, recordings, transcoders or viewer connections. */
export const emitStreamEvent = (tx: Tx, on: Occasion, event: WebhookEvent): Promise<void> =>
  emit(tx, { ...on, ...streamEventOf(event) })

/** What is written of it. */
export const streamEventOf = (event: WebhookEvent): EmittedEvent => eventOf({ kind: 'event', event })

/** A thumbnail of a stream on the air. */
export const emitThumbnail = (
  tx: Tx,
  on: Occasion,
  thumbnail: Extract<Notification, { kind: 'thumbnail' }>,
): Promise<void> => emitNotification(tx, on, thumbnail)

/** An event of any family. */
export const emitNotification = (tx: Tx, on: Occasion, notification: Notification): Promise<void> =>
  emit(tx, { ...on, ...eventOf(notification) })

/** What is written of an event of any family. */
export function eventOf(notification: Notification): EmittedEvent {
  if (notification.kind === 'event') {
    const { type, event: name, data } = notification.event
    return { type, event: name, subject: subjectOf(notification.event), data }
  }
  const { feedId, streamId, tokenId, image, subject } = notification
  const data = { feedId, streamId, tokenId, image: Buffer.from(image).toString('base64') }
  return { type: 'thumbnail', event: 'captured', subject, data }
}
