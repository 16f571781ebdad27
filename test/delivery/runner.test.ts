import { expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { StoredWebhook } from '../../src/store/store.ts'
import { newAccount } from '../conformance/store.samples.ts'
import { emit } from '../support/delivery.ts'
import { eventually } from '../support/until.ts'
import { isSettled, ok, runners } from './support/runners.ts'

const { write, webhook, channelWebhook, get, rows, begunBy, store, runnerWith, storeThat, signal, stateOf, quiet } =
  runners()

test('an event is sent once, its end is recorded and counted, and its place is free again', async () => {
  const to = await webhook({ url: 'https://a.example/' })
  const { runner, receiver, ended, kept, nodeId } = runnerWith({ limits: { perWebhook: 1, total: 2 } })
  await emit(store(), to.accountId, 'one', 'two')
  await runner.start()
  expect(kept).toEqual([{ kind: 'deliveries', id: nodeId, leaseMs: 30_000 }])
  for (const count of [1, 2]) {
    await eventually(() => expect(receiver.urls).toHaveLength(count))
    receiver.answerAll()
  }
  await eventually(() => expect(ended.get('delivered')).toBe(2))
  await quiet()
  expect(receiver.urls).toEqual(['https://a.example/', 'https://a.example/'])
})

test('each attempt that has ended is one line of the log, without what was sent or answered', async () => {
  const to = await webhook({ url: 'https://a.example:8443/hook?key=secret' })
  const lines: object[] = []
  const { runner, receiver, nodeId } = runnerWith({ attempts: { info: (fields) => void lines.push(fields) } })
  const [id = ''] = await rows(to, 1)
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.waiting.pop()?.answer({ ...ok, status: 500, answer: 'a secret of the receiver', durationMs: 7 })
  await eventually(() => expect(lines).toHaveLength(1))
  const again = await write((tx) => tx.deliveries.redeliver({ of: id, id: `${id}r`, atMs: 0 }))
  runner.wake()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.answerAll()
  await eventually(() => expect(lines).toHaveLength(2))
  const about = {
    node: nodeId,
    accountId: to.accountId,
    webhookId: to.id,
    type: 'feeds',
    event: 'started',
    subject: 'stage',
  }
  expect(lines).toMatchObject([
    {
      ...about,
      deliveryId: id,
      isRedelivery: false,
      outcome: 'failed',
      status: 500,
      durationMs: 7,
      host: 'a.example:8443',
    },
    { ...about, deliveryId: again?.id, isRedelivery: true, outcome: 'delivered', status: 200, problem: null },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

test('a wake finds what was written meanwhile, to the outbox or to the log', async () => {
  const to = await webhook()
  const { runner, receiver } = runnerWith()
  await runner.start()
  await quiet()
  const [id] = await rows(to, 1)
  runner.wake()
  await eventually(() => expect(receiver.urls).toHaveLength(1))
  receiver.answerAll()
  await eventually(async () => expect(await stateOf(id)).toBe('delivered'))
})

test('one webhook has no more under way than its slots, all of them no more than the process, and each gets its turn', async () => {
  const made: StoredWebhook[] = []
  for (const name of ['a', 'b', 'c']) made.push(await webhook({ url: `https://${name}.example/` }))
  for (const to of made) await rows(to, 3)
  const { runner, receiver } = runnerWith({ limits: { perWebhook: 2, total: 4 } })
  await runner.start()
  await eventually(() => expect(receiver.waiting.length).toBeGreaterThan(2))
  await quiet()
  expect(new Set(receiver.waiting.map(({ url }) => url[8]))).toEqual(new Set(['a', 'b', 'c']))
  await eventually(() => {
    receiver.answerAll()
    expect(receiver.urls).toHaveLength(9)
  })
  const order = receiver.urls.map((url) => url[8])
  expect(new Set(order.slice(3, 6)).size).toBeGreaterThan(1)
})

test('webhooks whose exchange takes long share a quarter of the free slots from then on, and four of them one', async () => {
  const accountId = newAccount()
  const urls = Array.from({ length: 8 }, (_, at) => `https://${at}.example/`)
  for (const url of urls) await rows(await webhook({ accountId, url }), 2)
  const { runner, receiver, clock } = runnerWith({ limits: { perWebhook: 1, total: 8 } })
  await runner.start()
  await eventually(() => expect(receiver.urls).toEqual(urls.slice(0, 5)))
  clock.advance(1000)
  // Others of their account wait for none of them.
  await eventually(() => expect(receiver.urls).toEqual(urls))
  receiver.answerAll()
  await eventually(() => expect(receiver.waiting).toHaveLength(5))
  await quiet()
  expect(receiver.urls.slice(8)).toEqual([...urls.slice(0, 2), ...urls.slice(5)])
})

test('after the last webhook the first one has its turn', async () => {
  const [first, last] = [
    await webhook({ url: 'https://first.example/' }),
    await webhook({ url: 'https://last.example/' }),
  ]
  const { runner, receiver } = runnerWith({ limits: { perWebhook: 1, total: 1 } })
  await rows(last, 1)
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  await rows(first, 1)
  receiver.answerAll()
  await eventually(() => expect(receiver.urls).toEqual(['https://last.example/', 'https://first.example/']))
})

test('a mistake of ours in the middle of an exchange is unknown, and holds no place', async () => {
  const to = await webhook()
  const [id, next] = await rows(to, 2)
  const { runner, receiver } = runnerWith({ limits: { perWebhook: 1, total: 1 } })
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.waiting.pop()?.fail(new Error('ours'))
  await eventually(async () =>
    expect(await get(id ?? '')).toMatchObject({ state: 'unknown', error: { message: 'broken off: Error: ours' } }),
  )
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.answerAll()
  await eventually(async () => expect(await stateOf(next)).toBe('delivered'))
})

test('what was begun before the server stood still for longer than its lease goes back, and is sent once', async () => {
  for (const [stoodMs, starts] of [
    [6000, 1],
    [6001, 2],
  ] as const) {
    const [id = ''] = await rows(await webhook(), 1)
    const clock = new ManualClock()
    let started = 0
    /** The first time, so much time passes while `started` is being committed. */
    const slow = storeThat(async (transact) => {
      const before = await stateOf(id)
      const result = await transact()
      if (before === 'pending' && (await stateOf(id)) === 'started' && (started += 1) === 1) clock.advance(stoodMs)
      return result
    })
    const { runner, receiver, warnings, ended } = runnerWith({ store: slow, clock, leaseMs: 6000 })
    await runner.start()
    await eventually(async () => {
      receiver.answerAll()
      expect(await stateOf(id)).toBe('delivered')
    })
    expect([started, receiver.urls.length, ended.get('failed')]).toEqual([starts, 1, 0])
    expect(warnings).toEqual(starts === 1 ? [] : [expect.objectContaining({ deliveryId: id })])
    const stopping = runner.stop()
    await eventually(() => (clock.advance(20_000), isSettled(stopping)))
  }
})

test('what could not be connected because the server stood still goes back, and so does what a stop cuts short', async () => {
  const to = await webhook()
  const [id] = await rows(to, 1)
  const { runner, receiver, clock } = runnerWith({ leaseMs: 6000, drainMs: () => 0 })
  await runner.start()
  const unconnected = {
    kind: 'failed',
    stage: 'connect',
    sentence: { code: 'text', values: { text: 'no' } },
    durationMs: 1,
    status: null,
  } as const
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  clock.advance(6001)
  receiver.waiting.pop()?.answer({ ...unconnected, code: 'timeout' })
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.waiting.pop()?.answer({ ...unconnected, code: 'aborted' })
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.waiting.pop()?.answer({ ...unconnected, code: 'timeout' })
  await eventually(async () => expect(await stateOf(id)).toBe('failed'))
})

test('stopping waits for what is under way, says goodbye, and gives up the rest after its time', async () => {
  const to = await webhook()
  const [quick, slow] = await rows(to, 2)
  const { runner, receiver, clock, released, nodeId } = runnerWith({ drainMs: () => 5000 })
  const rests = vi.spyOn(clock, 'sleep')
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(2))
  const stopping = runner.stop()
  await eventually(() => expect(rests.mock.calls.map(([ms]) => ms)).toContain(5000))
  expect(runner.stop()).toBe(stopping)
  receiver.waiting[0]?.answer(ok)
  await quiet()
  clock.advance(4999)
  await quiet()
  await expect(isSettled(stopping)).rejects.toThrow('it goes on')
  clock.advance(1)
  await stopping
  expect([await stateOf(quick), await stateOf(slow), released]).toEqual(['delivered', 'unknown', [nodeId]])
  const [left] = await rows(to, 1)
  runner.wake()
  await quiet()
  expect(await stateOf(left)).toBe('pending')
  await write((tx) => tx.webhooks.delete(to.id))
})

test('an attempt whose time has come is sent again', async () => {
  const to = await channelWebhook()
  const { runner, receiver, clock, ended } = runnerWith()
  await rows(to, 1)
  await runner.start()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
  receiver.waiting.pop()?.answer({ ...ok, status: 500 })
  await eventually(() => expect(ended.get('failed')).toBe(1))
  clock.advance(4999)
  runner.wake()
  await quiet()
  expect(receiver.waiting).toHaveLength(0)
  clock.advance(1)
  runner.wake()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
})

test('a paused webhook is probed when its minute is over', async () => {
  const clock = new ManualClock()
  const paused = { untilMs: clock.now() + 3_600_000, reason: [{ code: 'text', values: { text: 'slow' } }] }
  const to = await channelWebhook({ disabled: paused, probedAtMs: clock.now() - 59_999 })
  await rows(to, 1)
  const { runner, receiver } = runnerWith({ clock })
  await runner.start()
  await quiet()
  expect(receiver.urls).toHaveLength(0)
  clock.advance(1)
  runner.wake()
  await eventually(() => expect(receiver.waiting).toHaveLength(1))
})

test('a store that is away for a while ends nothing, and a claim that fails gives its places back', async () => {
  const [id] = await rows(await webhook(), 1)
  let failures = 0
  const flaky = storeThat((transact) => {
    if (failures > 0 && (failures -= 1) >= 0) throw new Error('the store is away')
    return transact()
  })
  const { runner, receiver, clock, warnings } = runnerWith({ store: flaky, limits: { perWebhook: 1, total: 1 } })
  await runner.start()
  await eventually(async () => {
    receiver.answerAll()
    expect(await stateOf(id)).toBe('delivered')
  })
  const [next] = await rows(await webhook(), 1)
  failures = 1
  signal()
  await eventually(() => expect(warnings).toMatchObject([{ err: new Error('the store is away') }]))
  await quiet()
  expect(await stateOf(next)).toBe('pending')
  clock.advance(1000)
  await eventually(async () => {
    receiver.answerAll()
    expect(await stateOf(next)).toBe('delivered')
  })
})

test('what a node that died had begun is given up, at the start and again about six times in each lease', async () => {
  const to = await webhook()
  let isEven = true
  // The most that it adds: the first pause is 10 s, and each later one 11 s.
  const longest = { bytes: (count: number) => Buffer.alloc(count, 0xff) }
  const time = { isEven: () => Promise.resolve(isEven) }
  const runner = runnerWith({ leaseMs: 60_000, random: longest, time })
  const begun = (node: string, leaseMs: number) => begunBy(node, leaseMs, to, runner.clock.now())
  const [dead, alive] = [await begun('dead', -1), await begun('alive', 60_000)]
  const rests = vi.spyOn(runner.clock, 'sleep')
  /** Passes time, until so many looks have been taken in all. */
  const pass = async (ms: number, looks: number): Promise<void> => {
    runner.clock.advance(ms)
    await eventually(() => expect(rests.mock.calls.filter(([restMs]) => restMs >= 10_000)).toHaveLength(looks))
  }
  await runner.runner.start()
  await pass(0, 1)
  expect([await stateOf(dead), await stateOf(alive)]).toEqual(['unknown', 'started'])
  expect(runner.warnings).toEqual([{ lost: 1 }])
  const later = await begun('dead later', -1)
  isEven = false
  await pass(10_000, 2)
  isEven = true
  await pass(10_990, 2)
  expect(await stateOf(later)).toBe('started')
  await pass(20, 3)
  expect(await stateOf(later)).toBe('unknown')
  // Whatever its lease says, what began two minutes ago has been forgotten.
  await pass(90_000, 4)
  expect(await stateOf(alive)).toBe('started')
  await pass(12_000, 5)
  expect(await stateOf(alive)).toBe('unknown')
})
