import type { Kysely } from 'kysely'
import type { CodedSentence } from '../../core/notices.ts'
import { NO_HOOKS } from '../../core/webhooks/kinds.ts'
import type { Health, HookSwitches } from '../../core/webhooks/types.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import { columnsOf, type DB, type RowOf, type NewRowOf } from '../schema.ts'
import type { StoredWebhook, WebhookPageQuery } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { deletePendingDeliveries } from './deliveries.ts'

/** The webhooks of the token interface. */
const allOf = (db: Kysely<DB>, { accountId }: { accountId: string }) =>
  db
    .selectFrom('webhooks')
    .select(columnsOf('webhooks'))
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

const setHealth = statement((db, p: { id: number } & HealthColumns) =>
  db
    .updateTable('webhooks')
    .set({
      failures_in_row: p.failures_in_row,
      disabled_until_ms: p.disabled_until_ms,
      disabled_reason: p.disabled_reason,
    })
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
      await this.executor.ask((db) =>
        db.insertInto('webhooks').values(toRow(webhook)).returning(columnsOf('webhooks')),
      ),
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
      const named = db.selectFrom('webhooks').select(columnsOf('webhooks')).where('id', 'in', ids).orderBy('id')
      return lockRows(dialect, named, 'update')
    })
    return rows.map(fromRow)
  }

  async replace(webhook: StoredWebhook): Promise<void> {
    await this.executor.change((db) => db.updateTable('webhooks').set(toRow(webhook)).where('id', '=', webhook.id))
  }

  async setHealth(id: number, health: Health): Promise<void> {
    await this.executor.run(setHealth, { id, ...healthColumns(health) })
  }

  async setProbed(id: number, atMs: number): Promise<void> {
    await this.executor.run(setProbed, { id, atMs })
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
    await deletePendingDeliveries(this.executor, id)
  }
}

type HealthColumns = Pick<RowOf<'webhooks'>, 'failures_in_row' | 'disabled_until_ms' | 'disabled_reason'>

export const healthColumns = ({ failuresInRow, disabled }: Health): HealthColumns => ({
  failures_in_row: failuresInRow,
  disabled_until_ms: disabled?.untilMs ?? null,
  disabled_reason: disabled && JSON.stringify(disabled.reason),
})

/** Includes kinds that only a newer version knows: it may run beside this one. */
const switchesOf = (events: string): HookSwitches => ({
  ...NO_HOOKS,
  ...Object.fromEntries((JSON.parse(events) as string[]).map((type) => [type, true])),
})

function toRow(webhook: Omit<StoredWebhook, 'id'>): NewRowOf<'webhooks'> {
  const { hooks } = webhook
  return {
    account_id: webhook.accountId,
    url: webhook.url,
    secret_sealed: webhook.secretSealed,
    events: JSON.stringify(Object.entries(hooks).flatMap(([type, isOn]) => (isOn ? [type] : []))),
    filter: webhook.filter,
    ...healthColumns(webhook),
    added_at_ms: webhook.addedAtMs,
  }
}

function fromRow(row: RowOf<'webhooks'>): StoredWebhook {
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    secretSealed: row.secret_sealed,
    hooks: switchesOf(row.events),
    filter: row.filter,
    failuresInRow: row.failures_in_row,
    disabled: disabledOf(row),
    addedAtMs: row.added_at_ms,
    ...(row.public_id === null ? {} : { active: row.active === 1, ...probedOf(row) }),
  }
}

export const disabledOf = ({ disabled_until_ms: untilMs, disabled_reason: json }: HealthColumns): Health['disabled'] =>
  untilMs === null ? null : { untilMs, reason: JSON.parse(json ?? '[]') as readonly CodedSentence[] }

/** The last probe; absent before the first pause. */
export const probedOf = ({ probed_at_ms: atMs }: Pick<RowOf<'webhooks'>, 'probed_at_ms'>) =>
  atMs === null ? {} : { probedAtMs: atMs }
