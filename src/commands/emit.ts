import type { OutboxEvent, Tx } from '../store/store.ts'

/** Whose event it is, and when it happened, epoch milliseconds. */
export interface Occasion {
  readonly accountId: string
  readonly atMs: number
}

/** An event of either interface. `data` is what the event is made of when it is delivered. */
export interface EmittedEvent extends Pick<OutboxEvent, 'type' | 'event' | 'subject'> {
  readonly data: unknown
}

/**
 * Writes an event for the webhooks of an account: one row in the outbox, in the transaction of the change, so that there
 * is never one without the other. Delivery decides later what is sent, when and to which webhooks. Answers the row's id.
 */
export function emit(
  tx: Tx,
  { accountId, atMs }: Occasion,
  { type, event, subject, data }: EmittedEvent,
): Promise<number> {
  return tx.outbox.append({ accountId, type, event, subject, data: JSON.stringify(data), createdAtMs: atMs })
}
