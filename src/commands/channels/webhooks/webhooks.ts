import { err, ok } from '../../../base/result.ts'
import { noSuch, refusal } from '../../../core/channels/errors.ts'
import { readPlainQuery } from '../../../core/channels/listQuery.ts'
import {
  type ChannelWebhookRules,
  readCreateChannelWebhook,
  readUpdateChannelWebhook,
  toChannelWebhookRecord,
} from '../../../core/channels/webhooks/rules.ts'
import type { ChannelWebhookRecord } from '../../../core/channels/webhooks/schema.ts'
import { coded, say } from '../../../core/notices.ts'
import type { ChannelWebhook } from '../../../store/store.ts'
import { hasRoom } from '../../accounts/accounts.ts'
import type { Actor, WebhookContext } from '../../context.ts'
import { type KeysetPage, newestAfter } from '../../pages.ts'
import {
  type ChannelResult,
  checked,
  isId,
  channelPage,
  newId,
  type ChannelReader,
  recordChanges,
} from '../channelCommand.ts'
import { newWebhookSecret, openWebhookSecret } from '../../webhooks/webhooks.ts'

/** Bounds the webhooks of an account, because Sluice matches every event against each of them. */
const WEBHOOKS_MAX = 1000

/** What an operator may choose for a new webhook, and a client of the API may not. */
interface ChosenWebhook {
  readonly id?: string | undefined
  /** base64; by default a fresh one. */
  readonly secret?: string | undefined
}

/** Creates a webhook; it is inactive unless the body says otherwise. */
export async function createChannelWebhook(
  ctx: WebhookContext,
  actor: Actor,
  body: unknown,
  { id = newId(ctx, 'wh'), secret }: ChosenWebhook = {},
): ChannelResult<ChannelWebhookRecord> {
  const read = checked(readCreateChannelWebhook(body, ctx.checkTarget))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const { accountId } = actor
  const webhook = {
    ...read.value,
    id,
    accountId,
    ...newWebhookSecret(ctx, secret),
    failuresInRow: 0,
    disabled: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  return ctx.store.transaction(async (tx): ChannelResult<ChannelWebhookRecord> => {
    if (!(await hasRoom(tx, accountId, WEBHOOKS_MAX, () => tx.channelWebhooks.count(accountId))))
      return err(refusal('too_many', `There are ${WEBHOOKS_MAX} webhooks, the most`))
    await tx.channelWebhooks.insert(webhook)
    await recordChanges(ctx, tx, actor, { object: objectOf(webhook), verb: 'created', after: rulesOf(webhook) })
    return ok(toChannelWebhookRecord(webhook, nowMs))
  })
}

export async function readChannelWebhook(
  ctx: WebhookContext,
  reader: ChannelReader,
  id: string,
): ChannelResult<ChannelWebhookRecord> {
  const webhook = await find(ctx, reader.accountId, id)
  return webhook ? ok(toChannelWebhookRecord(webhook, ctx.clock.now(), reader.seesSecrets)) : err(noSuch('webhook', id))
}

/** The secret that signs its requests. */
export async function readChannelWebhookSecret(
  ctx: WebhookContext,
  reader: ChannelReader,
  id: string,
): ChannelResult<{ secret: string }> {
  if (!reader.seesSecrets) {
    return err(refusal('insufficient_scope', 'This credential may not read secrets (its scope is read)'))
  }
  const webhook = await find(ctx, reader.accountId, id)
  return webhook ? ok({ secret: openWebhookSecret(ctx, webhook) }) : err(noSuch('webhook', id))
}

/** Gives a webhook a new secret, or the chosen one, which signs everything that is sent from then on. */
export async function rotateChannelWebhookSecret(
  ctx: WebhookContext,
  actor: Actor,
  id: string,
  chosen?: string,
): ChannelResult<{ secret: string }> {
  const fresh = newWebhookSecret(ctx, chosen)
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): ChannelResult<{ secret: string }> => {
    const before = isId(id) ? await tx.channelWebhooks.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('webhook', id))
    await tx.channelWebhooks.replace({ ...before, ...fresh, updatedAtMs: nowMs })
    await recordChanges(ctx, tx, actor, { object: objectOf(before), verb: 'secret_rotated' })
    return ok({ secret: openWebhookSecret(ctx, fresh) })
  })
}

/** Edits a webhook. Deactivating it drops its pending deliveries. */
export async function updateChannelWebhook(
  ctx: WebhookContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<ChannelWebhookRecord> {
  const patch = checked(readUpdateChannelWebhook(body, ctx.checkTarget))
  if (!patch.ok) return patch
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): ChannelResult<ChannelWebhookRecord> => {
    const before = isId(id) ? await tx.channelWebhooks.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('webhook', id))
    const changed = { ...before, ...patch.value, updatedAtMs: nowMs }
    const isFresh = patch.value.active === true || changed.url !== before.url
    const after = isFresh ? { ...changed, failuresInRow: 0, disabled: null } : changed
    await tx.channelWebhooks.replace(after)
    if (before.disabled && isFresh) await tx.deliveries.resume(before.slot, before.disabled.untilMs, nowMs)
    if (before.active && !after.active)
      await tx.deliveries.giveUp(before.slot, say(coded('delivery_webhook_inactive')), nowMs)
    const states = { before: rulesOf(before), after: rulesOf(after) }
    await recordChanges(ctx, tx, actor, { object: objectOf(after), verb: 'updated', ...states })
    return ok(toChannelWebhookRecord(after, nowMs))
  })
}

/** Deletes an inactive webhook. Its log can no longer be read. */
export function deleteChannelWebhook(ctx: WebhookContext, actor: Actor, id: string): ChannelResult<true> {
  return ctx.store.transaction(async (tx): ChannelResult<true> => {
    const webhook = isId(id) ? await tx.channelWebhooks.lock(actor.accountId, id) : undefined
    if (!webhook) return err(noSuch('webhook', id))
    if (webhook.active) {
      const how = 'deactivate it first (PATCH with "active": false)'
      return err(refusal('webhook_active', `The webhook "${webhook.name}" is active: ${how}`))
    }
    await tx.webhooks.delete(webhook.slot)
    await recordChanges(ctx, tx, actor, { object: objectOf(webhook), verb: 'deleted', before: rulesOf(webhook) })
    return ok(true)
  })
}

/** One page of webhooks, newest first. */
export async function listChannelWebhooks(
  ctx: WebhookContext,
  { accountId, seesSecrets }: ChannelReader,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<ChannelWebhookRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const page = await channelPage(ctx, {
    scope: { list: 'channel_webhooks', filters: { accountId } },
    ...read.value,
    keyOf: (row: ChannelWebhook) => [row.createdAtMs, row.id],
    read: (position, limit) => ctx.store.read.channelWebhooks.page({ accountId, limit, ...newestAfter(position) }),
  })
  const nowMs = ctx.clock.now()
  if (!page.ok) return page
  return ok({ ...page.value, data: page.value.data.map((row) => toChannelWebhookRecord(row, nowMs, seesSecrets)) })
}

const find = async (ctx: WebhookContext, accountId: string, id: string): Promise<ChannelWebhook | undefined> =>
  isId(id) ? ctx.store.read.channelWebhooks.get(accountId, id) : undefined

const objectOf = ({ id, name }: Pick<ChannelWebhook, 'id' | 'name'>) => ({ type: 'webhook', id, name }) as const

/** The fields in an audit row. */
const rulesOf = ({ name, url, events, description, active }: ChannelWebhookRules): ChannelWebhookRules => ({
  name,
  url,
  events,
  description,
  active,
})
