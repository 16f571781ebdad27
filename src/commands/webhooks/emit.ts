import { type JsonHookType, subjectOf, type WebhookEvent } from '../../core/webhooks/events.ts'
import type { Notification } from '../../core/webhooks/examples.ts'
import type { OutboxEvent, Tx } from '../../store/store.ts'

/**
 * Emits events for webhooks. Each function appends one row to the outbox, in the transaction of the change, so that
 * change and event are written together or not at all. Delivery decides later what is sent, when and to which webhook.
 */

/** The account of an event, and when it happened, in epoch milliseconds. */
export interface Occasion {
  readonly accountId: string
  readonly atMs: number
}

/** An event of one family: its name with the data that belongs to it. */
type EventOf<T extends JsonHookType> = Extract<WebhookEvent, { type: T }>

/** A stream started or ended. */
export const emitFeed = (tx: Tx, on: Occasion, event: EventOf<'feeds'>): Promise<number> => append(tx, on, event)

/** A recording began, is complete, failed or was deleted. */
export const emitRecording = (tx: Tx, on: Occasion, event: EventOf<'recording'>): Promise<number> =>
  append(tx, on, event)

/** A transcoder started, stopped or failed. */
export const emitTranscoder = (tx: Tx, on: Occasion, event: EventOf<'transcoder'>): Promise<number> =>
  append(tx, on, event)

/**
 * A viewer was refused for lack of a stream, the first viewer came, or a stream has had no viewers for a while. The
 * caller limits how often.
 */
export const emitViewerConnection = (tx: Tx, on: Occasion, event: EventOf<'viewerConnection'>): Promise<number> =>
  append(tx, on, event)

/** A thumbnail of a stream on the air. */
export function emitThumbnail(
  tx: Tx,
  on: Occasion,
  { feedId, streamId, tokenId, image, subject }: Extract<Notification, { kind: 'thumbnail' }>,
): Promise<number> {
  const data = JSON.stringify({ feedId, streamId, tokenId, image: Buffer.from(image).toString('base64') })
  return tx.outbox.append({ ...rowOf(on), type: 'thumbnail', event: 'captured', subject, data })
}

/** An event of any family. */
export const emit = (tx: Tx, on: Occasion, notification: Notification): Promise<number> =>
  notification.kind === 'thumbnail' ? emitThumbnail(tx, on, notification) : append(tx, on, notification.event)

function append(tx: Tx, on: Occasion, event: WebhookEvent): Promise<number> {
  const { type, event: name, data } = event
  return tx.outbox.append({
    ...rowOf(on),
    type,
    event: name,
    subject: subjectOf(event),
    data: JSON.stringify(data),
  })
}

const rowOf = ({ accountId, atMs }: Occasion): Pick<OutboxEvent, 'accountId' | 'createdAtMs'> => ({
  accountId,
  createdAtMs: atMs,
})
