import { timeOrderedId } from '../base/ids.ts'
import type { Random } from '../base/random.ts'
import type { HookType } from '../core/webhooks/events.ts'
import { routeTo } from '../core/webhooks/route.ts'
import type { NewDelivery, OutboxEvent, StoredWebhook, Tx } from '../store/store.ts'

/** Events taken in one transaction; with what they bring to each webhook, a few megabytes. */
const EVENTS_AT_ONCE = 100

/**
 * Turns events into deliveries: a pending row for each webhook that wants one, a skipped row where it is paused. The
 * events leave the outbox in the same transaction, so each is turned once, whoever does it.
 * @returns how many events were taken and how many rows wait for sending now
 */
export async function fanOut(tx: Tx, nowMs: number, random: Random): Promise<{ events: number; pending: number }> {
  const events = await tx.outbox.take(EVENTS_AT_ONCE)
  const webhooks = new Map<string, StoredWebhook[]>()
  const rows: NewDelivery[] = []
  for (const event of events) {
    const candidates = webhooks.get(event.accountId) ?? (await tx.webhooks.forAccount(event.accountId))
    webhooks.set(event.accountId, candidates)
    rows.push(...rowsOf(event, candidates, nowMs, random))
  }
  await tx.deliveries.insert(rows)
  return { events: events.length, pending: rows.filter((row) => row.state === 'pending').length }
}

function rowsOf(event: OutboxEvent, webhooks: StoredWebhook[], nowMs: number, random: Random): NewDelivery[] {
  const { accountId, type, subject, data, createdAtMs } = event
  const eventId = timeOrderedId(nowMs, random)
  return webhooks.flatMap((webhook): NewDelivery[] => {
    const routing = routeTo(webhook, type as HookType, subject, nowMs)
    if (routing === 'ignore') return []
    const id = timeOrderedId(nowMs, random)
    const row = { id, eventId, webhookId: webhook.id, accountId, type, event: event.event, subject, data, createdAtMs }
    return routing === 'send'
      ? [{ ...row, state: 'pending', error: null }]
      : [{ ...row, state: 'skipped', error: skippedBecause(webhook) }]
  })
}

export function skippedBecause(webhook: Pick<StoredWebhook, 'disabled'>): string {
  return `the webhook was disabled: ${webhook.disabled?.reason ?? ''}`
}
