import { describe, expect, test } from 'vitest'
import { type HookKind, hookKindOf } from '../../../src/core/webhooks/events.ts'
import { coded } from '../../../src/core/notices.ts'
import { afterAttempt, routeTo, toPauseRecord, wants } from '../../../src/core/webhooks/route.ts'
import { toWebhookRecord } from '../../../src/core/webhooks/rules.ts'
import type { Health, Webhook } from '../../../src/core/webhooks/types.ts'

const KINDS: HookKind[] = [
  'feeds',
  'feedHealth',
  'recording',
  'thumbnail',
  'transcoder',
  'restream',
  'viewerConnection',
]
const OFF = {
  feeds: false,
  feedHealth: false,
  recording: false,
  thumbnail: false,
  transcoder: false,
  restream: false,
  viewerConnection: false,
}
const NOW = 1_750_000_000_000
const HOUR = 3_600_000
const FAILURE = coded('request_status', { status: 500 })

const hook = (changes: Partial<Webhook> = {}): Webhook => ({
  id: 1,
  accountId: 'a1b2c3',
  addedAtMs: 0,
  url: 'https://hooks.example.com/',
  hooks: { ...OFF, feeds: true },
  filter: null,
  failuresInRow: 0,
  disabled: null,
  ...changes,
})

describe('a webhook wants', () => {
  test('the kinds that are switched on, and with all off nothing', () => {
    for (const on of KINDS) {
      const only = hook({ hooks: { ...OFF, [on]: true } })
      expect(KINDS.filter((kind) => wants(only, kind, 's'))).toEqual([on])
      expect(wants(hook({ hooks: OFF }), on, 's')).toBe(false)
    }
  })

  test('the health of feeds by a switch of its own, and all other events by that of their type', () => {
    const kinds = ['started', 'ended', 'health', 'of a later version'].map((event) =>
      hookKindOf({ type: 'feeds', event }),
    )
    expect(kinds).toEqual(['feeds', 'feeds', 'feedHealth', 'feeds'])
    expect(hookKindOf({ type: 'thumbnail', event: 'captured' })).toBe('thumbnail')
  })

  test('names that its filter matches as a whole', () => {
    const filtered = hook({ filter: 'prod-[0-9]+|demo' })
    const names = ['prod-1', 'prod-12', 'demo', 'prod-', 'demo2', 'xprod-1', 'prod-1x', '']
    expect(names.filter((name) => wants(filtered, 'feeds', name))).toEqual(['prod-1', 'prod-12', 'demo'])
    expect(wants(filtered, 'feeds', null)).toBe(false)
    expect(wants(hook(), 'feeds', null)).toBe(true)
  })

  test('every event when its filter cannot be used', () => {
    expect(wants(hook({ filter: '(' }), 'feeds', 'prod-1')).toBe(true)
  })

  test('nothing now while it is paused, which is not the same as not wanting it', () => {
    const paused = hook({ disabled: { untilMs: NOW, reason: [{ code: 'text', values: { text: 'r' } }] } })
    expect(routeTo(paused, 'feeds', 's', NOW - 1)).toBe('skip')
    expect(routeTo(paused, 'feeds', 's', NOW)).toBe('send')
    expect(routeTo(paused, 'recording', 's', NOW - 1)).toBe('ignore')
  })

  test('every event again when the clock was ahead at the pause and is put back, since it would last until that time', () => {
    const paused = hook(afterAttempt({ failuresInRow: 99, disabled: null }, FAILURE, NOW))
    expect(routeTo(paused, 'feeds', 's', NOW - 60_000)).toBe('skip')
    expect(routeTo(paused, 'feeds', 's', NOW - 60_001)).toBe('send')
    expect(toWebhookRecord(paused, '', NOW - 60_001)).not.toHaveProperty('disabled')
  })
})

describe('failures', () => {
  const fail = (health: Health, times: number, nowMs = NOW) =>
    Array.from({ length: times }).reduce<Health>((state) => afterAttempt(state, FAILURE, nowMs), health)
  const well: Health = { failuresInRow: 0, disabled: null }

  test('a hundred in a row pause a webhook for an hour and say why', () => {
    expect(fail(well, 99)).toEqual({ failuresInRow: 99, disabled: null })
    expect(fail(well, 100)).toEqual({
      failuresInRow: 0,
      disabled: { untilMs: NOW + HOUR, reason: [coded('deliveries_failed', { count: 100 }), FAILURE] },
    })
    const { reason, sentences } = toPauseRecord(fail(well, 100).disabled!)
    expect(reason).toBe('100 deliveries in a row failed; the last: the receiver answered with status 500')
    expect(sentences).toEqual([coded('deliveries_failed', { count: 100 }), FAILURE])
  })

  test('one success between them restarts the count', () => {
    expect(fail(afterAttempt(fail(well, 99), null, NOW), 99).disabled).toBeNull()
  })

  test('that end during a pause neither extend nor end it', () => {
    const paused = fail(well, 100)
    expect(fail(paused, 200, NOW + 1)).toEqual(paused)
    expect(afterAttempt(paused, null, NOW + 1)).toEqual(paused)
  })

  test('after a pause count from nothing', () => {
    const later = NOW + HOUR
    expect(fail(fail(well, 100), 1, later)).toEqual({ failuresInRow: 1, disabled: null })
    expect(fail(fail(well, 100), 100, later).disabled?.untilMs).toBe(later + HOUR)
  })
})
