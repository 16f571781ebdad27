import { err, ok } from '../../base/result.ts'
import { noSuch, refusal } from '../../core/live/errors.ts'
import { readPlainQuery } from '../../core/live/listQuery.ts'
import {
  type LiveWebhookRules,
  readCreateLiveWebhook,
  readUpdateLiveWebhook,
  toLiveWebhookRecord,
} from '../../core/webhooksV2/rules.ts'
import type { LiveWebhookRecord } from '../../core/webhooksV2/schema.ts'
import type { LiveWebhook, Tx } from '../../store/store.ts'
import type { Actor, Context } from '../context.ts'
import { type KeysetPage, newestAfter } from '../keysetPage.ts'
import { type Answered, checked, isId, livePage, newId, type Reader, record } from '../v2/shared.ts'
import { newWebhookSecret, openWebhookSecret } from '../webhooks.ts'

/** Every event is held against every webhook of its account, so there is an end to them. */
const WEBHOOKS_MAX = 1000

/** Makes a webhook; unless the body says otherwise it is not active yet. */
export async function createLiveWebhook(ctx: Context, actor: Actor, body: unknown): Answered<LiveWebhookRecord> {
  const read = checked(readCreateLiveWebhook(body, ctx.checkTarget))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const webhook = {
    ...read.value,
    id: newId(ctx, 'wh'),
    accountId: actor.accountId,
    ...newWebhookSecret(ctx),
    failuresInRow: 0,
    disabled: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  return ctx.store.transaction(async (tx): Answered<LiveWebhookRecord> => {
    if ((await tx.liveWebhooks.count(actor.accountId)) >= WEBHOOKS_MAX) {
      return err(refusal('too_many', `There are ${WEBHOOKS_MAX} webhooks, the most`))
    }
    await tx.liveWebhooks.insert(webhook)
    await recordChange(tx, actor, nowMs, webhook, { verb: 'created', after: rulesOf(webhook) })
    return ok(toLiveWebhookRecord(webhook, nowMs))
  })
}

export async function readLiveWebhook(ctx: Context, reader: Reader, id: string): Answered<LiveWebhookRecord> {
  const webhook = await find(ctx, reader.accountId, id)
  return webhook ? ok(toLiveWebhookRecord(webhook, ctx.clock.now(), reader.seesSecrets)) : err(noSuch('webhook', id))
}

/** The secret that its callbacks are signed with. */
export async function readLiveWebhookSecret(ctx: Context, reader: Reader, id: string): Answered<{ secret: string }> {
  if (!reader.seesSecrets) {
    return err(refusal('insufficient_scope', 'This credential may not read secrets (its scope is read)'))
  }
  const webhook = await find(ctx, reader.accountId, id)
  return webhook ? ok({ secret: openWebhookSecret(ctx, webhook) }) : err(noSuch('webhook', id))
}

/** Gives a webhook another secret, which counts for everything that is sent from then on. */
export async function rotateLiveWebhookSecret(ctx: Context, actor: Actor, id: string): Answered<{ secret: string }> {
  const fresh = newWebhookSecret(ctx)
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): Answered<{ secret: string }> => {
    const before = isId(id) ? await tx.liveWebhooks.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('webhook', id))
    await tx.liveWebhooks.replace({ ...before, ...fresh, updatedAtMs: nowMs })
    await recordChange(tx, actor, nowMs, before, { verb: 'secret_rotated' })
    return ok({ secret: openWebhookSecret(ctx, fresh) })
  })
}

/** Edits a webhook. What waits for one that is deactivated is given up. */
export async function updateLiveWebhook(
  ctx: Context,
  actor: Actor,
  id: string,
  body: unknown,
): Answered<LiveWebhookRecord> {
  const patch = checked(readUpdateLiveWebhook(body, ctx.checkTarget))
  if (!patch.ok) return patch
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): Answered<LiveWebhookRecord> => {
    const before = isId(id) ? await tx.liveWebhooks.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('webhook', id))
    const changed = { ...before, ...patch.value, updatedAtMs: nowMs }
    const isFresh = patch.value.active === true || changed.url !== before.url
    const after = isFresh ? { ...changed, failuresInRow: 0, disabled: null } : changed
    await tx.liveWebhooks.replace(after)
    if (before.disabled && isFresh) await tx.deliveries.resume(before.lane, before.disabled.untilMs, nowMs)
    if (before.active && !after.active) await tx.deliveries.giveUp(before.lane, 'the webhook was deactivated', nowMs)
    const states = { before: rulesOf(before), after: rulesOf(after) }
    await recordChange(tx, actor, nowMs, after, { verb: 'updated', ...states })
    return ok(toLiveWebhookRecord(after, nowMs))
  })
}

/** Deletes a webhook that is not active. Its log cannot be read any more. */
export function deleteLiveWebhook(ctx: Context, actor: Actor, id: string): Answered<true> {
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): Answered<true> => {
    const webhook = isId(id) ? await tx.liveWebhooks.lock(actor.accountId, id) : undefined
    if (!webhook) return err(noSuch('webhook', id))
    if (webhook.active) {
      const how = 'deactivate it first (PATCH with "active": false)'
      return err(refusal('webhook_active', `The webhook "${webhook.name}" is active: ${how}`))
    }
    await tx.webhooks.delete(webhook.lane)
    await recordChange(tx, actor, nowMs, webhook, { verb: 'deleted', before: rulesOf(webhook) })
    return ok(true)
  })
}

/** One page of webhooks, newest first. */
export async function listLiveWebhooks(
  ctx: Context,
  { accountId, seesSecrets }: Reader,
  query: Record<string, unknown>,
): Answered<KeysetPage<LiveWebhookRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const page = await livePage(ctx, {
    scope: { list: 'live_webhooks', filters: { accountId } },
    ...read.value,
    keyOf: (row: LiveWebhook) => [row.createdAtMs, row.id],
    read: (position, limit) => ctx.store.read.liveWebhooks.page({ accountId, limit, ...newestAfter(position) }),
  })
  const nowMs = ctx.clock.now()
  if (!page.ok) return page
  return ok({ ...page.value, data: page.value.data.map((row) => toLiveWebhookRecord(row, nowMs, seesSecrets)) })
}

const find = async (ctx: Context, accountId: string, id: string): Promise<LiveWebhook | undefined> =>
  isId(id) ? ctx.store.read.liveWebhooks.get(accountId, id) : undefined

function recordChange(
  tx: Tx,
  actor: Actor,
  atMs: number,
  { id, name }: Pick<LiveWebhook, 'id' | 'name'>,
  change: { verb: string; before?: unknown; after?: unknown },
): Promise<void> {
  return record(tx, actor, atMs, { type: 'webhook', id, name }, change)
}

/** What an audit row shows. */
const rulesOf = ({ name, url, events, description, active }: LiveWebhookRules): LiveWebhookRules => ({
  name,
  url,
  events,
  description,
  active,
})
