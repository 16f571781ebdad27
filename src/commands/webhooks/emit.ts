import { subjectOf, type WebhookEvent } from '../../core/webhooks/events.ts'
import type { Notification } from '../../core/webhooks/examples.ts'
import type { Tx } from '../../store/store.ts'
import { emit, type Occasion } from '../emit.ts'

/** An event of the tokens interface: of feeds, recordings, transcoders or viewer connections. */
export function emitStreamEvent(tx: Tx, on: Occasion, event: WebhookEvent): Promise<number> {
  const { type, event: name, data } = event
  return emit(tx, on, { type, event: name, subject: subjectOf(event), data })
}

/** A thumbnail of a stream on the air. */
export function emitThumbnail(
  tx: Tx,
  on: Occasion,
  { feedId, streamId, tokenId, image, subject }: Extract<Notification, { kind: 'thumbnail' }>,
): Promise<number> {
  const data = { feedId, streamId, tokenId, image: Buffer.from(image).toString('base64') }
  return emit(tx, on, { type: 'thumbnail', event: 'captured', subject, data })
}

/** An event of any family. */
export const emitNotification = (tx: Tx, on: Occasion, notification: Notification): Promise<number> =>
  notification.kind === 'thumbnail' ? emitThumbnail(tx, on, notification) : emitStreamEvent(tx, on, notification.event)
