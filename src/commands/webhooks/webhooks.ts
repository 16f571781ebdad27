import { err, ok, type Result } from '../../base/result.ts'
import { failure, type FieldErrors, invalid, notFound, type Failure } from '../../core/errors.ts'
import { readWebhookListQuery } from '../../core/webhooks/requests.ts'
import {
  patched,
  readWebhookCreate,
  readWebhookUpdate,
  refuseFilters,
  toWebhookRecord,
} from '../../core/webhooks/rules.ts'
import type { WebhookRecord } from '../../core/webhooks/schema.ts'
import type { Webhook } from '../../core/webhooks/types.ts'
import type { StoredWebhook, Tx } from '../../store/store.ts'
import { hasRoom } from '../accounts/accounts.ts'
import { type Actor, type CommandContext, type WebhookContext, audit } from '../context.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'

/** Bounds the webhooks of an account, because Sluice matches every event against each of them. */
const WEBHOOKS_MAX = 1000

const SECRET_BYTES = 32
const { context: SECRET_CONTEXT } = SEALED_COLUMNS.webhook

/** The refusal for an unknown webhook id. Another account's webhook gets exactly the same refusal. */
export const noWebhook = (id: number | string): Failure =>
  notFound('webhookId', `No webhook with id: ${String(id).slice(0, 32)}`)

/**
 * Creates a webhook from an untrusted body. If any field is invalid, nothing is written.
 * @param chosen the base64 of a secret that the operator has chosen; by default a fresh one
 */
export async function createWebhook(
  ctx: WebhookContext,
  actor: Actor,
  body: unknown,
  chosen?: string,
): Promise<Result<WebhookRecord, Failure>> {
  const rules = readWebhookCreate(body, ctx.checkTarget)
  if (!rules.ok) return err(invalid(rules.error))
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const fresh = newWebhookSecret(ctx, chosen)
  const made = await ctx.store.transaction(async (tx): Promise<Result<StoredWebhook, Failure>> => {
    if (!(await hasRoom(tx, accountId, WEBHOOKS_MAX, async () => (await tx.webhooks.forAccount(accountId)).length)))
      return err(failure('conflict', `There are ${WEBHOOKS_MAX} webhooks, the most`))
    const refused = await refusedFilters(tx, { ...rules.value, accountId, id: 0 })
    if (refused !== null) return err(invalid(refused))
    const health = { failuresInRow: 0, disabled: null }
    const stored = await tx.webhooks.insert({ ...rules.value, ...health, ...fresh, accountId, addedAtMs: nowMs })
    await audit(tx, actor, nowMs, { action: 'webhook.create', subject: String(stored.id), after: auditView(stored) })
    return ok(stored)
  })
  return made.ok ? ok(recordOf(ctx, made.value)) : made
}

export async function readWebhook(
  ctx: WebhookContext,
  accountId: string,
  id: number,
): Promise<Result<WebhookRecord, Failure>> {
  const webhook = await ctx.store.read.webhooks.get(accountId, id)
  return webhook ? ok(recordOf(ctx, webhook)) : err(noWebhook(id))
}

/** One page in the order of creation, or in reverse. */
export async function listWebhooks(
  ctx: WebhookContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<WebhookRecord[], Failure>> {
  const read = readWebhookListQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { startingId, ...page } = read.value
  const from = startingId === undefined ? {} : { startingId }
  const webhooks = await ctx.store.read.webhooks.list({ accountId, ...page, ...from })
  return ok(webhooks.map((webhook) => recordOf(ctx, webhook)))
}

/**
 * Edits a webhook; a new secret signs everything that is sent from then on.
 * @param chosen the secret in place of a fresh one, when the body refreshes it
 */
export async function updateWebhook(
  ctx: WebhookContext,
  actor: Actor,
  id: number,
  body: unknown,
  chosen?: string,
): Promise<Result<WebhookRecord, Failure>> {
  const patch = readWebhookUpdate(body, ctx.checkTarget)
  if (!patch.ok) return err(invalid(patch.error))
  const { refreshSecret } = patch.value
  const nowMs = ctx.clock.now()
  const after = await ctx.store.transaction(async (tx): Promise<Result<StoredWebhook, Failure>> => {
    const before = await tx.webhooks.lock(actor.accountId, id)
    if (!before) return err(noWebhook(id))
    const { secretSealed } = refreshSecret ? newWebhookSecret(ctx, chosen) : before
    const changed = { ...patched(before, patch.value), secretSealed }
    const refused = changed.filter === before.filter ? null : await refusedFilters(tx, changed)
    if (refused !== null) return err(invalid(refused))
    await tx.webhooks.replace(changed)
    await audit(tx, actor, nowMs, {
      action: 'webhook.update',
      subject: String(id),
      before: auditView(before),
      after: { ...auditView(changed), ...(refreshSecret ? { refreshSecret } : {}) },
    })
    return ok(changed)
  })
  return after.ok ? ok(recordOf(ctx, after.value)) : after
}

/** What is wrong with the filters of an account when a webhook has this one; null: nothing. */
async function refusedFilters(
  tx: Pick<Tx, 'webhooks'>,
  webhook: Pick<Webhook, 'filter' | 'accountId' | 'id'>,
): Promise<FieldErrors | null> {
  if (webhook.filter === null) return null
  const others = await tx.webhooks.forAccount(webhook.accountId)
  return refuseFilters([...others.filter(({ id }) => id !== webhook.id), webhook])
}

/** Deletes a webhook and its pending deliveries. A delivery under way ends by itself. */
export async function deleteWebhook(ctx: WebhookContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.webhooks.lock(actor.accountId, id)
    if (!before) return false
    await tx.webhooks.delete(id)
    await audit(tx, actor, nowMs, { action: 'webhook.delete', subject: String(id), before: auditView(before) })
    return true
  })
  return found ? ok(true) : err(noWebhook(id))
}

/** A secret, sealed; by default 32 random bytes in base64. */
export function newWebhookSecret(
  { random, sealer }: Pick<CommandContext, 'random' | 'sealer'>,
  secret: string = random.bytes(SECRET_BYTES).toString('base64'),
): Pick<StoredWebhook, 'secretSealed'> {
  return { secretSealed: sealer.seal(secret, SECRET_CONTEXT) }
}

/** The secret of a stored webhook, base64. Throws if it was sealed with a key that this node does not have. */
export function openWebhookSecret(
  ctx: Pick<CommandContext, 'sealer'>,
  webhook: Pick<StoredWebhook, 'secretSealed'>,
): string {
  const opened = ctx.sealer.open(webhook.secretSealed, SECRET_CONTEXT)
  if (!opened.ok) throw new Error(`a webhook's secret cannot be opened with this node's sealing key: ${opened.error}`)
  return opened.value.toString('ascii')
}

const recordOf = (ctx: WebhookContext, webhook: StoredWebhook): WebhookRecord =>
  toWebhookRecord(webhook, openWebhookSecret(ctx, webhook), ctx.clock.now())

/** A webhook in an audit row: the stored record without the secret in any form. */
function auditView({ secretSealed: _secret, ...shown }: StoredWebhook): Webhook {
  return shown
}
