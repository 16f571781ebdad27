import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from 'kysely'
import { CLOCK_SKEW_MS } from '../../base/time.ts'
import { WAIT_MAX_MS } from '../../core/webhooks/types.ts'
import { type DialectName, statement, Verbs } from '../executor.ts'
import type { DB } from '../schema.ts'
import type { Delivery, DeliveryFilter, DeliveryQueue, DueWebhook, Payload, Reads } from '../store.ts'
import { DELIVERY_COLUMNS, fromDeliveryRow, fromPayloadRow, PAYLOAD_COLUMNS, STARTED } from './deliveryRow.ts'
import { isLeaseOver } from './now.ts'

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('deliveries').select(DELIVERY_COLUMNS).where('id', '=', p.id),
)

const payloadOf = statement((db, p: { id: string }) =>
  db.selectFrom('delivery_payloads').select(PAYLOAD_COLUMNS).where('id', '=', p.id),
)

interface Now {
  readonly nowMs: number
}

/** Whether deliveries were made at a time that has not come: the clock was ahead, and has been put back. */
const someAreAhead = ({ nowMs }: Now): RawBuilder<SqlBool> =>
  sql`(select max(created_at_ms) from deliveries) - ${nowMs} > ${sql.lit(CLOCK_SKEW_MS)}`

/**
 * The waiting ones of these, alias `late`. Each would wait for longer than its own pause, which began when it was made. Those of
 * a paused webhook wait for the end of the pause.
 */
export const isAhead = ({ nowMs }: Now): RawBuilder<SqlBool> =>
  sql`(${someAreAhead({ nowMs })} and late.state = 'waiting' and late.not_before_ms > ${nowMs}
    and late.created_at_ms - ${nowMs} > ${sql.lit(CLOCK_SKEW_MS)} and not exists (
      select 1 from webhooks where webhooks.id = late.webhook_id and disabled_until_ms = late.not_before_ms
    ))`

/** Whether a delivery has waited long enough, or would wait for longer than any, or than its own pause. Null: none waits. */
export const areRetriesDue = ({ nowMs }: Now): RawBuilder<SqlBool | null> =>
  sql`((select min(not_before_ms) from deliveries where state = 'waiting') <= ${nowMs}
    or (select max(not_before_ms) from deliveries where state = 'waiting') - ${nowMs} > ${sql.lit(WAIT_MAX_MS)}
    or case when ${someAreAhead({ nowMs })} then exists (select 1 from deliveries as late where ${isAhead({ nowMs })}) end)`

const retriesDue = statement((db, p: { nowMs: number }) => db.selectNoFrom(areRetriesDue(p).as('areDue')))

/** A started delivery whose node has lost it: its lease has expired, or it started too long ago. */
export const isLost = (
  eb: ExpressionBuilder<DB & { lost: DB['deliveries'] }, 'lost'>,
  startedBeforeMs: number,
  dialect: DialectName,
): Expression<SqlBool> =>
  eb.and([
    eb('lost.state', '=', STARTED),
    eb.or([
      eb('lost.started_at_ms', '<', startedBeforeMs),
      eb.not(
        eb.exists(
          eb
            .selectFrom('delivery_nodes')
            .select('delivery_nodes.id')
            .whereRef('delivery_nodes.id', '=', 'lost.node')
            .where((delivering) => delivering.not(isLeaseOver(dialect, 'alive_until_ms'))),
        ),
      ),
    ]),
  ])

/** Below every webhook. The condition lets SQLite read the partial index in its order. */
const BEFORE_ALL = sql.lit(Number.MIN_SAFE_INTEGER)

const queued = statement((db, p: { upTo: number }) => {
  const some = (state: 'pending' | 'waiting') =>
    db
      .selectFrom('deliveries')
      .select('webhook_id')
      .where('state', '=', sql.lit(state))
      .where('webhook_id', '>', BEFORE_ALL)
      .limit(p.upTo)
  const count = (state: 'pending' | 'waiting') =>
    db.selectFrom(some(state).as(state)).select((eb) => eb.fn.countAll<number>().as('n'))
  return db.selectNoFrom([count('pending').as('pending'), count('waiting').as('waiting')])
})

const someLost = statement((db, p: { startedBeforeMs: number }, dialect) =>
  db
    .selectFrom('deliveries as lost')
    .select('lost.id')
    .where((eb) => isLost(eb, p.startedBeforeMs, dialect))
    .unionAll(db.selectFrom('delivery_nodes').select('id').where(isLeaseOver(dialect, 'alive_until_ms')))
    .limit(1),
)

export class DeliveryReadVerbs extends Verbs {
  async get(id: string): Promise<Delivery | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromDeliveryRow(row)
  }

  async payload(id: string): Promise<Payload | undefined> {
    const row = await this.executor.first(payloadOf, { id })
    return (row && fromPayloadRow(row)) ?? undefined
  }

  async page(query: Parameters<Reads['deliveries']['page']>[0]): Promise<Delivery[]> {
    const { webhookId, after, limit } = query
    const rows = await this.executor.ask((db) => {
      const all = db
        .selectFrom('deliveries')
        .select(DELIVERY_COLUMNS)
        .where('webhook_id', '=', webhookId)
        .where((eb) => passes(eb, query))
      const older = after === undefined ? all : all.where('id', '<', after)
      return older.orderBy('id', 'desc').limit(limit)
    })
    return rows.map(fromDeliveryRow)
  }

  /**
   * A loose index scan: jumps from one webhook to the next in the index of pending rows instead of reading all of them, so
   * that a webhook with a hundred thousand rows costs as much as one with a few.
   */
  due({ after, without, upTo, limit }: Parameters<Reads['deliveries']['due']>[0]): Promise<DueWebhook[]> {
    const { accountIds, webhookIds } = without
    return this.executor.ask(
      () => sql<DueWebhook>`with recursive due(id) as (
          select min(webhook_id) from deliveries where state = 'pending' and webhook_id > ${after}
          union all
          select (select min(webhook_id) from deliveries where state = 'pending' and webhook_id > due.id)
          from due where due.id is not null
        ),
        owned as (
          select id, (
            select account_id from deliveries where state = 'pending' and webhook_id = due.id limit 1
          ) as account_id
          from due where id is not null ${webhookIds.length === 0 ? sql`` : sql`and id not in (${sql.join(webhookIds)})`}
        )
        select id as "webhookId", account_id as "accountId",
          (select url from webhooks where webhooks.id = owned.id) as url,
          (select failures_in_row from webhooks where webhooks.id = owned.id) as "failuresInRow", (
          select count(*) from (
            select 1 from deliveries where state = 'pending' and webhook_id = owned.id limit ${upTo}
          ) as counted
        ) as rows
        from owned ${accountIds.length === 0 ? sql`` : sql`where account_id not in (${sql.join(accountIds)})`}
        limit ${limit}`,
    )
  }

  async queue(upTo: number): Promise<DeliveryQueue> {
    const { pending, waiting } = (await this.executor.first(queued, { upTo })) ?? {}
    return { pending: pending ?? 0, waiting: waiting ?? 0 }
  }

  async isRetryDue(nowMs: number): Promise<boolean> {
    return Boolean((await this.executor.first(retriesDue, { nowMs }))?.areDue)
  }

  async isSomeLost(startedBeforeMs: number): Promise<boolean> {
    return (await this.executor.first(someLost, { startedBeforeMs })) !== undefined
  }
}

/** What a filter lets through. */
export function passes(
  eb: ExpressionBuilder<DB, 'deliveries'>,
  { state, type, fromMs, firstId }: DeliveryFilter,
): Expression<SqlBool> {
  const conditions: Expression<SqlBool>[] = []
  // A literal, because the planner cannot match a partial index with a parameter.
  if (state !== undefined) conditions.push(eb('state', '=', sql.lit(state)))
  if (type !== undefined) conditions.push(eb('type', '=', type))
  if (fromMs !== undefined) conditions.push(eb('created_at_ms', '>=', fromMs))
  if (firstId !== undefined) conditions.push(eb('deliveries.id', '>=', firstId))
  return eb.and(conditions)
}
