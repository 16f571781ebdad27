import { sql } from 'kysely'
import { CHANNEL_EVENT_TYPE } from '../../core/channels/webhooks/events.ts'
import { type Executor, inSlices, statement } from '../executor.ts'
import { RowTable } from '../rowTable.ts'
import { saidColumn } from '../said.ts'
import type { ClaimedDelivery, DeliveryEnd, NewDelivery, Payload, Tx } from '../store.ts'
import { DeliveryNodeVerbs } from './deliveryNodes.ts'
import { passes } from './deliveryReads.ts'
import {
  DELIVERY_COLUMNS,
  fromDeliveryRow,
  fromPayloadRow,
  PAYLOAD_COLUMNS,
  PENDING,
  STARTED,
  toDeliveryRow,
  WAITING,
} from './deliveryRow.ts'
import { lockRows } from './lockRows.ts'

const startedCount = statement((db, p: { webhookId: number; cap: number }) =>
  db
    .selectFrom(
      db
        .selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', p.webhookId)
        .where('state', '=', STARTED)
        .limit(p.cap)
        .as('started'),
    )
    .select((eb) => eb.fn.countAll<number>().as('n')),
)

const claimable = statement((db, p: { webhookId: number; limit: number }, dialect) => {
  const oldest = db
    .selectFrom('deliveries')
    .innerJoin('delivery_payloads', 'delivery_payloads.id', 'deliveries.id')
    .select(DELIVERY_COLUMNS)
    .select(PAYLOAD_COLUMNS)
    .select(['attempt', 'data'])
    .where('webhook_id', '=', p.webhookId)
    .where('state', '=', PENDING)
    .orderBy('deliveries.id')
    .limit(p.limit)
  return lockRows(dialect, oldest, 'update', 'deliveries')
})

const ENDS = new RowTable('ended', {
  end_id: 'text',
  end_state: 'text',
  at_ms: 'bigint',
  status: 'bigint',
  took_ms: 'bigint',
  said: 'text',
  problem: 'text',
})

const end = statement(
  (_, p: { node: string; state: 'started' | 'unknown' } & ReturnType<typeof ENDS.params>, dialect) => sql<{
    id: string
  }>`update deliveries set state = end_state, ended_at_ms = at_ms, status_code = status,
      duration_ms = took_ms, answer = said, error = problem
      from ${ENDS.from(p, dialect)}
      where id = end_id and node = ${p.node} and state = ${p.state}
      returning id`,
)

const toEndRow = (ended: DeliveryEnd) => ({
  endId: ended.id,
  endState: ended.state,
  atMs: ended.endedAtMs,
  status: ended.statusCode,
  tookMs: ended.durationMs,
  said: ended.answer,
  problem: ended.error && saidColumn(ended.error),
})

const removePending = statement((db, p: { webhookId: number }) =>
  db
    .deleteFrom('deliveries')
    .where('webhook_id', '=', p.webhookId)
    .where('state', 'in', [PENDING, WAITING])
    .returning('id'),
)

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db
    .deleteFrom('deliveries')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('deliveries as old')
        .select('old.id')
        .where('old.created_at_ms', '<', p.beforeMs)
        .where('old.state', 'not in', [PENDING, STARTED, WAITING])
        .orderBy('old.created_at_ms')
        .limit(p.limit),
    )
    .returning('id'),
)

export class DeliveryTxVerbs extends DeliveryNodeVerbs {
  async insert(rows: readonly NewDelivery[]): Promise<void> {
    await inSlices(rows, async (slice) => {
      await this.executor.change((db) => db.insertInto('deliveries').values(slice.map(toDeliveryRow)))
      const payloads = slice.map(({ id, data }) => ({ id, data }))
      await this.executor.change((db) => db.insertInto('delivery_payloads').values(payloads))
    })
  }

  /** Those that no other delivery repeats. */
  async undelivered(query: Parameters<Tx['deliveries']['undelivered']>[0]): Promise<string[]> {
    const { webhookId, states, after, before, limit } = query
    const rows = await this.executor.ask((db) =>
      db
        .selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where((eb) => eb.or(states.map((state) => eb('state', '=', sql.lit(state)))))
        .where((eb) => passes(eb, query))
        .where('id', '>', after)
        .where('id', '<', before)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('deliveries as again')
                .select('again.id')
                .whereRef('again.redelivery_of', '=', 'deliveries.id'),
            ),
          ),
        )
        .orderBy('id')
        .limit(limit),
    )
    return rows.map(({ id }) => id)
  }

  async claim({ webhookId, take, cap }: Parameters<Tx['deliveries']['claim']>[0]): Promise<ClaimedDelivery[]> {
    const started = (await this.executor.first(startedCount, { webhookId, cap }))?.n ?? 0
    const limit = Math.min(take, cap - started)
    if (limit <= 0) return []
    const rows = await this.executor.all(claimable, { webhookId, limit })
    return rows.map(({ body, contentType, headers, ...row }) => ({
      ...fromDeliveryRow(row),
      payload: fromPayloadRow({ body, contentType, headers }),
    }))
  }

  /** Uses one statement for the rows and one for the bytes of each slice. */
  async start(node: string, atMs: number, claimed: readonly { id: string; payload: Payload }[]): Promise<void> {
    await inSlices(claimed, async (slice) => {
      const ids = slice.map(({ id }) => id)
      const changed = await this.executor.change((db) =>
        db
          .updateTable('deliveries')
          .set({ state: 'started', started_at_ms: atMs, node })
          .where('id', 'in', ids)
          .where('state', '=', PENDING),
      )
      if (changed !== ids.length) throw new Error('a delivery was started that had not been claimed')
      await this.executor.change((db) =>
        db
          .insertInto('delivery_payloads')
          .values(slice.map(({ id, payload }) => ({ id, data: '', ...payloadColumns(payload) })))
          .onConflict((c) =>
            c.column('id').doUpdateSet((eb) => ({
              body: eb.ref('excluded.body'),
              content_type: eb.ref('excluded.content_type'),
              headers: eb.ref('excluded.headers'),
              // Clears the event, which the bytes contain.
              data: eb.ref('excluded.data'),
            })),
          ),
      )
    })
  }

  async finish(node: string, ends: readonly DeliveryEnd[]): Promise<string[]> {
    const ended: string[] = []
    await inSlices(ends, async (slice) => {
      const rows = ENDS.params(this.executor, slice.map(toEndRow))
      const started = await this.executor.all(end, { node, state: 'started', ...rows })
      ended.push(...started.map(({ id }) => id))
      if (started.length < slice.length) await this.executor.run(end, { node, state: 'unknown', ...rows })
    })
    return ended
  }

  async skip({
    webhookId,
    reason,
    atMs,
    limit,
    includesRequested,
  }: Parameters<Tx['deliveries']['skip']>[0]): Promise<number> {
    return this.executor.change((db, dialect) => {
      const pending = db
        .selectFrom('deliveries as old')
        .select('old.id')
        .where('old.webhook_id', '=', webhookId)
        .where('old.state', '=', PENDING)
        .orderBy('old.id')
        .limit(limit)
      const chosen = includesRequested
        ? pending
        : pending
            .where('old.redelivery_of', 'is', null)
            .where((eb) => eb.or([eb('old.type', '<>', CHANNEL_EVENT_TYPE), eb('old.attempt', 'is not', null)]))
      return db
        .updateTable('deliveries')
        .set({ state: 'skipped', error: saidColumn(reason), ended_at_ms: atMs })
        .where('id', 'in', lockRows(dialect, chosen, 'update'))
    })
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    const gone = await this.executor.all(prune, { beforeMs, limit })
    await deletePayloads(this.executor, gone)
    return gone.length
  }
}

const payloadColumns = ({ body, contentType, headers }: Payload) => ({
  body,
  content_type: contentType,
  headers: JSON.stringify(headers),
})

export async function deletePendingDeliveries(executor: Executor, webhookId: number): Promise<void> {
  await deletePayloads(executor, await executor.all(removePending, { webhookId }))
}

async function deletePayloads(executor: Executor, gone: readonly { id: string }[]): Promise<void> {
  await inSlices(gone, (slice) => {
    const ids = slice.map(({ id }) => id)
    return executor.change((db) => db.deleteFrom('delivery_payloads').where('id', 'in', ids))
  })
}
