import { type Kysely, type RawBuilder, sql, type SqlBool } from 'kysely'
import { CHANNEL_EVENT_TYPE } from '../../core/channels/webhooks/events.ts'
import { PROBE_EVERY_MS } from '../../core/channels/webhooks/health.ts'
import { WAIT_MAX_MS } from '../../core/webhooks/types.ts'
import { statement, Verbs } from '../executor.ts'
import { dbFlag } from '../columns.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type { ChannelWebhook, LoggedAttempt, LogQuery, Newest } from '../store.ts'
import { DELIVERY_COLUMNS, fromDeliveryRow } from './deliveryRow.ts'
import { newestFirst } from './keyset.ts'
import { lockRows } from './lockRows.ts'
import { disabledOf, HEALTH, healthFields, probedOf } from './webhooks.ts'

const named = (db: Kysely<DB>, p: { accountId: string; id: string }) =>
  db
    .selectFrom('webhooks')
    .select(fieldsOf('webhooks'))
    .where('public_id', '=', p.id)
    .where('account_id', '=', p.accountId)

const byId = statement(named)

const lock = statement((db, p: { accountId: string; id: string }, dialect) => lockRows(dialect, named(db, p), 'update'))

const allOf = (db: Kysely<DB>, { accountId }: { accountId: string }) =>
  db
    .selectFrom('webhooks')
    .select(fieldsOf('webhooks'))
    .where('account_id', '=', accountId)
    .where('public_id', 'is not', null)

const active = statement((db, p: { accountId: string }) => allOf(db, p).where('active', '=', 1).orderBy('id'))

const count = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('account_id', '=', p.accountId)
    .where('public_id', 'is not', null),
)

/** The start of an attempt, or the end of a skipped one, which never started. Constant once it is in the log. */
const LOGGED_AT = sql<number>`coalesce(started_at_ms, ended_at_ms)`

export class ChannelWebhookReadVerbs extends Verbs {
  async get(accountId: string, id: string): Promise<ChannelWebhook | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async page(query: Newest & { accountId: string }): Promise<ChannelWebhook[]> {
    const rows = await this.executor.ask((db) => newestFirst(allOf(db, query), ['added_at_ms', 'public_id'], query))
    return rows.map(fromRow)
  }

  async log({ slot, fromMs, untilMs, after, limit }: LogQuery): Promise<LoggedAttempt[]> {
    const rows = await this.executor.ask((db) => {
      let page = db
        .selectFrom('deliveries')
        .innerJoin('delivery_payloads', 'delivery_payloads.id', 'deliveries.id')
        .select(DELIVERY_COLUMNS)
        .select(['attempt', 'body', 'data', LOGGED_AT.as('loggedAtMs')])
        .where('webhook_id', '=', slot)
        // A literal, to match the partial index of the log.
        .where('type', '=', sql.lit(CHANNEL_EVENT_TYPE))
        .where('state', 'in', ['delivered', 'failed', 'unknown', 'skipped'])
      if (fromMs !== undefined) page = page.where(LOGGED_AT, '>=', fromMs)
      if (untilMs !== undefined) page = page.where(LOGGED_AT, '<', untilMs)
      if (after !== undefined) {
        // SQLite can seek in an index on an expression only by its first column.
        page = page.where(LOGGED_AT, '<=', after.atMs)
        page = page.where(sql<boolean>`(${LOGGED_AT}, deliveries.id) < (${after.atMs}, ${after.id})`)
      }
      return page.orderBy(LOGGED_AT, 'desc').orderBy('deliveries.id', 'desc').limit(limit)
    })
    return rows.map((row) => ({ ...fromDeliveryRow(row), attempt: row.attempt ?? 1 }))
  }

  async probesDue(query: { nowMs: number; limit: number }): Promise<number[]> {
    return (await this.executor.all(probesDue, query)).map(({ id }) => id)
  }
}

export class ChannelWebhookTxVerbs extends ChannelWebhookReadVerbs {
  async insert(webhook: Omit<ChannelWebhook, 'slot'>): Promise<void> {
    await this.executor.change((db) => db.insertInto('webhooks').values(toRow(webhook)))
  }

  async lock(accountId: string, id: string): Promise<ChannelWebhook | undefined> {
    const row = await this.executor.first(lock, { accountId, id })
    return row && fromRow(row)
  }

  async replace(webhook: ChannelWebhook): Promise<void> {
    await this.executor.change((db) => db.updateTable('webhooks').set(toRow(webhook)).where('id', '=', webhook.slot))
  }

  async active(accountId: string): Promise<ChannelWebhook[]> {
    return (await this.executor.all(active, { accountId })).map(fromRow)
  }

  async count(accountId: string): Promise<number> {
    return (await this.executor.first(count, { accountId }))?.n ?? 0
  }
}

/** Of a webhook: `isPaused` and `isProbeDue`, in SQL. */
export const isProbeDueAt = ({ nowMs }: { readonly nowMs: number }): RawBuilder<SqlBool> =>
  sql`disabled_until_ms > ${nowMs} and disabled_until_ms - ${nowMs} <= ${sql.lit(WAIT_MAX_MS)} and public_id is not null
    and active = 1 and (probed_at_ms is null or abs(probed_at_ms - ${nowMs}) >= ${sql.lit(PROBE_EVERY_MS)})`

const probesDue = statement((db, p: { nowMs: number; limit: number }) =>
  db.selectFrom('webhooks').select('id').where(isProbeDueAt(p)).orderBy('disabled_until_ms').limit(p.limit),
)

const SET = [
  'public_id',
  'account_id',
  'name',
  'description',
  'url',
  'events',
  'active',
  'secret_sealed',
  'added_at_ms',
  'updated_at_ms',
  ...HEALTH,
] as const

const toRow = ({ id, createdAtMs, ...webhook }: Omit<ChannelWebhook, 'slot'>) =>
  rowOf('webhooks', SET, {
    ...webhook,
    ...healthFields(webhook),
    publicId: id,
    events: JSON.stringify(webhook.events),
    active: dbFlag(webhook.active),
    addedAtMs: createdAtMs,
  })

function fromRow(row: FieldsOf<'webhooks'>): ChannelWebhook {
  const { id, accountId, description, url, secretSealed, failuresInRow, addedAtMs } = row
  return {
    id: row.publicId ?? '',
    slot: id,
    accountId,
    name: row.name ?? '',
    description,
    url,
    events: JSON.parse(row.events) as string[],
    active: row.active === 1,
    secretSealed,
    failuresInRow,
    disabled: disabledOf(row),
    ...probedOf(row),
    createdAtMs: addedAtMs,
    updatedAtMs: row.updatedAtMs ?? addedAtMs,
  }
}
