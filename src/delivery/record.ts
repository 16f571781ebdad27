import { afterAttempt } from '../core/webhooks/route.ts'
import type { Health } from '../core/webhooks/types.ts'
import { timeOrderedId } from '../base/ids.ts'
import { percentDecoded } from '../base/percent.ts'
import type { Random } from '../base/random.ts'
import { retryAfterMs } from '../core/channels/webhooks/events.ts'
import { coded, type CodedSentence, say } from '../core/notices.ts'
import { afterChannelAttempt, type AttemptResult } from '../core/channels/webhooks/health.ts'
import type { DeliveryEnd, StoredWebhook, Tx } from '../store/store.ts'
import { type EgressFailure, egressFailureOf, type EgressOutcome } from '../net/outcome.ts'

export interface Ended {
  readonly webhookId: number
  /** The number of the attempt, for events that are retried. */
  readonly attempt?: number | null
  readonly end: DeliveryEnd
  /** Why the receiver did not accept the event; null: it did. */
  readonly failure: CodedSentence | null
  /** False for a result that says nothing about the receiver. */
  readonly counts: boolean
}

/** A delivery that was started and of which no byte was sent, for reasons of our own. */
export interface Unsent {
  readonly webhookId: number
  /** Its id. */
  readonly unsent: string
}

/**
 * Whether no byte of the event left, and not because of the receiver: we stopped the exchange, or the server stood still
 * for longer than its time limit.
 */
export function isUnsent(outcome: EgressOutcome, stoodStill: boolean): boolean {
  return outcome.kind === 'failed' && !mayHaveArrived(outcome) && (outcome.code === 'aborted' || stoodStill)
}

const mayHaveArrived = ({ stage }: EgressFailure): boolean => stage === 'send' || stage === 'answer'

/**
 * The log entry of an exchange. If we stopped it after its first byte, the event may have arrived, so its state is
 * unknown.
 */
export function deliveryEndOf(
  { id, webhookId, url }: { readonly id: string; readonly webhookId: number; readonly url: string },
  outcome: EgressOutcome,
  endedAtMs: number,
): Ended {
  const failure = egressFailureOf(outcome)
  const answer = outcome.kind === 'answered' ? withoutPath(outcome.answer, url) : null
  const stopped = outcome.kind === 'failed' && outcome.code === 'aborted'
  const state = failure === null ? 'delivered' : stopped ? 'unknown' : 'failed'
  const end = {
    id,
    state,
    endedAtMs,
    statusCode: outcome.status,
    durationMs: outcome.durationMs,
    answer,
    error: failure && say(failure),
  } as const
  return { webhookId, end, failure, counts: !stopped }
}

/** `/a` stands in many texts. */
const PATH_MIN = 4

/** An answer without the path and the query of the webhook, which may hold a key: servers that know no such path repeat it. */
function withoutPath(answer: string, url: string): string {
  const { pathname, search } = new URL(url)
  const whole = [`${pathname}${search}`, search, pathname]
  const spellings = [...whole, percentDecoded(pathname), search.replaceAll('&', '&amp;')]
  return spellings.filter(({ length }) => length >= PATH_MIN).reduce((left, text) => left.replaceAll(text, '…'), answer)
}

/** A fault of Sluice in the middle of an exchange. */
export function interrupted(id: string, webhookId: number, error: unknown, endedAtMs: number): Ended {
  const failure = coded('delivery_broken_off', { text: String(error) })
  const end = { id, endedAtMs, error: say(failure), statusCode: null, durationMs: null, answer: null }
  return { webhookId, end: { ...end, state: 'unknown' }, failure, counts: false }
}

/**
 * Writes the results of deliveries, and updates the health of their webhooks. What was not sent is pending again. A result counts once,
 * and is followed by one attempt: it may be written again if the answer to its commit was lost, and what another node gave up meanwhile
 * has its next attempt already.
 */
export async function recordEnds(
  tx: Tx,
  node: string,
  results: readonly (Ended | Unsent)[],
  random: Random,
): Promise<void> {
  const ids = [...new Set(results.map((one) => one.webhookId))]
  const webhooks = await tx.webhooks.lockAll(ids)
  const written = results.flatMap((one) => ('end' in one ? [one] : []))
  const ends = written.map(({ end }) => end)
  const finished = await tx.deliveries.finish(node, ends)
  const ended = written.filter(({ end }) => finished.includes(end.id))
  for (const webhook of webhooks) {
    const counted = ended.filter((one) => one.counts && one.webhookId === webhook.id)
    const health = counted.reduce((now, one) => healthAfter(webhook, now, one), webhook as Health)
    const same = health.failuresInRow === webhook.failuresInRow && health.disabled === webhook.disabled
    if (same) continue
    await tx.webhooks.setHealth(webhook.id, health)
    if (webhook.active !== undefined) await followPause(tx, webhook, health, counted.at(-1)?.end.endedAtMs ?? 0)
  }
  for (const one of ended) await scheduleRetry(tx, one, random)
  await tx.deliveries.requeue(
    node,
    results.flatMap((one) => ('unsent' in one ? [one.unsent] : [])),
  )
}

function healthAfter({ active }: StoredWebhook, now: Health, { end, failure, attempt = null }: Ended): Health {
  if (active === undefined) return afterAttempt(now, failure, end.endedAtMs)
  return afterChannelAttempt(now, resultOf(end, attempt), failure, end.endedAtMs)
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
