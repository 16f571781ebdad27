import { expect, test } from 'vitest'
import { coded } from '../../../../src/core/notices.ts'
import { retryAfterMs } from '../../../../src/core/channels/webhooks/events.ts'
import { type Health, WEBHOOK_LIMITS } from '../../../../src/core/webhooks/types.ts'
import { afterChannelAttempt, type AttemptResult, isProbeDue } from '../../../../src/core/channels/webhooks/health.ts'

const NOW = 1_750_000_000_000
const FAILURE = coded('request_status', { status: 500 })
const WELL: Health = { failuresInRow: 0, disabled: null }
const after = (health: Health, result: AttemptResult, times = 1, nowMs = NOW): Health =>
  Array.from({ length: times }).reduce<Health>((now) => afterChannelAttempt(now, result, FAILURE, nowMs), health)

test('attempts that will be retried pause nothing, however many fail', () => {
  expect(after(WELL, 'to_be_retried', 1000)).toEqual(WELL)
})

test('a hundred events that are given up in a row pause a webhook for an hour and say why', () => {
  expect(after(WELL, 'given_up', 99)).toEqual({ failuresInRow: 99, disabled: null })
  expect(after(WELL, 'given_up', 100)).toEqual({
    failuresInRow: 0,
    disabled: { untilMs: NOW + 3_600_000, reason: [coded('events_given_up', { count: 100 }), FAILURE] },
  })
})

test('a delivery between them restarts the count, and failed attempts do not', () => {
  const nearly = after(WELL, 'given_up', 99)
  expect(after(after(nearly, 'delivered'), 'given_up', 99).disabled).toBeNull()
  expect(after(after(nearly, 'to_be_retried'), 'given_up').disabled).not.toBeNull()
})

test('a delivery ends the pause; failures during it neither extend it nor count', () => {
  const paused = after(WELL, 'given_up', 100)
  expect(after(paused, 'given_up', 200, NOW + 3_599_999)).toBe(paused)
  expect(after(paused, 'delivered', 1, NOW + 1)).toEqual(WELL)
  expect(after(paused, 'given_up', 1, NOW + 3_600_000)).toEqual({ failuresInRow: 1, disabled: null })
})

test('a probe is due a minute after the last, also after the clock was put back, and at once without a last one', () => {
  expect([-60_000, -59_999, 59_999, 60_000].map((ms) => isProbeDue(NOW, NOW + ms))).toEqual([true, false, false, true])
  expect(isProbeDue(undefined, 0)).toBe(true)
})

test('no attempt waits for longer than a pause, so that only a clock that was put back makes one', () => {
  const waits = [1, 2, 3, 4, 5].map((attempt) => retryAfterMs(attempt) ?? 0)
  expect(Math.max(...waits)).toBeLessThanOrEqual(WEBHOOK_LIMITS.pauseMs)
  expect(retryAfterMs(6)).toBeNull()
})
