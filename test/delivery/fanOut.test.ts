import { expect, test } from 'vitest'
import { EVENTS_AT_ONCE, fanOut } from '../../src/delivery/fanOut.ts'
import { newAccount } from '../conformance/store.samples.ts'
import { logOf } from '../support/delivery.ts'
import { clock, outgoing, random } from './support/outgoing.ts'

const { write, webhook, channelWebhook, store } = outgoing()
const NOW = clock.now()
const paused = { untilMs: NOW + 1000, reason: [{ code: 'text', values: { text: 'slow' } }] }
const hooks = {
  feeds: true,
  recording: false,
  thumbnail: false,
  transcoder: false,
  restream: false,
  feedHealth: false,
  viewerConnection: false,
}

const turn = async () => {
  const waiting = await store().read.outbox.pending(EVENTS_AT_ONCE)
  return write((tx) => fanOut(tx, waiting, NOW, random))
}
const append = (accountId: string, over: { type?: string; event?: string; data?: string; subject?: string } = {}) =>
  write((tx) =>
    tx.outbox.append({
      accountId,
      type: 'feeds',
      event: 'started',
      subject: 'stage',
      data: '{"name":"stage"}',
      createdAtMs: NOW - 5,
      ...over,
    }),
  )
const stateOf = async (id: number) =>
  (await logOf(store(), id)).map(({ state, error }) => [state, error && error.message])

test('an event becomes a row for each webhook of its account that wants it, and leaves the outbox', async () => {
  const accountId = newAccount()
  const made: number[] = []
  for (const over of [{}, { filter: 'stage' }, { filter: 'other' }, { disabled: paused }, { accountId: newAccount() }])
    made.push((await webhook({ accountId, hooks, ...over })).id)
  await append(accountId)
  await append(accountId, { type: 'recording' })
  expect(await turn()).toEqual({ events: 2, pending: 2 })
  const states = await Promise.all(made.map(stateOf))
  expect(states).toEqual([
    [['pending', null]],
    [['pending', null]],
    [],
    [['skipped', 'the webhook was disabled: slow']],
    [],
  ])
  const [[one], [other]] = [await logOf(store(), made[0] ?? 0), await logOf(store(), made[1] ?? 0)]
  expect(one).toMatchObject({ accountId, type: 'feeds', event: 'started', subject: 'stage', createdAtMs: NOW - 5 })
  // One event has one id for all receivers, and each row has an id of its own.
  expect([one?.eventId === other?.eventId, one?.id === other?.id, one?.id === one?.eventId]).toEqual([
    true,
    false,
    false,
  ])
  expect(await turn()).toEqual({ events: 0, pending: 0 })
})

test('each account has its own webhooks, also when their events are taken together', async () => {
  const [a, b] = [newAccount(), newAccount()]
  const made = [await webhook({ accountId: a, hooks }), await webhook({ accountId: b, hooks })]
  for (const accountId of [a, b, a]) await append(accountId)
  expect(await turn()).toEqual({ events: 3, pending: 3 })
  expect(await Promise.all(made.map(async ({ id }) => (await stateOf(id)).length))).toEqual([2, 1])
})

test('a hundred events are taken at once', async () => {
  const accountId = newAccount()
  await write(async (tx) => {
    const event = { accountId, type: 'feeds', event: 'started', subject: 'stage', data: '{}', createdAtMs: NOW }
    for (let n = 0; n < 101; n += 1) await tx.outbox.append(event)
  })
  expect([(await turn()).events, (await turn()).events]).toEqual([100, 1])
})

test('of an account with hundreds of webhooks fewer events are taken at once, so that no transaction takes long', async () => {
  const accountId = newAccount()
  for (let made = 0; made < 250; made += 1) await webhook({ accountId, hooks })
  for (let n = 0; n < 5; n += 1) await append(accountId)
  await append(newAccount())
  expect([await turn(), await turn()]).toEqual([
    { events: 4, pending: 1000 },
    { events: 2, pending: 250 },
  ])
})

test('events of channels go to active webhooks that want them, count attempts, and are kept', async () => {
  const accountId = newAccount()
  const made: number[] = []
  for (const over of [
    {},
    { events: ['channel.created'] },
    { events: ['channel.deleted'] },
    { active: false },
    { disabled: paused, probedAtMs: NOW - 59_999 },
    { disabled: paused, probedAtMs: NOW - 60_000 },
  ])
    made.push((await channelWebhook({ accountId, ...over })).id)
  const object = { type: 'ingest', id: 'in_1', name: 'Camera' }
  const data = JSON.stringify({ object, data: null, atMs: NOW - 5 })
  await append(accountId, { type: 'channel', event: 'channel.created', data })
  expect(await turn()).toEqual({ events: 1, pending: 3 })
  expect(await Promise.all(made.map(stateOf))).toEqual([
    [['pending', null]],
    [['pending', null]],
    [],
    [],
    [['skipped', 'the webhook was disabled: slow']],
    [['pending', null]],
  ])
  const [kept] = await store().read.channelEvents.page({ accountId, descending: true, limit: 9 })
  const [row] = await logOf(store(), made[0] ?? 0)
  expect(kept).toEqual({ id: row?.eventId, accountId, atMs: NOW - 5, type: 'channel.created', data })
  const claimed = await write((tx) => tx.deliveries.claim({ webhookId: made[0] ?? 0, take: 1, cap: 4 }))
  expect(claimed).toMatchObject([{ attempt: 1 }])
})
