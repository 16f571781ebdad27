import { isoTime } from '../../base/time.ts'
import { coded, type CodedSentence, noticeText } from '../notices.ts'
import { compilePattern } from '../access/streamName.ts'
import type { HookKind } from './events.ts'
import { type Disabled, type Health, WAIT_MAX_MS, WEBHOOK_LIMITS, type Webhook } from './types.ts'

/** What happens to an event at one webhook. `skip`: the webhook wants it but is paused, and the log shows that. */
export type Routing = 'send' | 'skip' | 'ignore'

/**
 * Whether a webhook wants an event of this kind about this stream or transcoder.
 * @param subject the whole name that filters match; an event without one passes no filter
 */
export function wants(webhook: Pick<Webhook, 'hooks' | 'filter'>, kind: HookKind, subject: string | null): boolean {
  if (!webhook.hooks[kind]) return false
  if (webhook.filter === null) return true
  const filter = compilePattern(webhook.filter)
  // If a stored pattern no longer compiles, every event passes: a receiver can discard surplus events but cannot
  // request missing ones.
  return !filter.ok || (subject !== null && filter.value.matches(subject))
}

export function routeTo(webhook: Webhook, kind: HookKind, subject: string | null, nowMs: number): Routing {
  if (!wants(webhook, kind, subject)) return 'ignore'
  return isPaused(webhook, nowMs) ? 'skip' : 'send'
}

/** The pause after many failures in a row; null: there is none, or it ends later than any could. */
export const pauseOf = ({ disabled }: Pick<Health, 'disabled'>, nowMs: number): Disabled | null =>
  disabled !== null && nowMs < disabled.untilMs && disabled.untilMs <= nowMs + WAIT_MAX_MS ? disabled : null

export const isPaused = (health: Pick<Health, 'disabled'>, nowMs: number): boolean => pauseOf(health, nowMs) !== null

/**
 * The health of a webhook after one more attempt. A hundred failures in a row pause it for an hour, and then it has
 * a hundred attempts again. An attempt that began before a pause and ends in it does not count.
 * @param failure null when the receiver accepted the event, otherwise why not
 */
export function afterAttempt(health: Health, failure: CodedSentence | null, nowMs: number): Health {
  if (isPaused(health, nowMs)) return health
  if (failure === null) return { failuresInRow: 0, disabled: null }
  const failuresInRow = health.failuresInRow + 1
  if (failuresInRow < WEBHOOK_LIMITS.failuresInRow) return { failuresInRow, disabled: null }
  return { failuresInRow: 0, disabled: pause(failure, nowMs) }
}

const pause = (lastFailure: CodedSentence, nowMs: number): Disabled => ({
  untilMs: nowMs + WEBHOOK_LIMITS.pauseMs,
  reason: [coded('deliveries_failed', { count: WEBHOOK_LIMITS.failuresInRow }), lastFailure],
})

/** A pause as responses show it. */
export const toPauseRecord = ({ untilMs, reason }: Disabled) => ({
  until: isoTime(untilMs),
  reason: noticeText(reason),
  sentences: [...reason],
})
