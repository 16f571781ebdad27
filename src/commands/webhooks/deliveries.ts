import { timeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, invalid, notFound, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { readCursorQuery } from '../../core/webhooks/requests.ts'
import type { Delivery } from '../../store/store.ts'
import { type Actor, type WebhookContext, audit } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'
import { noWebhook } from './webhooks.ts'

/** A delivery as the interface shows it. */
export type DeliveryEntry = ReturnType<typeof toEntry>

export type DeliveryPage = KeysetPage<DeliveryEntry>

/** One page of the deliveries to one webhook, pending ones included; newest first. */
export async function listDeliveries(
  ctx: WebhookContext,
  mac: Mac,
  accountId: string,
  webhookId: number,
  query: Record<string, unknown>,
): Promise<Result<DeliveryPage, Failure>> {
  const read = readCursorQuery(query)
  if (!read.ok) return err(invalid(read.error))
  if (!(await ctx.store.read.webhooks.get(accountId, webhookId))) return err(noWebhook(webhookId))
  const page = await paginate(mac, {
    scope: { list: 'webhook_deliveries', filters: { accountId, webhookId } },
    limit: read.value.limit,
    cursor: read.value.cursor,
    keyOf: (row: Delivery) => [row.id],
    read: ([after], limit) =>
      ctx.store.read.deliveries.page({ webhookId, limit, ...(typeof after === 'string' ? { after } : {}) }),
  })
  return mapPage(page, toEntry)
}

/** The latest deliveries, newest first. */
export async function recentDeliveries(
  ctx: WebhookContext,
  accountId: string,
  webhookId: number,
  limit: number,
): Promise<Result<DeliveryEntry[], Failure>> {
  if (!(await ctx.store.read.webhooks.get(accountId, webhookId))) return err(noWebhook(webhookId))
  return ok((await ctx.store.read.deliveries.page({ webhookId, limit })).map(toEntry))
}

/**
 * Sends an event again at a user's request, with the same bytes and the same event id. Returns the new, pending entry
 * of the log.
 */
export async function redeliver(
  ctx: WebhookContext,
  actor: Actor,
  webhookId: number,
  deliveryId: string,
): Promise<Result<DeliveryEntry, Failure>> {
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const id = timeOrderedId(nowMs, ctx.random)
  const found = await ctx.store.read.deliveries.get(deliveryId)
  return ctx.store.transaction(async (tx): Promise<Result<DeliveryEntry, Failure>> => {
    if (!(await tx.webhooks.lock(accountId, webhookId))) return err(noWebhook(webhookId))
    if (found?.webhookId !== webhookId) return err(noDelivery(deliveryId))
    if (isUnderWay(found)) return err(failure('conflict', 'This delivery has not ended yet; wait for it'))
    const again = await tx.deliveries.redeliver({ of: deliveryId, id, atMs: nowMs })
    if (!again) return err(noDelivery(deliveryId))
    const after = { deliveryId: again.id, eventId: again.eventId, redeliveryOf: deliveryId }
    await audit(tx, actor, nowMs, { action: 'webhook.redeliver', subject: String(webhookId), after })
    return ok(toEntry(again))
  })
}

const isUnderWay = ({ state }: Delivery): boolean => state === 'pending' || state === 'started'

const noDelivery = (id: string): Failure => notFound('deliveryId', `No delivery with id: ${id.slice(0, 32)}`)

/** A row as the interface shows it, without unknown fields. */
function toEntry(row: Delivery) {
  return {
    id: row.id,
    eventId: row.eventId,
    type: row.type,
    event: row.event,
    ...(row.subject === null ? {} : { subject: row.subject }),
    state: row.state,
    createdOn: dateOf(row.createdAtMs),
    ...(row.startedAtMs === null ? {} : { startedOn: dateOf(row.startedAtMs) }),
    ...(row.endedAtMs === null ? {} : { endedOn: dateOf(row.endedAtMs) }),
    ...(row.statusCode === null ? {} : { statusCode: row.statusCode }),
    ...(row.durationMs === null ? {} : { durationMs: row.durationMs }),
    ...(row.answer === null ? {} : { answer: row.answer }),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.redeliveryOf === null ? {} : { redeliveryOf: row.redeliveryOf }),
  }
}

const dateOf = (ms: number): string => new Date(ms).toISOString()
