import { expect, test, vi } from 'vitest'
import { emit } from '../support/delivery.ts'
import { eventually } from '../support/until.ts'
import { ok, runners } from './support/runners.ts'

const { webhook, channelWebhook, rows, begunBy, store, runnerWith, storeThat, signal, stateOf, quiet } = runners()

/** Wide enough for every delivery of a test. */
const unbounded = { perWebhook: 200, total: 100_000 }

/** The store, and how many transactions have begun. */
function counted() {
  let count = 0
  const counting = storeThat((transact) => {
    count += 1
    return transact()
  })
  return { counting, transactions: () => count }
}

test('more events and more ends than one transaction takes need no further sign of the store', async () => {
  const to = await webhook()
  const { runner, receiver, ended } = runnerWith({ limits: unbounded })
  await runner.start()
  await quiet()
  await emit(store(), to.accountId, ...Array.from({ length: 102 }, (_, at) => `stream ${at}`))
  runner.wake()
  await eventually(() => expect(receiver.waiting).toHaveLength(102))
  receiver.answerAll()
  await eventually(() => expect(ended.get('delivered')).toBe(102))
})

test('an event that is made into a delivery is sent without a sign of the store', async () => {
  const to = await webhook()
  const { runner, receiver } = runnerWith()
  await runner.start()
  await emit(store(), to.accountId, 'one')
  signal()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
})

test('a look that finds nothing to do costs no transaction', async () => {
  const { counting, transactions } = counted()
  const { runner, receiver } = runnerWith({ store: counting, limits: { perWebhook: 1, total: 1 } })
  await runner.start()
  await quiet()
  const idle = transactions()
  signal()
  await quiet()
  expect(transactions()).toBe(idle)
  // Nor does one while each slot is taken.
  await rows(await webhook(), 2)
  signal()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  await quiet()
  const busy = transactions()
  signal()
  await quiet()
  expect(transactions()).toBe(busy)
})

test('retries of one webhook, more than one transaction releases, keep that of another for no further look', async () => {
  const { runner, clock } = runnerWith({ limits: { perWebhook: 1, total: 8 } })
  const [many, other] = [await channelWebhook(), await channelWebhook()]
  await rows(many, 1001)
  const [last] = await rows(other, 1)
  const untilMs = clock.now() + 1000
  for (const [{ id: webhookId }, ms] of [
    [many, untilMs],
    [other, untilMs + 1],
  ] as const)
    await store().transaction((tx) => tx.deliveries.hold({ webhookId, untilMs: ms, except: null, limit: 1001 }))
  await runner.start()
  await quiet()
  clock.advance(2000)
  runner.wake()
  await eventually(async () => expect(await stateOf(last)).toBe('started'))
})

test('a row that other nodes have no slot left for is looked at once, and not again and again', async () => {
  const to = await webhook()
  const { counting, transactions } = counted()
  const { runner, receiver, clock } = runnerWith({ store: counting, limits: { perWebhook: 1, total: 2 } })
  await begunBy('another', 60_000, to, clock.now())
  await rows(to, 1)
  await runner.start()
  await quiet()
  const before = transactions()
  await quiet()
  expect([transactions(), receiver.urls]).toEqual([before, []])
})

test('rows of a paused webhook give their slots back, and hold up no other webhook', async () => {
  const { runner, receiver, clock } = runnerWith({ limits: { perWebhook: 2, total: 8 } })
  const untilMs = clock.now() + 30_000
  const paused = await channelWebhook({
    disabled: { untilMs, reason: [{ code: 'text', values: { text: 'slow' } }] },
    probedAtMs: clock.now(),
  })
  await rows(paused, 2)
  const other = await webhook({ url: 'https://other.example/' })
  await rows(other, 1)
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  expect(receiver.urls).toEqual(['https://other.example/'])
  clock.advance(30_000)
  runner.wake()
  await eventually(() => expect(receiver.waiting).toHaveLength(3))
})

test('webhooks of a receiver that hangs, more than one query answers, hide no other webhook of their account', async () => {
  const { runner, receiver } = runnerWith({ limits: { perWebhook: 1, total: 4 } })
  const hanging = await webhook()
  const { accountId } = hanging
  const inTheWay = [hanging, ...(await Promise.all(Array.from({ length: 9 }, () => webhook({ accountId }))))]
  for (const one of inTheWay) await rows(one, 1)
  await rows(await webhook({ accountId, url: 'https://other.example/' }), 1)
  await runner.start()
  await eventually(() => expect(receiver.urls).toContain('https://other.example/'))
  expect(receiver.urls.filter((url) => url === hanging.url)).toHaveLength(2)
})

test('a webhook whose rows are set aside leaves the only slot to the next one', async () => {
  const { runner, receiver, clock } = runnerWith({ limits: { perWebhook: 1, total: 1 } })
  const paused = { untilMs: clock.now() + 30_000, reason: [{ code: 'text', values: { text: 'slow' } }] }
  await rows(await channelWebhook({ disabled: paused, probedAtMs: clock.now() }), 1)
  await rows(await webhook({ url: 'https://other.example/' }), 1)
  await runner.start()
  await eventually(() => expect(receiver.urls).toEqual(['https://other.example/']))
})

test('what a node has under way is its own while it lives, and given up once it has left', async () => {
  const to = await webhook()
  const first = runnerWith()
  const [id] = await rows(to, 1)
  await first.runner.start()
  await eventually(() => expect(first.receiver.waiting).toHaveLength(1))
  await runnerWith().runner.start()
  expect(await stateOf(id)).toBe('started')
  // A row of that node of which it knows nothing, as after a lost answer of the store.
  const forgotten = await begunBy(first.nodeId, 60_000, to, first.clock.now())
  first.receiver.answerAll()
  await eventually(async () => expect(await stateOf(id)).toBe('delivered'))
  await first.runner.stop()
  await runnerWith().runner.start()
  expect(await stateOf(forgotten)).toBe('unknown')
})

test('stopping gives what is under way fifteen seconds, records the one that ends, and hears nothing after that', async () => {
  const [id] = await rows(await webhook(), 1)
  const { runner, receiver, clock } = runnerWith()
  const rests = vi.spyOn(clock, 'sleep')
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  expect(signal()).toBe(1)
  const stopping = runner.stop()
  await eventually(() => expect(rests.mock.calls.map(([ms]) => ms)).toContain(15_000))
  receiver.answerAll()
  await stopping
  expect([await stateOf(id), signal()]).toEqual(['delivered', 0])
  expect(rests.mock.calls.find(([ms]) => ms === 15_000)?.[1]?.aborted).toBe(true)
})

test('a round that failed is repeated without a sign of the store', async () => {
  const [id] = await rows(await webhook(), 1)
  let failures = 0
  const flaky = storeThat((transact) => {
    if (failures > 0 && (failures -= 1) >= 0) throw new Error('the store is away')
    return transact()
  })
  const { runner, receiver, clock, warnings } = runnerWith({ store: flaky })
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  await quiet()
  failures = 1
  receiver.waiting.pop()?.answer({ ...ok, status: 500 })
  await eventually(() => expect(warnings).toHaveLength(1))
  clock.advance(999)
  await quiet()
  expect(await stateOf(id)).toBe('started')
  clock.advance(1)
  await eventually(async () => expect(await stateOf(id)).toBe('failed'))
})
