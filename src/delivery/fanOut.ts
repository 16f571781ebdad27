import { timeOrderedId } from '../base/ids.ts'
import type { Random } from '../base/random.ts'
import { hookKindOf } from '../core/webhooks/events.ts'
import { isPaused, routeTo } from '../core/webhooks/route.ts'
import { CHANNEL_EVENT_TYPE, wantsChannelEvent } from '../core/channels/webhooks/events.ts'
import { isProbeDue } from '../core/channels/webhooks/health.ts'
import type { ChannelEvent, ChannelWebhook, NewDelivery, OutboxEvent, StoredWebhook, Tx } from '../store/store.ts'

/** The most events in one transaction: with their deliveries to each webhook, a few megabytes. */
const EVENTS_AT_ONCE = 100

/**
 * Turns events into deliveries: a pending row for each webhook that wants one, a skipped row where it is paused. The
 * events leave the outbox in the same transaction, so each is turned once, whichever node does it. Channel events
 * are also stored.
 * @returns how many events were taken and how many rows are ready to send
 */
export async function fanOut(tx: Tx, nowMs: number, random: Random): Promise<{ events: number; pending: number }> {
  const events = await tx.outbox.take(EVENTS_AT_ONCE)
  const webhooks = new Map<string, StoredWebhook[]>()
  const channelWebhooks = new Map<string, ChannelWebhook[]>()
  const rows: NewDelivery[] = []
  const channelEvents: ChannelEvent[] = []
  for (const event of events) {
    if (event.type === CHANNEL_EVENT_TYPE) {
      const candidates = channelWebhooks.get(event.accountId) ?? (await tx.channelWebhooks.active(event.accountId))
      channelWebhooks.set(event.accountId, candidates)
      const { accountId, event: type, data, createdAtMs: atMs } = event
      const id = timeOrderedId(nowMs, random)
      channelEvents.push({ id, accountId, atMs, type, data })
      rows.push(...channelRowsOf(event, id, candidates, nowMs, random))
      continue
    }
    const candidates = webhooks.get(event.accountId) ?? (await tx.webhooks.forAccount(event.accountId))
    webhooks.set(event.accountId, candidates)
    rows.push(...rowsOf(event, candidates, nowMs, random))
  }
  await tx.channelEvents.insert(channelEvents)
  await tx.deliveries.insert(rows)
  return { events: events.length, pending: rows.filter((row) => row.state === 'pending').length }
}

function rowsOf(event: OutboxEvent, webhooks: StoredWebhook[], nowMs: number, random: Random): NewDelivery[] {
  const { accountId, type, subject, data, createdAtMs } = event
  const eventId = timeOrderedId(nowMs, random)
  return webhooks.flatMap((webhook): NewDelivery[] => {
    const routing = routeTo(webhook, hookKindOf(event), subject, nowMs)
    if (routing === 'ignore') return []
    const id = timeOrderedId(nowMs, random)
    const row = { id, eventId, webhookId: webhook.id, accountId, type, event: event.event, subject, data, createdAtMs }
    return routing === 'send'
      ? [{ ...row, state: 'pending', error: null }]
      : [{ ...row, state: 'skipped', error: skippedBecause(webhook) }]
  })
}

/**
 * Channel events are retried, so their rows count attempts. An event during a pause is skipped, unless it can serve
 * as a probe.
 */
function channelRowsOf(
  event: OutboxEvent,
  eventId: string,
  webhooks: ChannelWebhook[],
  nowMs: number,
  random: Random,
): NewDelivery[] {
  const { accountId, type, subject, data, createdAtMs } = event
  return webhooks
    .filter((webhook) => wantsChannelEvent(webhook, event.event))
    .map((webhook): NewDelivery => {
      const id = timeOrderedId(nowMs, random)
      const about = { accountId, type, event: event.event, subject, data, createdAtMs, attempt: 1 as const }
      const row = { id, eventId, webhookId: webhook.slot, ...about }
      return isPaused(webhook, nowMs) && !isProbeDue(webhook.probedAtMs, nowMs)
        ? { ...row, state: 'skipped', error: skippedBecause(webhook) }
        : { ...row, state: 'pending', error: null }
    })
}

export function skippedBecause(webhook: Pick<StoredWebhook, 'disabled' | 'active'>): string {
  if (webhook.active === false) return 'the webhook was deactivated'
  return `the webhook was disabled: ${webhook.disabled?.reason ?? ''}`
}
