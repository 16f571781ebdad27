import type { ClaimedDelivery, Delivery, DeliveryEnd, Payload, StoredWebhook, Tx } from '../store/store.ts'
import type { EgressRequest } from '../net/egress.ts'
import { coded, type Said, say } from '../core/notices.ts'
import { isPaused } from '../core/webhooks/route.ts'
import { CHANNEL_EVENT_TYPE } from '../core/channels/webhooks/events.ts'
import { isProbeDue } from '../core/channels/webhooks/health.ts'
import { skippedBecause } from './fanOut.ts'
import type { Claim } from './slots.ts'
import { fixPayload, requestFor, type Sender } from './payload.ts'

/** The most rows of a paused webhook that are skipped or deferred in one transaction. */
const ASIDE_AT_ONCE = 1000

/** What the log says of a delivery beside its result. */
export interface DeliveryFacts
  extends Pick<Delivery, 'accountId' | 'eventId' | 'type' | 'event' | 'subject' | 'redeliveryOf'> {
  /** From the event to the start of the attempt, milliseconds. */
  readonly waitedMs: number
}

/** A delivery that is stored as started and may now be sent, once. */
export interface StartedDelivery {
  readonly id: string
  readonly webhookId: number
  /** The number of the attempt, for events that are retried; null: the only one. */
  readonly attempt: number | null
  readonly request: EgressRequest
  readonly facts: DeliveryFacts
}

interface Prepared {
  readonly id: string
  readonly payload: Payload
  /** The delivery to send, or why it cannot be sent. */
  readonly next: StartedDelivery | { readonly error: Said }
}

/**
 * Starts the claimed deliveries: fixes their bytes and stores them as `started`. The caller may send them only after
 * this transaction has committed.
 * @param cap deliveries in progress to one webhook, on all nodes
 * @returns also how many were set aside, so that there may be more to start
 */
export async function begin(
  tx: Tx,
  claims: readonly Claim[],
  how: { sender: Sender; node: string; nowMs: number; cap: number },
): Promise<{ started: StartedDelivery[]; aside: number }> {
  const webhooks = new Map((await tx.webhooks.lockAll(claims.map((one) => one.webhookId))).map((w) => [w.id, w]))
  const prepared: Prepared[] = []
  let aside = 0
  for (const { webhookId, take } of claims) {
    const webhook = webhooks.get(webhookId)
    if (!webhook) {
      aside += await skip(tx, {
        webhookId,
        reason: say(coded('delivery_webhook_gone')),
        atMs: how.nowMs,
        includesRequested: true,
      })
      continue
    }
    const claimed = await claimFor(tx, webhook, { take, ...how })
    aside += claimed.aside
    prepared.push(...claimed.rows.map((row) => prepare(row, webhook, how.sender, how.nowMs)))
  }
  await tx.deliveries.start(how.node, how.nowMs, prepared)
  await tx.deliveries.finish(
    how.node,
    prepared.flatMap((one) => impossible(one, how.nowMs)),
  )
  return { started: prepared.flatMap(({ next }) => ('error' in next ? [] : [next])), aside }
}

interface ClaimLimits {
  readonly take: number
  readonly cap: number
  readonly nowMs: number
}

interface Claimed {
  rows: ClaimedDelivery[]
  /** Skipped rows, or rows deferred to the end of a pause. */
  aside: number
}

async function claimFor(tx: Tx, webhook: StoredWebhook, { take, cap, nowMs }: ClaimLimits): Promise<Claimed> {
  const paused = isPaused(webhook, nowMs)
  if (webhook.active === true && paused) return claimProbe(tx, webhook, { take, cap, nowMs })
  const off = webhook.active === false || paused
  const aside = off
    ? await skip(tx, { webhookId: webhook.id, reason: skippedBecause(webhook), atMs: nowMs, includesRequested: false })
    : 0
  const rows = await tx.deliveries.claim({ webhookId: webhook.id, take, cap })
  return { rows: off ? rows.filter(isRequested) : rows, aside }
}

/** A paused channel webhook gets one event a minute as a probe. The others wait for the end of the pause. */
async function claimProbe(tx: Tx, webhook: StoredWebhook, { take, cap, nowMs }: ClaimLimits): Promise<Claimed> {
  const webhookId = webhook.id
  const rows = await tx.deliveries.claim({ webhookId, take, cap })
  const probe = isProbeDue(webhook.probedAtMs, nowMs) ? rows.find((row) => !isRequested(row)) : undefined
  if (probe) await tx.webhooks.setProbed(webhookId, nowMs)
  const untilMs = webhook.disabled?.untilMs ?? nowMs
  const aside = await tx.deliveries.hold({ webhookId, untilMs, except: probe?.id ?? null, limit: ASIDE_AT_ONCE })
  return { rows: rows.filter((row) => row === probe || isRequested(row)), aside }
}

/** Redeliveries and tests, which users request, are sent even while the webhook is paused or inactive. */
const isRequested = ({ redeliveryOf, type, attempt }: ClaimedDelivery): boolean =>
  redeliveryOf !== null || (type === CHANNEL_EVENT_TYPE && attempt === null)

const skip = (tx: Tx, skipped: Omit<Parameters<Tx['deliveries']['skip']>[0], 'limit'>): Promise<number> =>
  tx.deliveries.skip({ ...skipped, limit: ASIDE_AT_ONCE })

/** A row that cannot be sent must not block the others, so an exception becomes its result. */
function prepare(row: ClaimedDelivery, webhook: StoredWebhook, sender: Sender, nowMs: number): Prepared {
  let payload = row.payload
  try {
    payload ??= fixPayload(row, sender.profile, nowMs)
    const request = requestFor(sender, webhook, row, payload, nowMs)
    const facts = factsOf(row, nowMs)
    return { id: row.id, payload, next: { id: row.id, webhookId: webhook.id, attempt: row.attempt, request, facts } }
  } catch (error) {
    const nothing = { body: new Uint8Array(), contentType: '', headers: {} }
    const unprepared = coded('delivery_unprepared', { text: String(error) })
    return { id: row.id, payload: payload ?? nothing, next: { error: say(unprepared) } }
  }
}

function factsOf(row: ClaimedDelivery, nowMs: number): DeliveryFacts {
  const { accountId, eventId, type, event, subject, redeliveryOf, createdAtMs } = row
  return { accountId, eventId, type, event, subject, redeliveryOf, waitedMs: Math.max(0, nowMs - createdAtMs) }
}

function impossible({ id, next }: Prepared, endedAtMs: number): DeliveryEnd[] {
  if (!('error' in next)) return []
  return [{ id, state: 'failed', error: next.error, endedAtMs, statusCode: null, durationMs: null, answer: null }]
}
