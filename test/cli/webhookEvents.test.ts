import { expect, test } from 'vitest'
import { WEBHOOK_KINDS } from '../../src/core/webhooks/kinds.ts'
import { switchesFor } from '../../src/cli/webhookEvents.ts'

const all = (isOn: boolean) => Object.fromEntries(Object.values(WEBHOOK_KINDS).map(({ flag }) => [flag, isOn]))

test('named kinds are switched on and the others off; none and all stand for themselves', () => {
  expect(switchesFor(['recording'])).toEqual({
    ok: true,
    value: { ...all(false), [WEBHOOK_KINDS.recording.flag]: true },
  })
  expect([switchesFor(['none']), switchesFor(['feeds', 'all'])]).toEqual([
    { ok: true, value: all(false) },
    { ok: true, value: all(true) },
  ])
  for (const wrong of [['none', 'feeds'], ['all', 'none'], ['nothing']]) expect(switchesFor(wrong).ok).toBe(false)
})
