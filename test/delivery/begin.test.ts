import { expect, test } from 'vitest'
import { begin } from '../../src/delivery/begin.ts'
import type { StoredWebhook } from '../../src/store/store.ts'
import { verifySignature } from '../../src/delivery/signature.ts'
import { SECRET } from '../support/delivery.ts'
import { clock, outgoing, sender } from './support/outgoing.ts'

const { write, webhook, channelWebhook, get, lock, rows, store } = outgoing()
const NOW = clock.now()
const paused = { untilMs: NOW + 1000, reason: [{ code: 'text', values: { text: 'slow' } }] }

const beginFor = (...claims: { to: Pick<StoredWebhook, 'id'>; take?: number }[]) =>
  write((tx) =>
    begin(
      tx,
      claims.map(({ to, take = 4 }) => ({ webhookId: to.id, take })),
      { sender, node: 'node 1', nowMs: NOW, cap: 4 },
    ),
  )
const statesOf = (ids: string[]) => Promise.all(ids.map(async (id) => (await get(id))?.state))

test('what is claimed is started, with the bytes that are sent, and no more than the cap is under way', async () => {
  const [one, other] = [await webhook(), await webhook({ url: 'https://b.example/' })]
  const [a, b] = [await rows(one, 6), await rows(other, 1)]
  const { started, aside } = await beginFor({ to: one, take: 3 }, { to: other })
  expect(started.map(({ id }) => id)).toEqual([...a.slice(0, 3), ...b])
  expect(started.map(({ webhookId, attempt }) => [webhookId, attempt])).toContainEqual([other.id, null])
  expect(aside).toBe(0)
  expect(await get(a[0] ?? '')).toMatchObject({ state: 'started', startedAtMs: NOW })
  const { body, headers } = started[0]?.request ?? { body: new Uint8Array(), headers: {} }
  expect((await store().read.deliveries.payload(a[0] ?? ''))?.body).toEqual(new Uint8Array(body))
  expect(verifySignature({ body: Buffer.from(body), headers, secret: SECRET, nowMs: NOW }).ok).toBe(true)
  expect((await beginFor({ to: one })).started.map(({ id }) => id)).toEqual(a.slice(3, 4))
})

test('what is left for a webhook that was deleted is skipped', async () => {
  const to = await webhook()
  await write((tx) => tx.webhooks.delete(to.id))
  const ids = await rows(to, 2)
  expect(await beginFor({ to })).toEqual({ started: [], aside: 2 })
  expect(await get(ids[1] ?? '')).toMatchObject({
    state: 'skipped',
    error: { message: 'the webhook was deleted' },
    endedAtMs: NOW,
  })
})

test('what a person asked for is skipped too when the webhook is gone', async () => {
  const to = await webhook()
  await write((tx) => tx.webhooks.delete(to.id))
  const [first = ''] = await rows(to, 1)
  const again = await write((tx) => tx.deliveries.redeliver({ of: first, id: `${first}r`, atMs: NOW }))
  expect(await beginFor({ to })).toEqual({ started: [], aside: 2 })
  expect(await statesOf([first, again?.id ?? ''])).toEqual(['skipped', 'skipped'])
})

test('no more than a thousand are put aside at once, and what is left is not sent', async () => {
  const disabled = { ...paused, untilMs: NOW + 1e6 }
  for (const to of [await webhook({ disabled }), await channelWebhook({ disabled, probedAtMs: NOW })]) {
    await rows(to, 1001)
    expect(await beginFor({ to })).toEqual({ started: [], aside: 1000 })
    expect(await beginFor({ to })).toEqual({ started: [], aside: 1 })
  }
})

test('what waits for a paused webhook is skipped, but for what a person asked for', async () => {
  const to = await webhook({ disabled: paused })
  const [first = '', ...others] = await rows(to, 2)
  const again = await write((tx) => tx.deliveries.redeliver({ of: first, id: `${first}r`, atMs: NOW }))
  const { started, aside } = await beginFor({ to })
  expect([started.map(({ id }) => id), aside]).toEqual([[again?.id], 2])
  expect(await statesOf([first, ...others])).toEqual(['skipped', 'skipped'])
  expect((await get(first))?.error?.message).toBe('the webhook was disabled: slow')
})

test('what waits for a webhook that was deactivated is skipped, paused or not, but for its test', async () => {
  for (const disabled of [null, paused]) {
    const to = await channelWebhook({ active: false, disabled })
    const [event = ''] = await rows(to, 1)
    // A test is no event, and not tried again.
    const [byHand = ''] = await rowsByHand(to)
    const { started, aside } = await beginFor({ to })
    expect([started.map(({ id }) => id), aside]).toEqual([[byHand], 1])
    expect(await get(event)).toMatchObject({ state: 'skipped', error: { message: 'the webhook was deactivated' } })
  }
})

/** Without an attempt, as a test of a webhook is. */
const rowsByHand = (to: StoredWebhook) => {
  const { active: _, ...plain } = to
  const object = { type: 'channel', id: 'ch_1', name: 'Stage' }
  return rows(plain, 1, {
    type: 'channel',
    event: 'channel.created',
    data: JSON.stringify({ object, data: null, atMs: NOW }),
  })
}

test('a paused channel webhook is sent one event a minute and what a person asked for; the rest waits for the end', async () => {
  const to = await channelWebhook({ disabled: paused, probedAtMs: NOW - 60_000 })
  const [probe = '', ...later] = await rows(to, 2)
  const [byHand = ''] = await rowsByHand(to)
  const { started, aside } = await beginFor({ to })
  expect([started.map(({ id }) => id), aside]).toEqual([[probe, byHand], 1])
  expect([await statesOf(later), (await lock(to.id))?.probedAtMs]).toEqual([['waiting'], NOW])
  // One in the same minute is held until the pause ends.
  const [next = ''] = await rows(to, 1)
  expect(await beginFor({ to })).toEqual({ started: [], aside: 1 })
  expect(await store().read.deliveries.isRetryDue(NOW + 999)).toBe(false)
  await write((tx) => tx.deliveries.release(NOW + 1000, 9))
  expect(await statesOf([next])).toEqual(['pending'])
})

test('a paused channel webhook with nothing but what a person asked for is not said to be probed', async () => {
  const to = await channelWebhook({ disabled: paused, probedAtMs: NOW - 70_000 })
  const [byHand] = await rowsByHand(to)
  expect((await beginFor({ to })).started.map(({ id }) => id)).toEqual([byHand])
  expect((await lock(to.id))?.probedAtMs).toBe(NOW - 70_000)
})

test('an active channel webhook gets all, with the number of the attempt', async () => {
  const to = await channelWebhook({ disabled: { ...paused, untilMs: NOW } })
  const ids = await rows(to, 2)
  const { started, aside } = await beginFor({ to })
  expect([started.map(({ id, attempt }) => [id, attempt]), aside]).toEqual([ids.map((id) => [id, 1]), 0])
})

test('a row that cannot be prepared fails alone, and says why', async () => {
  const to = await webhook()
  const [broken = ''] = await rows(to, 1, { data: 'no JSON' })
  const [whole = ''] = await rows(to, 1)
  const { started } = await beginFor({ to })
  expect(started.map(({ id }) => id)).toEqual([whole])
  const { state, error, endedAtMs } = (await get(broken))!
  expect([state, endedAtMs]).toEqual(['failed', NOW])
  expect(error?.message).toMatch(/^it could not be prepared: SyntaxError/)
})

test('what is sent again has the bytes of the first time', async () => {
  const to = await webhook()
  const [first = ''] = await rows(to, 1)
  await beginFor({ to })
  const kept = await store().read.deliveries.payload(first)
  await write((tx) => tx.deliveries.redeliver({ of: first, id: `${first}r`, atMs: NOW + 5000 }))
  const { started } = await write((tx) =>
    begin(tx, [{ webhookId: to.id, take: 4 }], { sender, node: 'node 1', nowMs: NOW + 5000, cap: 4 }),
  )
  expect(started.map(({ request }) => new Uint8Array(request.body))).toEqual([kept?.body])
})

test('the log learns how long an event waited, even if its clock was ahead of ours', async () => {
  const to = await webhook()
  const ids = [...(await rows(to, 1, { createdAtMs: NOW - 1234 })), ...(await rows(to, 1, { createdAtMs: NOW + 1234 }))]
  const { started } = await beginFor({ to })
  expect(started.map(({ id, facts }) => [id, facts.waitedMs])).toEqual([
    [ids[0], 1234],
    [ids[1], 0],
  ])
  expect(started[0]?.facts).toMatchObject({
    accountId: to.accountId,
    type: 'feeds',
    event: 'started',
    subject: 'stage',
  })
})

test('a row that cannot be prepared again keeps the bytes of the first time', async () => {
  const to = await webhook()
  const [first = ''] = await rows(to, 1)
  await beginFor({ to })
  const kept = await store().read.deliveries.payload(first)
  const again = await write((tx) => tx.deliveries.redeliver({ of: first, id: `${first}r`, atMs: NOW }))
  const closed = {
    ...sender,
    openSecret: () => {
      throw new Error('sealed with another key')
    },
  }
  const { started } = await write((tx) =>
    begin(tx, [{ webhookId: to.id, take: 4 }], { sender: closed, node: 'node 1', nowMs: NOW, cap: 4 }),
  )
  expect(started).toEqual([])
  expect(await get(again?.id ?? '')).toMatchObject({
    state: 'failed',
    error: { message: expect.stringContaining('another key') as string },
  })
  expect(await store().read.deliveries.payload(again?.id ?? '')).toMatchObject({ body: kept?.body })
})
