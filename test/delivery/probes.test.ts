import { expect, test } from 'vitest'
import { offerProbes } from '../../src/delivery/probes.ts'
import type { Store } from '../../src/store/store.ts'
import { overriding } from '../../src/store/nouns.ts'
import { clock, outgoing, random } from './support/outgoing.ts'

const { write, channelWebhook, get, rows, store } = outgoing()
const NOW = clock.now()
const paused = { untilMs: NOW + 100_000, reason: [{ code: 'text', values: { text: 'slow' } }] }
const offer = () => offerProbes(store(), NOW, random)

test('a webhook whose pause lasts and whose minute is over gets one of the events that wait', async () => {
  const to = await channelWebhook({ disabled: paused, probedAtMs: NOW - 59_999 })
  const [first = '', second = ''] = await rows(to, 2)
  await write((tx) => tx.deliveries.hold({ webhookId: to.id, untilMs: paused.untilMs, except: null, limit: 9 }))
  expect([await offer(), (await get(first))?.state]).toEqual([false, 'waiting'])
  await write((tx) => tx.webhooks.setProbed(to.id, NOW - 60_000))
  expect(await offer()).toBe(true)
  expect([(await get(first))?.state, (await get(second))?.state]).toEqual(['pending', 'waiting'])
  await write((tx) => tx.webhooks.setProbed(to.id, NOW))
})

test.each([
  ['was deactivated', { active: false, disabled: paused, probedAtMs: NOW - 60_000 }],
  ['is paused no longer', { disabled: null, probedAtMs: NOW - 60_000 }],
  ['was probed by another node', { disabled: paused, probedAtMs: NOW - 1 }],
])('one that looked due and %s is not probed', async (_, over) => {
  const to = await channelWebhook(over)
  const [first = ''] = await rows(to, 1)
  await write((tx) => tx.deliveries.hold({ webhookId: to.id, untilMs: paused.untilMs, except: null, limit: 9 }))
  const { read } = store()
  const looksDue: Store = Object.assign(Object.create(store()) as Store, {
    read: overriding(read, {
      channelWebhooks: overriding(read.channelWebhooks, { probesDue: () => Promise.resolve([to.id]) }),
    }),
    transaction: store().transaction.bind(store()),
  })
  expect(await offerProbes(looksDue, NOW, random)).toBe(true)
  expect((await get(first))?.state).toBe('waiting')
})
