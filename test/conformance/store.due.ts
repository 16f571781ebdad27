import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { offTarget } from '../../src/core/restream/state.ts'
import { openStore } from '../../src/store/open.ts'
import type { EngineStateRecord, NewDelivery, Store } from '../../src/store/store.ts'
import { until } from '../support/until.ts'
import { insert, newScheduler, newWebhook, NOTHING_DUE as NOTHING, quiet } from './store.samples.ts'

const AT = 1_750_000_000_000
const NODE = 'node 1'

/** On an empty database: one store says what another one has written, of each kind, and no longer than it is due. */
export async function expectDue(url: string): Promise<void> {
  const [store, other] = [await openStore({ url, log: quiet }), await openStore({ url, log: quiet })]
  const dueAt = (nowMs: number, node = NODE) => store.due({ nowMs, node, cursor: null })
  expect(await dueAt(AT)).toEqual(NOTHING)
  await expectChanges(store, other)
  await expectDeliveries(store, other)
  await expectLost(store, other)

  const scheduler = newScheduler({ nextAtMs: AT })
  await other.transaction((tx) => tx.schedulers.insert(scheduler))
  expect([await dueAt(AT - 1), await dueAt(AT)]).toEqual([NOTHING, { ...NOTHING, schedulers: true }])
  await other.transaction((tx) => tx.schedulers.replace({ ...scheduler, nextAtMs: null }))

  await other.transaction((tx) => tx.reloads.insert({ id: 'r', nodeId: NODE, isCheck: true, report: null }, AT))
  expect([await dueAt(AT), await dueAt(AT, 'node 2')]).toEqual([{ ...NOTHING, reloads: true }, NOTHING])
  await other.transaction((tx) => tx.reloads.answer('r', '{}'))

  await other.transaction(async (tx) => {
    await tx.nodes.insert({ id: NODE, hostKey: 'here', pid: 1, url: null }, 60_000)
    await tx.nodes.drain(NODE)
  })
  expect([await dueAt(AT), await dueAt(AT, 'node 2')]).toEqual([{ ...NOTHING, drain: true }, NOTHING])
  await other.transaction((tx) => tx.nodes.delete(NODE))

  const pull = await addPull(other)
  expect(await dueAt(AT)).toEqual({ ...NOTHING, pulls: true })
  await other.transaction((tx) => tx.pulls.replace({ ...pull, enabled: false }))

  for (const busy of [{ wanted: true }, { node: 'node 2' }]) {
    await other.transaction((tx) => tx.engineStates.put({ ...ENGINE, ...busy }))
    expect(await dueAt(AT)).toEqual({ ...NOTHING, engines: true })
    await other.transaction((tx) => tx.engineStates.put(ENGINE))
  }
  expect(await dueAt(AT)).toEqual(NOTHING)
  for (const one of [store, other]) await one.close()
}

/** Changes after a position; also when they, or the position, are gone. */
async function expectChanges(store: Store, other: Store): Promise<void> {
  let cursor = (await store.changesSince(null)).cursor
  const hasChanges = async () => (await store.due({ nowMs: AT, node: NODE, cursor })).changes
  const change = (id: number) =>
    other.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'a', id, atMs: AT }))
  expect(await hasChanges()).toBe(false)
  await change(1)
  const first = cursor
  expect(await hasChanges()).toBe(true)
  // A position from while other transactions ran is read again when they are over.
  await until(async () => {
    cursor = (await store.changesSince(cursor)).cursor
    return !(await hasChanges())
  })
  await other.transaction((tx) => tx.changes.prune(AT + 1))
  expect(await hasChanges()).toBe(false)
  cursor = first
  expect(await hasChanges()).toBe(true)
  cursor = '99999999999'
  expect(await hasChanges()).toBe(true)
}

async function expectDeliveries(store: Store, other: Store): Promise<void> {
  const isDue = async (nowMs = AT) => (await store.due({ nowMs, node: NODE, cursor: null })).deliveries
  const data = { accountId: 'a', type: 'feeds', event: 'started', subject: 's', data: '{}', createdAtMs: AT }
  await other.transaction((tx) => tx.outbox.append(data))
  expect(await isDue()).toBe(true)
  await other.transaction((tx) => tx.outbox.take(1))
  expect(await isDue()).toBe(false)

  const { id: webhookId } = await other.transaction((tx) => tx.webhooks.insert(newWebhook()))
  await other.transaction((tx) => tx.deliveries.insert([deliveryTo(webhookId)]))
  expect(await isDue()).toBe(true)
  await other.transaction((tx) => tx.deliveries.hold({ webhookId, untilMs: AT + 1000, except: null, limit: 1 }))
  expect([await isDue(AT + 999), await isDue(AT + 1000)]).toEqual([false, true])
  await other.transaction((tx) => tx.deliveries.giveUp(webhookId, { message: 'off' }, AT))
  expect(await isDue(AT + 1000)).toBe(false)
}

/** A started delivery is lost without a valid lease of its node, and a lease that has expired is to be forgotten. */
async function expectLost(store: Store, other: Store): Promise<void> {
  const isSomeLost = (startedBeforeMs = AT) => store.read.deliveries.isSomeLost(startedBeforeMs)
  const { id: webhookId } = await other.transaction((tx) => tx.webhooks.insert(newWebhook()))
  const delivery = deliveryTo(webhookId)
  const payload = { body: new Uint8Array([1]), contentType: 'application/json', headers: {} }
  await other.transaction(async (tx) => {
    await tx.deliveries.renew(NODE, 60_000)
    await tx.deliveries.insert([delivery])
    await tx.deliveries.start(NODE, AT, [{ id: delivery.id, payload }])
  })
  expect([await isSomeLost(), await isSomeLost(AT + 1)]).toEqual([false, true])
  await other.transaction((tx) => tx.deliveries.renew(NODE, -1))
  expect(await isSomeLost()).toBe(true)
  const expiry = { nowMs: AT, startedBeforeMs: AT, reason: { message: 'lost' }, limit: 9 }
  expect(await other.transaction((tx) => tx.deliveries.expire(expiry))).toBe(1)
  expect(await isSomeLost()).toBe(false)
}

export const deliveryTo = (webhookId: number): NewDelivery => ({
  id: randomBytes(8).toString('hex'),
  eventId: randomBytes(8).toString('hex'),
  webhookId,
  accountId: 'a',
  type: 'feeds',
  event: 'started',
  subject: null,
  createdAtMs: AT,
  error: null,
  state: 'pending',
  data: '{}',
  attempt: 1,
})

async function addPull(store: Store) {
  const token = await insert(store, {})
  return store.transaction((tx) =>
    tx.pulls.insert({
      accountId: token.accountId,
      tokenId: token.id,
      streamName: 'door',
      label: '',
      urlSealed: Uint8Array.of(1),
      shownUrl: 'rtsp://camera/',
      enabled: true,
      when: 'always',
      version: 1,
      addedAtMs: AT,
      demandAtMs: 0,
      node: null,
      state: offTarget(AT),
    }),
  )
}

/** Not running, and not wanted. */
const ENGINE: EngineStateRecord = {
  engineId: 'en_1',
  accountId: 'a',
  channelId: 'ch_1',
  wanted: false,
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  node: null,
  runId: null,
}
