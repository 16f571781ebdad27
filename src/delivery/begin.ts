import type { ClaimedDelivery, Delivery, DeliveryEnd, Payload, StoredWebhook, Tx } from '../store/store.ts'
import type { EgressRequest } from '../net/egress.ts'
import { isPaused } from '../core/webhooks/route.ts'
import { CHANNEL_EVENT_TYPE } from '../core/channels/webhooks/events.ts'
import { isProbeDue } from '../core/channels/webhooks/health.ts'
import { skippedBecause } from './fanOut.ts'
import type { Claim } from './slots.ts'
import { fixPayload, requestFor, type Sender } from './payload.ts'

/** Rows of a paused webhook that are skipped, or made to wait, in one transaction. */
const ASIDE_AT_ONCE = 1000

/** What the log says of a delivery beside how it ended. */
export interface DeliveryFacts
  extends Pick<Delivery, 'accountId' | 'eventId' | 'type' | 'event' | 'subject' | 'redeliveryOf'> {
  /** From the event to the start of the attempt, milliseconds. */
  readonly waitedMs: number
}

/** A delivery that is on record as started and may now be sent, once. */
export interface Begun {
  readonly id: string
  readonly webhookId: number
  /** Which attempt it is, of those that are followed by others; null: the only one. */
  readonly attempt: number | null
  readonly request: EgressRequest
  readonly facts: DeliveryFacts
}

interface Prepared {
  readonly id: string
  readonly payload: Payload
  /** What is to be sent, or why that is impossible. */
  readonly next: Begun | { readonly error: string }
}

/**
 * Starts what the claims name: fixes the bytes, makes the rows `started`, and answers what is to be sent. It may be sent
 * only when this transaction is committed.
 * @param cap deliveries under way to one webhook, on all nodes
 * @returns also how many were put aside, so that there may be more to begin
 */
export async function begin(
  tx: Tx,
  claims: readonly Claim[],
  how: { sender: Sender; node: string; nowMs: number; cap: number },
): Promise<{ begun: Begun[]; aside: number }> {
  const webhooks = new Map((await tx.webhooks.lockAll(claims.map((one) => one.webhookId))).map((w) => [w.id, w]))
  const prepared: Prepared[] = []
  let aside = 0
  for (const { webhookId, take } of claims) {
    const webhook = webhooks.get(webhookId)
    if (!webhook) {
      aside += await skip(tx, webhookId, 'the webhook was deleted', how.nowMs, true)
      continue
    }
    const taken = await takeFor(tx, webhook, { take, ...how })
    aside += taken.aside
    prepared.push(...taken.rows.map((row) => prepare(row, webhook, how.sender, how.nowMs)))
  }
  await tx.deliveries.start(how.node, how.nowMs, prepared)
  await tx.deliveries.finish(
    how.node,
    prepared.flatMap((one) => impossible(one, how.nowMs)),
  )
  return { begun: prepared.flatMap(({ next }) => ('error' in next ? [] : [next])), aside }
}

interface Taking {
  readonly take: number
  readonly cap: number
  readonly nowMs: number
}

interface Taken {
  rows: ClaimedDelivery[]
  /** What was skipped, or waits for the end of a pause. */
  aside: number
}

async function takeFor(tx: Tx, webhook: StoredWebhook, { take, cap, nowMs }: Taking): Promise<Taken> {
  const paused = isPaused(webhook, nowMs)
  if (webhook.active === true && paused) return takeProbe(tx, webhook, { take, cap, nowMs })
  const off = webhook.active === false || paused
  const aside = off ? await skip(tx, webhook.id, skippedBecause(webhook), nowMs, false) : 0
  const rows = await tx.deliveries.claim({ webhookId: webhook.id, take, cap })
  return { rows: off ? rows.filter(isAskedFor) : rows, aside }
}

/** To a paused webhook of the live interface goes one event a minute; the others wait for the end of the pause. */
async function takeProbe(tx: Tx, webhook: StoredWebhook, { take, cap, nowMs }: Taking): Promise<Taken> {
  const webhookId = webhook.id
  const rows = await tx.deliveries.claim({ webhookId, take, cap })
  const probe = isProbeDue(webhook.probedAtMs, nowMs) ? rows.find((row) => !isAskedFor(row)) : undefined
  if (probe) await tx.webhooks.setProbed(webhookId, nowMs)
  const untilMs = webhook.disabled?.untilMs ?? nowMs
  const aside = await tx.deliveries.hold({ webhookId, untilMs, except: probe?.id ?? null, limit: ASIDE_AT_ONCE })
  return { rows: rows.filter((row) => row === probe || isAskedFor(row)), aside }
}

/** What a person asks for, a redelivery or a test, is sent also while the webhook is paused or not active. */
const isAskedFor = ({ redeliveryOf, type, attempt }: ClaimedDelivery): boolean =>
  redeliveryOf !== null || (type === CHANNEL_EVENT_TYPE && attempt === null)

function skip(tx: Tx, webhookId: number, reason: string, atMs: number, askedForToo: boolean): Promise<number> {
  return tx.deliveries.skip({ webhookId, reason, atMs, limit: ASIDE_AT_ONCE, askedForToo })
}

/** A row that cannot be sent must not stand in the way of the others, so what is thrown becomes how it ended. */
function prepare(row: ClaimedDelivery, webhook: StoredWebhook, sender: Sender, nowMs: number): Prepared {
  let payload = row.payload
  try {
    payload ??= fixPayload(row, sender.profile, nowMs)
    const request = requestFor(sender, webhook, row, payload, nowMs)
    const facts = factsOf(row, nowMs)
    return { id: row.id, payload, next: { id: row.id, webhookId: webhook.id, attempt: row.attempt, request, facts } }
  } catch (error) {
    const nothing = { body: new Uint8Array(), contentType: '', headers: {} }
    return { id: row.id, payload: payload ?? nothing, next: { error: `it could not be prepared: ${String(error)}` } }
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
