import { type JsonHookType, subjectOf, type WebhookEvent } from '../../core/webhooks/events.ts'
import type { Notification } from '../../core/webhooks/examples.ts'
import type { OutboxEvent, Tx } from '../../store/store.ts'

/**
 * How events come to webhooks: each of these appends one row to the outbox, in the transaction of the change that it
 * tells of, so that there is never one without the other. What is sent, when and to whom is decided later.
 */

/** Whose event it is, and when it happened, epoch milliseconds. */
export interface Occasion {
  readonly accountId: string
  readonly atMs: number
}

/** An event of one family: its name with the data that belongs to it. */
type EventOf<T extends JsonHookType> = Extract<WebhookEvent, { type: T }>

/** A stream began or ceased to be published. */
export const emitFeed = (tx: Tx, on: Occasion, event: EventOf<'feeds'>): Promise<number> => append(tx, on, event)

/** A recording began, is complete, failed or was deleted. */
export const emitRecording = (tx: Tx, on: Occasion, event: EventOf<'recording'>): Promise<number> =>
  append(tx, on, event)

/** A transcoder was started, was stopped or failed. */
export const emitTranscoder = (tx: Tx, on: Occasion, event: EventOf<'transcoder'>): Promise<number> =>
  append(tx, on, event)

/**
 * Somebody tried to view, the first viewer came, or none has been there for a while. How often is the caller's to
 * decide.
 */
export const emitViewerConnection = (tx: Tx, on: Occasion, event: EventOf<'viewerConnection'>): Promise<number> =>
  append(tx, on, event)

/** An image of a live stream. */
export function emitThumbnail(
  tx: Tx,
  on: Occasion,
  { feedId, streamId, tokenId, image, subject }: Extract<Notification, { kind: 'thumbnail' }>,
): Promise<number> {
  const data = JSON.stringify({ feedId, streamId, tokenId, image: Buffer.from(image).toString('base64') })
  return tx.outbox.append({ ...rowOf(on), type: 'thumbnail', event: 'captured', subject, data })
}

/** Any of them. */
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
