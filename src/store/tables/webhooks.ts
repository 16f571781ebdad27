import type { Kysely } from 'kysely'
import type { CodedSentence } from '../../core/notices.ts'
import { NO_HOOKS } from '../../core/webhooks/kinds.ts'
import type { Health, HookSwitches } from '../../core/webhooks/types.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type { StoredWebhook, WebhookPageQuery } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { deletePendingDeliveries } from './deliveries.ts'

/** The webhooks of the token interface. */
const allOf = (db: Kysely<DB>, { accountId }: { accountId: string }) =>
  db
    .selectFrom('webhooks')
    .select(fieldsOf('webhooks'))
    .where('account_id', '=', accountId)
    .where('public_id', 'is', null)

interface NamedWebhook {
  accountId: string
  id: number
}

const byId = statement((db, p: NamedWebhook) => allOf(db, p).where('id', '=', p.id))

const lock = statement((db, p: NamedWebhook, dialect) =>
  lockRows(dialect, allOf(db, p).where('id', '=', p.id), 'update'),
)

const ofAccount = statement((db, p: { accountId: string }) => allOf(db, p).orderBy('id'))

export const HEALTH = ['failures_in_row', 'disabled_until_ms', 'disabled_reason'] as const
type HealthFields = FieldsOf<'webhooks', (typeof HEALTH)[number]>

const setHealth = statement((db, p: { id: number } & HealthFields) =>
  db
    .updateTable('webhooks')
    .set(rowOf('webhooks', HEALTH, p))
    .where('id', '=', p.id),
)

const setProbed = statement((db, p: { id: number; atMs: number }) =>
  db.updateTable('webhooks').set({ probed_at_ms: p.atMs }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('webhooks').where('id', '=', p.id))

export class WebhookReadVerbs extends Verbs {
  async get(accountId: string, id: number): Promise<StoredWebhook | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async list(query: WebhookPageQuery): Promise<StoredWebhook[]> {
    const { accountId, startingId, itemCount, descending } = query
    const rows = await this.executor.ask((db) => {
      const all = allOf(db, { accountId })
      const from = startingId === undefined ? all : all.where('id', descending ? '<=' : '>=', startingId)
      return from.orderBy('id', descending ? 'desc' : 'asc').limit(itemCount)
    })
    return rows.map(fromRow)
  }

  async forAccount(accountId: string): Promise<StoredWebhook[]> {
    return (await this.executor.all(ofAccount, { accountId })).map(fromRow)
  }
}

export class WebhookTxVerbs extends WebhookReadVerbs {
  async insert(webhook: Omit<StoredWebhook, 'id'>): Promise<StoredWebhook> {
    const row = inserted(
      await this.executor.ask((db) => db.insertInto('webhooks').values(toRow(webhook)).returning(fieldsOf('webhooks'))),
    )
    return fromRow(row)
  }

  async lock(accountId: string, id: number): Promise<StoredWebhook | undefined> {
    const row = await this.executor.first(lock, { accountId, id })
    return row && fromRow(row)
  }

  async lockAll(ids: readonly number[]): Promise<StoredWebhook[]> {
    if (ids.length === 0) return []
    const rows = await this.executor.ask((db, dialect) => {
      const named = db.selectFrom('webhooks').select(fieldsOf('webhooks')).where('id', 'in', ids).orderBy('id')
      return lockRows(dialect, named, 'update')
    })
    return rows.map(fromRow)
  }

  async replace(webhook: StoredWebhook): Promise<void> {
    await this.executor.change((db) => db.updateTable('webhooks').set(toRow(webhook)).where('id', '=', webhook.id))
  }

  async setHealth(id: number, health: Health): Promise<void> {
    await this.executor.run(setHealth, { id, ...healthFields(health) })
  }

  async setProbed(id: number, atMs: number): Promise<void> {
    await this.executor.run(setProbed, { id, atMs })
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
    await deletePendingDeliveries(this.executor, id)
  }
}

export const healthFields = ({ failuresInRow, disabled }: Health): HealthFields => ({
  failuresInRow,
  disabledUntilMs: disabled?.untilMs ?? null,
  disabledReason: disabled && JSON.stringify(disabled.reason),
})

/** Includes kinds that only a newer version knows: it may run beside this one. */
const switchesOf = (events: string): HookSwitches => ({
  ...NO_HOOKS,
  ...Object.fromEntries((JSON.parse(events) as string[]).map((type) => [type, true])),
})

const SET = ['account_id', 'url', 'secret_sealed', 'events', 'filter', 'added_at_ms', ...HEALTH] as const

const toRow = (webhook: Omit<StoredWebhook, 'id'>) =>
  rowOf('webhooks', SET, {
    ...webhook,
    ...healthFields(webhook),
    events: JSON.stringify(Object.entries(webhook.hooks).flatMap(([type, isOn]) => (isOn ? [type] : []))),
  })

function fromRow(row: FieldsOf<'webhooks'>): StoredWebhook {
  const { id, accountId, url, secretSealed, filter, failuresInRow, addedAtMs } = row
  return {
    id,
    accountId,
    url,
    secretSealed,
    hooks: switchesOf(row.events),
    filter,
    failuresInRow,
    disabled: disabledOf(row),
    addedAtMs,
    ...(row.publicId === null ? {} : { active: row.active === 1, ...probedOf(row) }),
  }
}

export const disabledOf = ({ disabledUntilMs: untilMs, disabledReason: json }: HealthFields): Health['disabled'] =>
  untilMs === null ? null : { untilMs, reason: JSON.parse(json ?? '[]') as readonly CodedSentence[] }

/** The last probe; absent before the first pause. */
export const probedOf = ({ probedAtMs }: FieldsOf<'webhooks', 'probed_at_ms'>) =>
  probedAtMs === null ? {} : { probedAtMs }
