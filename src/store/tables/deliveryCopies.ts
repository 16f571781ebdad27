import { type ExpressionBuilder, sql } from 'kysely'
import { statement } from '../executor.ts'
import type { DB } from '../schema.ts'
import type { Delivery } from '../store.ts'
import { DeliveryReadVerbs } from './deliveryReads.ts'
import { DELIVERY_COLUMNS, fromDeliveryRow } from './deliveryRow.ts'

/** The delivery of the same event to the same webhook: a redelivery, or the next attempt. */
interface Copy {
  /** The delivery that is copied. */
  readonly of: string
  /** The id of the copy. */
  readonly id: string
  readonly atMs: number
}

const COPIED = ['event_id', 'webhook_id', 'account_id', 'type', 'event', 'subject'] as const

/** The columns of `COPIED`, the id, the state and the time of a copy, in this order. */
const copied = (eb: ExpressionBuilder<DB, 'deliveries'>, p: Copy, state: 'pending' | 'waiting') =>
  eb
    .selectFrom('deliveries as first')
    .select(COPIED)
    .select([
      sql<string>`cast(${p.id} as text)`.as('new_id'),
      sql<string>`${sql.lit(state)}`.as('new_state'),
      sql<number>`cast(${p.atMs} as bigint)`.as('at'),
    ])
    .where('first.id', '=', p.of)

const COPY_COLUMNS = [...COPIED, 'id', 'state', 'created_at_ms'] as const

const redelivery = statement((db, p: Copy) =>
  db
    .insertInto('deliveries')
    .columns([...COPY_COLUMNS, 'redelivery_of'])
    .expression((eb) => copied(eb, p, 'pending').select('first.id as of'))
    .returning(DELIVERY_COLUMNS),
)

const nextAttempt = statement((db, p: Copy & { notBeforeMs: number }) =>
  db
    .insertInto('deliveries')
    .columns([...COPY_COLUMNS, 'attempt', 'not_before_ms'])
    .expression((eb) =>
      copied(eb, p, 'waiting')
        .select([
          // A skipped delivery was not attempted, so its number stays.
          sql<number>`case when first.state = 'skipped' then first.attempt else first.attempt + 1 end`.as('next'),
          sql<number>`cast(${p.notBeforeMs} as bigint)`.as('not_before'),
        ])
        .where('first.attempt', 'is not', null),
    ),
)

/** A copy sends exactly the bytes of the first attempt. */
const copyPayload = statement((db, p: Pick<Copy, 'of' | 'id'>) =>
  db
    .insertInto('delivery_payloads')
    .columns(['id', 'data', 'body', 'content_type', 'headers'])
    .expression((eb) =>
      eb
        .selectFrom('delivery_payloads as first')
        .select([sql<string>`cast(${p.id} as text)`.as('new_id'), 'data', 'body', 'content_type', 'headers'])
        .where('first.id', '=', p.of),
    ),
)

/** Redeliveries and further attempts. */
export class DeliveryCopyVerbs extends DeliveryReadVerbs {
  async redeliver(copy: Copy): Promise<Delivery | undefined> {
    const row = await this.executor.first(redelivery, copy)
    if (!row) return undefined
    await this.executor.run(copyPayload, copy)
    return fromDeliveryRow(row)
  }

  async retry(copy: Copy & { notBeforeMs: number }): Promise<boolean> {
    if ((await this.executor.run(nextAttempt, copy)) === 0) return false
    await this.executor.run(copyPayload, copy)
    return true
  }
}
