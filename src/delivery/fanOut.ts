import { timeOrderedId } from '../base/ids.ts'
import type { Random } from '../base/random.ts'
import { hookKindOf } from '../core/webhooks/events.ts'
import { coded, type Said, say } from '../core/notices.ts'
import { isPaused, routeTo } from '../core/webhooks/route.ts'
import { CHANNEL_EVENT_TYPE, wantsChannelEvent } from '../core/channels/webhooks/events.ts'
import { isProbeDue } from '../core/channels/webhooks/health.ts'
import type { ChannelEvent, ChannelWebhook, NewDelivery, OutboxEvent, StoredWebhook, Tx } from '../store/store.ts'

/** The most events in one transaction. */
export const EVENTS_AT_ONCE = 100
/** The most deliveries in one transaction, unless a single event has more: about 50 ms, in which SQLite lets the process do nothing else. */
const ROWS_AT_ONCE = 1000

/**
 * Turns events into deliveries: a pending row for each webhook that wants one, a skipped row where it is paused. The
 * events leave the outbox in the same transaction, so each is turned once, whichever node does it. Channel events
 * are also stored.
 * @param waiting the oldest events, as last read; none: not read, so any number of them is taken
 * @returns how many events were taken and how many rows are ready to send
 */
export async function fanOut(
  tx: Tx,
  waiting: readonly OutboxEvent[],
  nowMs: number,
  random: Random,
): Promise<{ events: number; pending: number }> {
  const webhooks = new AccountWebhooks(tx)
  const events = await tx.outbox.take(await eventsAtOnce(waiting, webhooks))
  const rows: NewDelivery[] = []
  const channelEvents: ChannelEvent[] = []
  for (const event of events) {
    if (event.type === CHANNEL_EVENT_TYPE) {
      const candidates = await webhooks.ofChannels(event.accountId)
      const { accountId, event: type, data, createdAtMs: atMs } = event
      const id = timeOrderedId(nowMs, random)
      channelEvents.push({ id, accountId, atMs, type, data })
      rows.push(...channelRowsOf(event, id, candidates, nowMs, random))
      continue
    }
    rows.push(...rowsOf(event, await webhooks.ofStreams(event.accountId), nowMs, random))
  }
  await tx.channelEvents.insert(channelEvents)
  await tx.deliveries.insert(rows)
  return { events: events.length, pending: rows.filter((row) => row.state === 'pending').length }
}

/** How many of the oldest events have no more deliveries than `ROWS_AT_ONCE` together; at least one. */
async function eventsAtOnce(waiting: readonly OutboxEvent[], webhooks: AccountWebhooks): Promise<number> {
  let rows = 0
  for (const [at, { accountId, type }] of waiting.entries()) {
    rows += (await (type === CHANNEL_EVENT_TYPE ? webhooks.ofChannels(accountId) : webhooks.ofStreams(accountId)))
      .length
    if (rows > ROWS_AT_ONCE) return Math.max(1, at)
  }
  return EVENTS_AT_ONCE
}

/** The webhooks of each account, read once in a transaction. */
class AccountWebhooks {
  readonly #tx: Tx
  readonly #ofStreams = new Map<string, StoredWebhook[]>()
  readonly #ofChannels = new Map<string, ChannelWebhook[]>()

  constructor(tx: Tx) {
    this.#tx = tx
  }

  async ofStreams(accountId: string): Promise<readonly StoredWebhook[]> {
    const found = this.#ofStreams.get(accountId) ?? (await this.#tx.webhooks.forAccount(accountId))
    this.#ofStreams.set(accountId, found)
    return found
  }

  /** The active ones. */
  async ofChannels(accountId: string): Promise<readonly ChannelWebhook[]> {
    const found = this.#ofChannels.get(accountId) ?? (await this.#tx.channelWebhooks.active(accountId))
    this.#ofChannels.set(accountId, found)
    return found
  }
}

function rowsOf(event: OutboxEvent, webhooks: readonly StoredWebhook[], nowMs: number, random: Random): NewDelivery[] {
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
  webhooks: readonly ChannelWebhook[],
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

export function skippedBecause(webhook: Pick<StoredWebhook, 'disabled' | 'active'>): Said {
  if (webhook.active === false) return say(coded('delivery_webhook_inactive'))
  return say(coded('delivery_paused'), ...(webhook.disabled?.reason ?? []))
}
