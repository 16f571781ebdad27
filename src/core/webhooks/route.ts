import { compilePattern } from '../access/streamName.ts'
import type { HookType } from './events.ts'
import { type Disabled, type Health, WEBHOOK_LIMITS, type Webhook } from './types.ts'

/** What happens to an event at one webhook. `skip`: it wants the event but is paused, and the log shows that. */
export type Routing = 'send' | 'skip' | 'ignore'

/**
 * Does a webhook want an event of this type about this stream or transcoder?
 * @param subject the name that filters are matched against, whole; an event without one passes no filter
 */
export function wants(webhook: Pick<Webhook, 'hooks' | 'filter'>, type: HookType, subject: string | null): boolean {
  if (!webhook.hooks[type]) return false
  if (webhook.filter === null) return true
  const filter = compilePattern(webhook.filter)
  // A pattern that was accepted once and no longer compiles hides nothing: what is too much can be thrown away, what is
  // missing cannot be asked for.
  return !filter.ok || (subject !== null && filter.value.matches(subject))
}

export function routeTo(webhook: Webhook, type: HookType, subject: string | null, nowMs: number): Routing {
  if (!wants(webhook, type, subject)) return 'ignore'
  return isPaused(webhook, nowMs) ? 'skip' : 'send'
}

/** Many failures in a row have switched it off for a while. */
export const isPaused = ({ disabled }: Pick<Health, 'disabled'>, nowMs: number): boolean =>
  disabled !== null && nowMs < disabled.untilMs

/**
 * The health of a webhook after one more attempt. A hundred failures in a row pause it for an hour; then it has a
 * hundred attempts again. What ends during a pause, because it had begun before, does not count.
 * @param failure null when the receiver accepted the event, else why not
 */
export function afterAttempt(health: Health, failure: string | null, nowMs: number): Health {
  if (isPaused(health, nowMs)) return health
  if (failure === null) return { failuresInRow: 0, disabled: null }
  const failuresInRow = health.failuresInRow + 1
  if (failuresInRow < WEBHOOK_LIMITS.failuresInRow) return { failuresInRow, disabled: null }
  return { failuresInRow: 0, disabled: pause(failure, nowMs) }
}

function pause(lastFailure: string, nowMs: number): Disabled {
  const reason = `${WEBHOOK_LIMITS.failuresInRow} deliveries in a row failed; the last: ${lastFailure}`
  return { untilMs: nowMs + WEBHOOK_LIMITS.pauseMs, reason }
}
