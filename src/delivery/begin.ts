import type { ClaimedDelivery, DeliveryEnd, Payload, StoredWebhook, Tx } from '../store/store.ts'
import type { EgressRequest } from './egress.ts'
import { isPaused, skippedBecause } from './fanOut.ts'
import type { Claim } from './lanes.ts'
import { fixPayload, requestFor, type Sender } from './payload.ts'

/** Rows of a paused webhook that are skipped in one transaction. */
const SKIPPED_AT_ONCE = 1000

/** A delivery that is on record as started and may now be sent, once. */
export interface Begun {
  readonly id: string
  readonly webhookId: number
  /** Which attempt it is, of those that are followed by others; null: the only one. */
  readonly attempt: number | null
  readonly request: EgressRequest
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
 */
export async function begin(
  tx: Tx,
  claims: readonly Claim[],
  how: { sender: Sender; node: string; nowMs: number; cap: number },
): Promise<{ begun: Begun[]; skipped: number }> {
  const webhooks = new Map((await tx.webhooks.lockAll(claims.map((one) => one.webhookId))).map((w) => [w.id, w]))
  const prepared: Prepared[] = []
  let skipped = 0
  for (const { webhookId, take } of claims) {
    const webhook = webhooks.get(webhookId)
    const paused = webhook === undefined || webhook.active === false || isPaused(webhook, how.nowMs)
    if (paused) skipped += await skip(tx, webhookId, webhook, how.nowMs)
    if (!webhook) continue
    const rows = await tx.deliveries.claim({ webhookId, take, cap: how.cap })
    // What a person asks for is sent even while the webhook is paused.
    const wanted = paused ? rows.filter((row) => row.redeliveryOf !== null) : rows
    prepared.push(...wanted.map((row) => prepare(row, webhook, how.sender, how.nowMs)))
  }
  await tx.deliveries.start(how.node, how.nowMs, prepared)
  await tx.deliveries.finish(
    how.node,
    prepared.flatMap((one) => impossible(one, how.nowMs)),
  )
  return { begun: prepared.flatMap(({ next }) => ('error' in next ? [] : [next])), skipped }
}

function skip(tx: Tx, webhookId: number, webhook: StoredWebhook | undefined, atMs: number): Promise<number> {
  const reason = webhook ? skippedBecause(webhook) : 'the webhook was deleted'
  return tx.deliveries.skip({ webhookId, reason, atMs, limit: SKIPPED_AT_ONCE, redeliveriesToo: !webhook })
}

/** A row that cannot be sent must not stand in the way of the others, so what is thrown becomes how it ended. */
function prepare(row: ClaimedDelivery, webhook: StoredWebhook, sender: Sender, nowMs: number): Prepared {
  let payload = row.payload
  try {
    payload ??= fixPayload(row, sender.profile, nowMs)
    const request = requestFor(sender, webhook, row, payload, nowMs)
    return { id: row.id, payload, next: { id: row.id, webhookId: webhook.id, attempt: row.attempt, request } }
  } catch (error) {
    const nothing = { body: new Uint8Array(), contentType: '', headers: {} }
    return { id: row.id, payload: payload ?? nothing, next: { error: `it could not be prepared: ${String(error)}` } }
  }
}

function impossible({ id, next }: Prepared, endedAtMs: number): DeliveryEnd[] {
  if (!('error' in next)) return []
  return [{ id, state: 'failed', error: next.error, endedAtMs, statusCode: null, durationMs: null, answer: null }]
}
