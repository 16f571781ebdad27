import { afterAttempt } from '../core/webhooks/route.ts'
import type { Health } from '../core/webhooks/types.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Random } from '../base/random.ts'
import { retryAfterMs } from '../core/channels/webhooks/events.ts'
import { afterChannelAttempt, type AttemptResult } from '../core/channels/webhooks/health.ts'
import type { DeliveryEnd, StoredWebhook, Tx } from '../store/store.ts'
import { egressFailureOf, type EgressOutcome } from '../net/outcome.ts'

export interface Ended {
  readonly webhookId: number
  /** The number of the attempt, for events that are retried. */
  readonly attempt?: number | null
  readonly end: DeliveryEnd
  /** False for a result that says nothing about the receiver. */
  readonly counts: boolean
}

/**
 * The log entry of an exchange. If we stopped it after its first byte, the event may have arrived, so its state is
 * unknown.
 */
export function deliveryEndOf(id: string, webhookId: number, outcome: EgressOutcome, endedAtMs: number): Ended {
  const error = egressFailureOf(outcome)
  const answer = outcome.kind === 'answered' ? outcome.answer : null
  const stopped = outcome.kind === 'failed' && outcome.code === 'aborted'
  const mayHaveArrived = outcome.kind === 'failed' && (outcome.stage === 'send' || outcome.stage === 'answer')
  const state = error === null ? 'delivered' : stopped && mayHaveArrived ? 'unknown' : 'failed'
  const end = {
    id,
    state,
    endedAtMs,
    statusCode: outcome.status,
    durationMs: outcome.durationMs,
    answer,
    error,
  } as const
  return { webhookId, end, counts: !stopped }
}

/** A delivery that was started but not sent: so much time passed that other nodes may have given it up. */
export function notSentInTime(id: string, webhookId: number, endedAtMs: number): Ended {
  return withoutOutcome(id, webhookId, 'failed', 'not sent: the server stood still before it could be', endedAtMs)
}

/** A fault of Sluice in the middle of an exchange. */
export function interrupted(id: string, webhookId: number, error: unknown, endedAtMs: number): Ended {
  return withoutOutcome(id, webhookId, 'unknown', `broken off: ${String(error)}`, endedAtMs)
}

function withoutOutcome(
  id: string,
  webhookId: number,
  state: 'failed' | 'unknown',
  error: string,
  endedAtMs: number,
): Ended {
  const end = { id, state, endedAtMs, error, statusCode: null, durationMs: null, answer: null }
  return { webhookId, end, counts: false }
}

/** Writes the results of deliveries, and updates the health of their webhooks. */
export async function recordEnds(tx: Tx, node: string, ended: readonly Ended[], random: Random): Promise<void> {
  const ids = [...new Set(ended.map((one) => one.webhookId))]
  for (const webhook of await tx.webhooks.lockAll(ids)) {
    const counted = ended.filter((one) => one.counts && one.webhookId === webhook.id)
    const health = counted.reduce((now, one) => healthAfter(webhook, now, one), webhook as Health)
    const same = health.failuresInRow === webhook.failuresInRow && health.disabled === webhook.disabled
    if (same) continue
    await tx.webhooks.setHealth(webhook.id, health)
    if (webhook.active !== undefined) await followPause(tx, webhook, health, counted.at(-1)?.end.endedAtMs ?? 0)
  }
  await tx.deliveries.finish(
    node,
    ended.map(({ end }) => end),
  )
  for (const one of ended) await scheduleRetry(tx, one, random)
}

function healthAfter({ active }: StoredWebhook, now: Health, { end, attempt = null }: Ended): Health {
  if (active === undefined) return afterAttempt(now, end.error, end.endedAtMs)
  return afterChannelAttempt(now, resultOf(end, attempt), end.error, end.endedAtMs)
}

/** A delivery that a user requested is never an event that is given up. */
function resultOf({ state }: DeliveryEnd, attempt: number | null): AttemptResult {
  if (state === 'delivered') return 'delivered'
  return attempt !== null && retryAfterMs(attempt) === null ? 'given_up' : 'to_be_retried'
}

/** The first probe comes a minute after the pause began. When the pause ends early, the deferred deliveries resume. */
async function followPause(tx: Tx, before: StoredWebhook, { disabled }: Health, atMs: number): Promise<void> {
  if (disabled) await tx.webhooks.setProbed(before.id, atMs)
  else if (before.disabled) await tx.deliveries.resume(before.id, before.disabled.untilMs, atMs)
}

/** Schedules the next attempt of a failed delivery, unless it was the last one. */
async function scheduleRetry(tx: Tx, { end, attempt }: Ended, random: Random): Promise<void> {
  if (attempt === undefined || attempt === null || end.state === 'delivered') return
  const pauseMs = retryAfterMs(attempt)
  if (pauseMs === null) return
  const atMs = end.endedAtMs
  await tx.deliveries.retry({ of: end.id, id: timeOrderedId(atMs, random), atMs, notBeforeMs: atMs + pauseMs })
}
