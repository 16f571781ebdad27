import { firstIdOf, timeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { isoTime } from '../../base/time.ts'
import { failure, invalid, notFound, type Failure } from '../../core/errors.ts'
import { saidAs } from '../../core/notices.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { readDeliveryQuery } from '../../core/webhooks/deliveryQuery.ts'
import type { Delivery, Payload } from '../../store/store.ts'
import { type Actor, type WebhookContext, audit } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'
import { noWebhook } from './webhooks.ts'

/** A delivery as the interface shows it. */
export type DeliveryEntry = ReturnType<typeof toDeliveryEntry>

export type DeliveryPage = KeysetPage<DeliveryEntry>

/** One page of the deliveries to one webhook, pending ones included; newest first. */
export async function listDeliveries(
  ctx: WebhookContext,
  mac: Mac,
  accountId: string,
  webhookId: number,
  query: Record<string, unknown>,
): Promise<Result<DeliveryPage, Failure>> {
  const read = readDeliveryQuery(query)
  if (!read.ok) return err(invalid(read.error))
  if (!(await ctx.store.read.webhooks.get(accountId, webhookId))) return err(noWebhook(webhookId))
  const { limit: most, cursor, ...filter } = read.value
  const page = await paginate(mac, {
    scope: { list: 'webhook_deliveries', filters: { accountId, webhookId, ...filter } },
    limit: most,
    cursor,
    keyOf: (row: Delivery) => [row.id],
    read: ([after], limit) =>
      ctx.store.read.deliveries.page({
        webhookId,
        ...filter,
        ...idBound(filter.fromMs),
        limit,
        ...(typeof after === 'string' ? { after } : {}),
      }),
  })
  return mapPage(page, toDeliveryEntry)
}

/** Clocks of nodes may differ, so ids may be a little earlier than the events that they follow. */
const CLOCKS_MS = 60_000

/** A delivery is younger than its event. */
export const idBound = (fromMs: number | undefined): { firstId?: string } =>
  fromMs === undefined ? {} : { firstId: firstIdOf(fromMs - CLOCKS_MS) }

/** The request that Sluice sent, but for its signature. */
export interface SentRequest {
  readonly contentType: string
  /** Headers that belong to the body, such as those of a thumbnail. */
  readonly headers: Readonly<Record<string, string>>
  readonly encoding: 'utf8' | 'base64'
  readonly body: string
  readonly bytes: number
}

/** One delivery with the bytes that were sent; `sent` is absent before it started. */
export async function readDelivery(
  ctx: WebhookContext,
  accountId: string,
  webhookId: number,
  deliveryId: string,
): Promise<Result<DeliveryEntry & { sent?: SentRequest }, Failure>> {
  if (!(await ctx.store.read.webhooks.get(accountId, webhookId))) return err(noWebhook(webhookId))
  const found = await ctx.store.read.deliveries.get(deliveryId)
  if (found?.webhookId !== webhookId) return err(noDelivery(deliveryId))
  const payload = found.startedAtMs === null ? undefined : await ctx.store.read.deliveries.payload(deliveryId)
  return ok({ ...toDeliveryEntry(found), ...(payload ? { sent: sentOf(payload) } : {}) })
}

function sentOf({ body, contentType, headers }: Payload): SentRequest {
  const bytes = Buffer.from(body)
  const encoding = contentType === 'application/json' ? 'utf8' : 'base64'
  return { contentType, headers, encoding, body: bytes.toString(encoding), bytes: bytes.length }
}

/** The latest deliveries, newest first. */
export async function recentDeliveries(
  ctx: WebhookContext,
  accountId: string,
  webhookId: number,
  limit: number,
): Promise<Result<DeliveryEntry[], Failure>> {
  if (!(await ctx.store.read.webhooks.get(accountId, webhookId))) return err(noWebhook(webhookId))
  return ok((await ctx.store.read.deliveries.page({ webhookId, limit })).map(toDeliveryEntry))
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
    return ok(toDeliveryEntry(again))
  })
}

const isUnderWay = ({ state }: Delivery): boolean => state === 'pending' || state === 'started'

const noDelivery = (id: string): Failure => notFound('deliveryId', `No delivery with id: ${id.slice(0, 32)}`)

/** A row as the interface shows it, without unknown fields. */
export function toDeliveryEntry(row: Delivery) {
  return {
    id: row.id,
    eventId: row.eventId,
    type: row.type,
    event: row.event,
    ...(row.subject === null ? {} : { subject: row.subject }),
    state: row.state,
    createdOn: isoTime(row.createdAtMs),
    ...(row.startedAtMs === null ? {} : { startedOn: isoTime(row.startedAtMs) }),
    ...(row.endedAtMs === null ? {} : { endedOn: isoTime(row.endedAtMs) }),
    ...(row.statusCode === null ? {} : { statusCode: row.statusCode }),
    ...(row.durationMs === null ? {} : { durationMs: row.durationMs }),
    ...(row.answer === null ? {} : { answer: row.answer }),
    ...saidAs('error', row.error),
    ...(row.redeliveryOf === null ? {} : { redeliveryOf: row.redeliveryOf }),
  }
}
