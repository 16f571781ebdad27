import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../src/base/clock.ts'
import { createEgress } from '../../src/net/egress.ts'
import { verifySignature } from '../../src/delivery/signature.ts'
import { type Delivery, type Store, type StoredWebhook, StoreUnavailable, type Tx } from '../../src/store/store.ts'
import { overriding } from '../../src/store/nouns.ts'
import { newAccount } from '../conformance/store.samples.ts'
import { Authority } from '../delivery/support/certificates.ts'
import { httpReceiver, type Received, type Receiver } from '../delivery/support/receivers.ts'
import { addWebhook, emit, LEASE_MS, logOf, Node, SECRET, settled } from '../support/delivery.ts'
import { until } from '../support/until.ts'
import { passingStore } from '../support/passingStore.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

const authority = new Authority()
const identity = authority.issue('receiver.example')
afterAll(() => authority.remove())

const names = (count: number, prefix = 'n') => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
const namesAt = (receiver: Receiver) =>
  receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: { name: string } }).data.name)
const states = (log: Delivery[]) => log.map(({ state }) => state)
const verify = ({ body, headers }: Received) => verifySignature({ body, headers, secret: SECRET, nowMs: Date.now() })

/** Any address is allowed; the rules for certificates still apply. No exchange runs out of time. */
const guarded = () =>
  createEgress({
    allowPrivateTargets: false,
    allowAddress: () => true,
    resolver: () => Promise.resolve(['127.0.0.1']),
    caFile: authority.caFile,
    clock: new ManualClock(),
  })

describe.each(testedStores())('webhooks on %s', (engine) => {
  const receivers: Receiver[] = []
  let place: Place
  let node: Node
  let accountId: string

  beforeEach(async () => {
    place = await newPlace(engine)
    accountId = newAccount()
    node = await Node.open(place.url, { drainMs: () => 500 }, guarded())
  })
  afterEach(async () => {
    await node.close()
    for (const receiver of receivers.splice(0)) await receiver.stop()
    await place.remove()
  })

  async function receiving(answer?: Parameters<typeof httpReceiver>[0]): Promise<[Receiver, StoredWebhook]> {
    const receiver = await httpReceiver(answer, { identity })
    receivers.push(receiver)
    return [receiver, await addWebhook(node.store, accountId, `https://receiver.example:${receiver.port}/hook`)]
  }

  test('an event arrives once, signed, and the log has the answer', async () => {
    const [receiver, webhook] = await receiving()
    await emit(node.store, accountId, 'stage')
    await node.runner.start()
    const [delivery] = await settled(node.store, webhook.id, 1)
    const [request] = receiver.requests
    expect(receiver.requests).toHaveLength(1)
    expect(verify(request!)).toEqual({ ok: true, value: { id: delivery!.eventId } })
    expect(request!.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Sluice/test' })
    expect(JSON.parse(request!.body.toString())).toEqual({
      type: 'viewerConnection',
      event: 'ViewerAttempt',
      timestamp: delivery!.startedAtMs,
      data: { name: 'stage', accountId, streamId: `${accountId}/stage` },
    })
    expect(delivery).toMatchObject({ state: 'delivered', statusCode: 200, answer: 'thank you', error: null })
  })

  test('each attempt is one line in the log, without the path, the payload and the answer', async () => {
    const lines: object[] = []
    const attempts = { info: (fields: object, message: string) => void lines.push({ ...fields, message }) }
    const logging = new Node(node.store, guarded(), { attempts, nodeId: 'logging' })
    let status = 200
    const [receiver, webhook] = await receiving((_request, response) => response.writeHead(status).end('an answer'))
    await emit(node.store, accountId, 'stage')
    await logging.runner.start()
    const [delivery] = await settled(node.store, webhook.id, 1)
    status = 500
    await emit(node.store, accountId, 'stage')
    logging.runner.wake()
    await settled(node.store, webhook.id, 2)
    await logging.runner.stop()
    await logging.egress.close()
    const common = {
      message: 'a delivery has ended',
      node: 'logging',
      accountId,
      webhookId: webhook.id,
      type: 'viewerConnection',
      event: 'ViewerAttempt',
      subject: 'stage',
      attempt: null,
      isRedelivery: false,
      waitedMs: expect.any(Number),
      durationMs: expect.any(Number),
      bytes: receiver.requests[0]?.body.byteLength,
      host: `receiver.example:${receiver.port}`,
    }
    const { id: deliveryId, eventId } = delivery!
    const again = { deliveryId: expect.any(String), eventId: expect.any(String) }
    expect(lines).toEqual([
      { ...common, deliveryId, eventId, outcome: 'delivered', status: 200, problem: null },
      { ...common, ...again, outcome: 'failed', status: 500, problem: 'the receiver answered with status 500' },
    ])
  })

  test('when the first byte arrives, started is in the store', async () => {
    const seen: Promise<Delivery[]>[] = []
    const [receiver, webhook] = await receiving((_request, response) => {
      const log = logOf(node.store, webhook.id)
      seen.push(log)
      // Answers only after reading the store, so that the test sees the state before the answer.
      void log.finally(() => response.end())
    })
    await node.runner.start()
    await emit(node.store, accountId, ...names(20))
    node.runner.wake()
    await settled(node.store, webhook.id, 20)
    const logs = await Promise.all(seen)
    const states = receiver.requests.map(
      ({ headers }, n) => logs[n]?.find(({ eventId }) => eventId === headers['webhook-id'])?.state,
    )
    expect(states).toEqual(Array(20).fill('started'))
  })

  test('nothing is sent while started cannot be committed', async () => {
    const [receiver, webhook] = await receiving()
    const refusals: string[] = []
    let broken = true
    const store: Store = { ...passingStore(node.store), transaction: (work) => refusing(work) }
    const refusing = <T>(work: (tx: Tx) => Promise<T>) =>
      node.store.transaction(async (tx) => {
        let starts = 0
        const start: Tx['deliveries']['start'] = (by, atMs, claimed) => {
          starts += claimed.length
          return tx.deliveries.start(by, atMs, claimed)
        }
        const done = await work(overriding(tx, { deliveries: overriding(tx.deliveries, { start }) }))
        if (!broken || starts === 0) return done
        refusals.push('refused')
        throw new StoreUnavailable('the disk is full')
      })
    const failing = new Node(store, node.egress)
    await emit(node.store, accountId, 'stage')
    await failing.runner.start()
    await until(() => refusals.length === 2)
    expect(receiver.connections).toBe(0)
    expect(states(await logOf(node.store, webhook.id))).toEqual(['pending'])
    broken = false
    expect(states(await settled(node.store, webhook.id, 1))).toEqual(['delivered'])
    await failing.runner.stop()
  })

  test('a receiver that never answers delays no other', async () => {
    const [hanging, slow] = await receiving(() => undefined)
    const [lively, quick] = await receiving()
    await emit(node.store, accountId, ...names(50))
    await node.runner.start()
    const log = await settled(node.store, quick.id, 50)
    expect(states(log)).toEqual(Array(50).fill('delivered'))
    expect(namesAt(lively).toSorted()).toEqual(names(50).toSorted())
    expect(hanging.requests).toHaveLength(4)
    const waiting = states(await logOf(node.store, slow.id))
    expect(waiting).toEqual([...Array(4).fill('started'), ...Array(46).fill('pending')])
  })

  test('an event that the server could not send, because it stood still for longer than its lease, arrives once', async () => {
    const [receiver, webhook] = await receiving()
    const stopped: Delivery[] = []
    let stoodMs = 0
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stoodMs }
    const { store, egress } = node
    const suspended: Store = {
      ...passingStore(store),
      transaction: async (work) => {
        const done = await store.transaction(work)
        const [delivery] = stoodMs > 0 ? [] : await logOf(store, webhook.id)
        if (delivery?.state === 'started') stopped.push(...(await whileItStandsStill()))
        return done
      },
    }
    /** Its lease expires, and another server gives up what it had begun. */
    const whileItStandsStill = async (): Promise<Delivery[]> => {
      stoodMs = LEASE_MS + 1
      await store.transaction((tx) => tx.deliveries.renew('suspended', -1))
      const another = new Node(store, egress)
      await another.runner.start()
      await another.runner.stop()
      return logOf(store, webhook.id)
    }
    await emit(store, accountId, 'stage')
    const it = new Node(suspended, egress, { nodeId: 'suspended', clock })
    await it.runner.start()
    await until(() => stopped.length > 0 && receiver.requests.length > 0)
    const log = await settled(store, webhook.id, 1)
    await it.runner.stop()
    expect([states(stopped), states(log), namesAt(receiver)]).toEqual([['unknown'], ['delivered'], ['stage']])
  })

  test('a redelivery has the same bytes, with a valid signature', async () => {
    const [receiver, webhook] = await receiving()
    await emit(node.store, accountId, 'stage')
    await node.runner.start()
    const [first] = await settled(node.store, webhook.id, 1)
    const id = `z${first!.id.slice(1)}`
    await node.store.transaction((tx) => tx.deliveries.redeliver({ of: first!.id, id, atMs: Date.now() }))
    node.runner.wake()
    const [, again] = await settled(node.store, webhook.id, 2)
    const [one, two] = receiver.requests
    expect(again).toMatchObject({ id, state: 'delivered', redeliveryOf: first!.id, eventId: first!.eventId })
    expect(two!.body.equals(one!.body)).toBe(true)
    expect(two!.headers['x-service-signature']).toBe(one!.headers['x-service-signature'])
    expect(verify(two!)).toEqual({ ok: true, value: { id: first!.eventId } })
  })

  test('a hundred failures in a row pause a webhook, later events are skipped, and enabling it ends the pause', async () => {
    let status = 500
    const [receiver, webhook] = await receiving((_request, response) => response.writeHead(status).end('no'))
    await emit(node.store, accountId, ...names(130))
    await node.runner.start()
    const log = await settled(node.store, webhook.id, 130)
    const failed = log.filter(({ state }) => state === 'failed')
    expect(receiver.requests).toHaveLength(failed.length)
    // Up to three more deliveries were under way beside the hundredth.
    expect(failed.length >= 100 && failed.length <= 103).toBe(true)
    expect(failed[0]).toMatchObject({
      statusCode: 500,
      answer: 'no',
      error: { message: 'the receiver answered with status 500' },
    })
    expect(log.filter(({ state }) => state === 'skipped')).toHaveLength(130 - failed.length)

    status = 200
    await emit(node.store, accountId, 'meanwhile')
    node.runner.wake()
    const skipped = (await settled(node.store, webhook.id, 131)).at(-1)
    expect(skipped).toMatchObject({ state: 'skipped', startedAtMs: null })
    expect(skipped?.error?.message).toContain(
      '100 deliveries in a row failed; the last: the receiver answered with status 500',
    )

    const byHand = { of: skipped!.id, id: `y${skipped!.id.slice(1)}`, atMs: Date.now() }
    await node.store.transaction((tx) => tx.deliveries.redeliver(byHand))
    node.runner.wake()
    expect((await settled(node.store, webhook.id, 132)).at(-1)).toMatchObject({ id: byHand.id, state: 'delivered' })

    await node.store.transaction((tx) => tx.webhooks.setHealth(webhook.id, { failuresInRow: 0, disabled: null }))
    await emit(node.store, accountId, 'after')
    node.runner.wake()
    await settled(node.store, webhook.id, 133)
    expect(namesAt(receiver).slice(failed.length)).toEqual(['meanwhile', 'after'])
  })

  test('an event of an unknown version fails alone', async () => {
    const [receiver, webhook] = await receiving()
    await emit(node.store, accountId, 'before')
    const odd = { accountId, type: 'feeds', event: 'sneezed', subject: 's', data: '{}', createdAtMs: 1 }
    await node.store.transaction((tx) => tx.outbox.append(odd))
    await emit(node.store, accountId, 'after')
    await node.runner.start()
    const log = await settled(node.store, webhook.id, 3)
    expect(states(log)).toEqual(['delivered', 'failed', 'delivered'])
    expect(log[1]?.error?.message).toContain('there is no event feeds sneezed')
    expect(namesAt(receiver).toSorted()).toEqual(['after', 'before'])
  })

  test('a thumbnail is its image, with headers that name its stream', async () => {
    const [receiver, webhook] = await receiving()
    const image = Buffer.from([255, 216, 0, 255, 217])
    const data = JSON.stringify({ image: image.toString('base64'), feedId: 'f', streamId: 'a/s', tokenId: 7 })
    const event = { accountId, type: 'thumbnail', event: 'captured', subject: 's', data, createdAtMs: 1 }
    await node.store.transaction((tx) => tx.outbox.append(event))
    await node.runner.start()
    const [delivery] = await settled(node.store, webhook.id, 1)
    const [request] = receiver.requests
    expect(request!.body.equals(image)).toBe(true)
    expect(request!.headers).toMatchObject({
      'content-type': 'image/jpeg',
      'x-service-feed-id': 'f',
      'x-service-stream-id': 'a/s',
      'x-service-token-id': '7',
      'x-service-timestamp': String(delivery!.startedAtMs),
    })
    expect(verify(request!).ok).toBe(true)
  })

  test('stopping waits for deliveries under way and records their results', async () => {
    const held: (() => void)[] = []
    const [, webhook] = await receiving((_request, response) => held.push(() => response.end()))
    await node.close()
    node = await Node.open(place.url, { drainMs: () => 3_600_000 }, guarded())
    await emit(node.store, accountId, ...names(6))
    await node.runner.start()
    await until(() => held.length === 4)
    const stopped = node.runner.stop()
    for (const answer of held) answer()
    await stopped
    expect(states(await logOf(node.store, webhook.id))).toEqual([
      ...Array(4).fill('delivered'),
      ...Array(2).fill('pending'),
    ])
  })

  test('a delivery that does not end during a stop is unknown, and is not sent again', async () => {
    const [receiver, webhook] = await receiving(() => undefined)
    await emit(node.store, accountId, 'stage')
    await node.runner.start()
    await until(() => receiver.requests.length === 1)
    await node.runner.stop()
    expect(states(await logOf(node.store, webhook.id))).toEqual(['unknown'])
    const next = await Node.open(place.url, { drainMs: () => 0 }, guarded())
    await next.runner.start()
    await emit(next.store, accountId, 'more')
    next.runner.wake()
    await until(() => receiver.requests.length === 2)
    expect(namesAt(receiver)).toEqual(['stage', 'more'])
    await next.close()
  })
})

describe.each(testedStores('PostgreSQL'))('two nodes on one %s', (engine) => {
  test('deliver each event once, with four under way to one webhook between them', async () => {
    const place = await newPlace(engine)
    const accountId = newAccount()
    let underWay = 0
    let most = 0
    const receiver = await httpReceiver((_request, response) => {
      underWay += 1
      most = Math.max(most, underWay)
      setImmediate(() => {
        underWay -= 1
        response.end()
      })
    })
    const nodes = [await Node.open(place.url), await Node.open(place.url)] as const
    const [{ store }] = nodes
    const webhooks: StoredWebhook[] = []
    for (const path of ['a', 'b']) {
      webhooks.push(await addWebhook(store, accountId, `http://127.0.0.1:${receiver.port}/${path}`))
    }
    await Promise.all(nodes.map(({ runner }) => runner.start()))
    for (let n = 0; n < 20; n += 1) {
      await emit(store, accountId, ...names(10, `${n}-`))
      for (const { runner } of nodes) runner.wake()
    }
    for (const { id } of webhooks) expect(states(await settled(store, id, 200))).toEqual(Array(200).fill('delivered'))
    expect(new Set(receiver.requests.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`)).size).toBe(
      400,
    )
    expect(receiver.requests).toHaveLength(400)
    expect(most).toBeLessThanOrEqual(8)
    for (const node of nodes) await node.close()
    await receiver.stop()
    await place.remove()
  })

  test("give up deliveries of another node when its lease has expired, by the database's clock and not their own", async () => {
    const place = await newPlace(engine)
    const accountId = newAccount()
    const receiver = await httpReceiver(() => undefined)
    const first = await Node.open(place.url, { nodeId: 'first', drainMs: () => 0 })
    const webhook = await addWebhook(first.store, accountId, `http://127.0.0.1:${receiver.port}/`)
    await emit(first.store, accountId, 'slow')
    await first.runner.start()
    await until(() => receiver.requests.length > 0)

    let isEven = true
    const time = { isEven: () => Promise.resolve(isEven) }
    const ahead = new ManualClock(Date.now() + 60_000)
    // What began two minutes ago has been forgotten: only its pauses pass, and not its time.
    const clock: Clock = { ...systemClock, now: () => ahead.now(), sleep: (_ms, signal) => ahead.sleep(0, signal) }
    const second = await Node.open(place.url, { clock, time })
    const looks = vi.spyOn(second.store.read.deliveries, 'isSomeLost')
    await second.runner.start()
    const afterTwoLooks = async (): Promise<string[]> => {
      const before = looks.mock.calls.length
      await until(() => (ahead.advance(0), looks.mock.calls.length > before + 1))
      return states(await logOf(first.store, webhook.id))
    }
    expect(await afterTwoLooks()).toEqual(['started'])
    isEven = false
    // A look under way may have found an even clock: it must end before the lease does.
    await afterTwoLooks()
    await first.store.transaction((tx) => tx.deliveries.renew('first', -1))
    expect(await afterTwoLooks()).toEqual(['started'])
    isEven = true
    expect(await afterTwoLooks()).toEqual(['unknown'])
    for (const node of [first, second]) await node.close()
    await receiver.stop()
    await place.remove()
  })
})
