import { timeOrderedId } from '../../../base/ids.ts'
import { err, ok } from '../../../base/result.ts'
import { noSuch, refusal } from '../../../core/channels/errors.ts'
import { eventIdOf, exampleOf, CHANNEL_EVENT_TYPE } from '../../../core/channels/webhooks/events.ts'
import { readChannelWebhookTest } from '../../../core/channels/webhooks/rules.ts'
import type { SentEntry } from '../../../core/channels/webhooks/schema.ts'
import type { Delivery, ChannelWebhook, Tx } from '../../../store/store.ts'
import { type Actor, type WebhookContext, audit } from '../../context.ts'
import { type ChannelResult, checked, isId } from '../channelCommand.ts'

// Manual sends: once, and also while the webhook is paused or inactive.

/** Sends an event of the log again: the same body and event id, with a new signature. */
export async function redeliverChannelEvent(
  ctx: WebhookContext,
  actor: Actor,
  webhookId: string,
  logId: string,
): ChannelResult<SentEntry> {
  const nowMs = ctx.clock.now()
  const id = timeOrderedId(nowMs, ctx.random)
  const deliveryId = logId.replace(/^lg_/, '')
  const found = isId(logId) ? await ctx.store.read.deliveries.get(deliveryId) : undefined
  return onWebhook(ctx, actor, webhookId, async (tx, webhook): ChannelResult<SentEntry> => {
    if (found?.webhookId !== webhook.slot || !logId.startsWith('lg_')) return err(noSuch('log entry', logId))
    if (isUnderWay(found)) return err(refusal('delivery_under_way', 'This delivery has not ended yet; wait for it'))
    const again = await tx.deliveries.redeliver({ of: deliveryId, id, atMs: nowMs })
    if (!again) return err(noSuch('log entry', logId))
    const after = { logId: `lg_${id}`, eventId: eventIdOf(again.eventId), redeliveryOf: logId }
    await audit(tx, actor, nowMs, { action: 'webhook.redelivered', subject: webhookId, after })
    return ok({ id: `lg_${id}`, eventId: eventIdOf(again.eventId), type: again.event })
  })
}

const isUnderWay = ({ state }: Delivery): boolean => state === 'pending' || state === 'started' || state === 'waiting'

/** Sends an example of an event; its `data` marks it as a test. */
export async function testChannelWebhook(
  ctx: WebhookContext,
  actor: Actor,
  webhookId: string,
  body: unknown,
): ChannelResult<SentEntry> {
  const read = checked(readChannelWebhookTest(body))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const [id, eventId] = [timeOrderedId(nowMs, ctx.random), timeOrderedId(nowMs, ctx.random)]
  return onWebhook(ctx, actor, webhookId, async (tx, webhook): ChannelResult<SentEntry> => {
    const type = read.value.type ?? firstOf(webhook)
    const about = {
      webhookId: webhook.slot,
      accountId: actor.accountId,
      type: CHANNEL_EVENT_TYPE,
      event: type,
      subject: null,
    }
    const data = JSON.stringify(exampleOf(type, nowMs))
    const row = { id, eventId, ...about, data, createdAtMs: nowMs, state: 'pending' as const, error: null }
    await tx.deliveries.insert([row])
    await audit(tx, actor, nowMs, { action: 'webhook.tested', subject: webhookId, after: { logId: `lg_${id}`, type } })
    return ok({ id: `lg_${id}`, eventId: eventIdOf(eventId), type })
  })
}

/** The first event that it subscribes to. */
const firstOf = ({ events: [first = '*'] }: ChannelWebhook): string => (first === '*' ? 'channel.updated' : first)

async function onWebhook<T>(
  ctx: WebhookContext,
  actor: Actor,
  id: string,
  work: (tx: Tx, webhook: ChannelWebhook) => ChannelResult<T>,
): ChannelResult<T> {
  return ctx.store.transaction(async (tx) => {
    const webhook = isId(id) ? await tx.channelWebhooks.lock(actor.accountId, id) : undefined
    return webhook ? work(tx, webhook) : err(noSuch('webhook', id))
  })
}
