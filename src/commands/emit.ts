import type { OutboxEvent, Tx } from '../store/store.ts'

/** The account of an event, and its time in epoch milliseconds. */
export interface Occasion {
  readonly accountId: string
  readonly atMs: number
}

/** An event of either interface. Delivery makes the body from `data`. */
export interface EmittedEvent extends Pick<OutboxEvent, 'type' | 'event' | 'subject'> {
  readonly data: unknown
}

/**
 * Writes events for the webhooks of an account: rows of the outbox, in the transaction of the change, so that both are
 * committed or neither is. Delivery decides later on the body, the time and the webhooks.
 */
export function emit(tx: Tx, ...events: readonly (Occasion & EmittedEvent)[]): Promise<void> {
  return tx.outbox.append(
    ...events.map(({ accountId, atMs, type, event, subject, data }) => {
      return { accountId, type, event, subject, data: JSON.stringify(data), createdAtMs: atMs }
    }),
  )
}
