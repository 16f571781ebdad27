import { coded, type CodedSentence } from '../../notices.ts'
import { isPaused } from '../../webhooks/route.ts'
import { type Health, WEBHOOK_LIMITS } from '../../webhooks/types.ts'

/** The result of one attempt to deliver an event. `given_up`: it failed and was the last attempt of its event. */
export type AttemptResult = 'delivered' | 'to_be_retried' | 'given_up'

/**
 * The health of a channel webhook after an attempt. Events that are given up count, not attempts: a hundred in a row
 * pause the webhook for an hour. Any successful delivery, including a probe, ends the count and the pause.
 * @param failure why it failed; null when it was delivered
 */
export function afterChannelAttempt(
  health: Health,
  result: AttemptResult,
  failure: CodedSentence | null,
  nowMs: number,
): Health {
  if (result === 'delivered') return { failuresInRow: 0, disabled: null }
  if (result === 'to_be_retried' || isPaused(health, nowMs)) return health
  const failuresInRow = health.failuresInRow + 1
  if (failuresInRow < WEBHOOK_LIMITS.failuresInRow) return { failuresInRow, disabled: null }
  const givenUp = coded('events_given_up', { count: WEBHOOK_LIMITS.failuresInRow })
  const reason = failure === null ? [givenUp] : [givenUp, failure]
  return { failuresInRow: 0, disabled: { untilMs: nowMs + WEBHOOK_LIMITS.pauseMs, reason } }
}

/** How often one event is sent to a paused webhook as a probe. */
export const PROBE_EVERY_MS = 60_000

/**
 * @param probedAtMs when a paused webhook was last probed, or paused; absent: it never was. A minute ahead: the clock was put back
 *   since
 */
export const isProbeDue = (probedAtMs: number | undefined, nowMs: number): boolean =>
  probedAtMs === undefined || Math.abs(nowMs - probedAtMs) >= PROBE_EVERY_MS
