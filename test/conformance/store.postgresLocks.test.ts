import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../src/base/clock.ts'
import { updateScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { createLadder } from '../../src/commands/channels/ladders.ts'
import { cliActor } from '../../src/commands/context.ts'
import { provision } from '../../src/commands/provisioning/provision.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { takeLateSeats } from '../../src/commands/sessions/lateSeats.ts'
import { streamLimit } from '../../src/core/access/viewerLimits.ts'
import { streamIdOf } from '../../src/core/streams/streamId.ts'
import { openStore } from '../../src/store/open.ts'
import { Conflict, type Store, type Tx } from '../../src/store/store.ts'
import { renewLease } from '../support/leases.ts'
import { passingStore } from '../support/passingStore.ts'
import { freshDatabase, postgresUrl, type TestDatabase } from '../support/postgres.ts'
import {
  admit,
  type Connection,
  makeToken,
  publish,
  silentMedia,
  startTestNode,
  type TestNode,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { deliveryTo } from './store.due.ts'
import {
  ending,
  insert,
  newAccount,
  newRun,
  newScheduler,
  newSession,
  newWebhook,
  openFeed,
  quiet,
} from './store.samples.ts'

type Work = (tx: Tx) => Promise<unknown>

const WAITING = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Calls `again` when the store runs a transaction once more. */
const countingRetries = (store: Store, again: () => void): Store => ({
  ...passingStore(store),
  transaction(work) {
    let runs = 0
    return store.transaction((tx) => {
      runs += 1
      if (runs > 1) again()
      return work(tx)
    })
  },
})

const cached = (id: string) => ({ sessionIds: [id], bytesOut: 1 })

const reportOf = (feedId: string) => ({ feedId, reading: null, mostViewers: 1, bytesOut: 1 })

describe.skipIf(!postgresUrl())('transactions that meet on PostgreSQL', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await freshDatabase()
  })
  /** A node on it, if a test starts one. */
  let node: TestNode | undefined
  const start = async (clock: Clock = systemClock): Promise<TestNode> =>
    (node = await startTestNode({ url: database.url, clock }))
  afterEach(async () => {
    await node?.close()
    node = undefined
    await database.drop()
  })

  test('a deadlock is resolved by a retry', async () => {
    const store = await openStore({ url: database.url, log: quiet })
    const accountId = newAccount()
    const [a, b] = await Promise.all([insert(store, { accountId }), insert(store, { accountId })])
    let attempts = 0
    let bothHold: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      bothHold = resolve
    })
    const lockBoth = (first: number, second: number) =>
      store.transaction(async (tx) => {
        await tx.tokens.lock(accountId, 'publish', first)
        attempts += 1
        if (attempts === 2) bothHold()
        await held
        const token = await tx.tokens.lock(accountId, 'publish', second)
        await tx.tokens.replace(token!, token!)
      })
    await Promise.all([lockBoth(a.id, b.id), lockBoth(b.id, a.id)])
    expect(attempts).toBeGreaterThanOrEqual(3)
    expect(await store.read.tokens.get(a.id)).toMatchObject({ version: 2 })
    expect(await store.read.tokens.get(b.id)).toMatchObject({ version: 2 })
    await store.close()
  })

  /**
   * How often a transaction is run again that has locked one row, and locks another when `second` waits, or is over; and how often
   * those of `second` are.
   */
  async function retriesOf(
    [one, other]: readonly [Work, Work],
    second: (store: Store) => Promise<unknown>,
    opened?: Store,
  ): Promise<number> {
    let retries = 0
    const store = countingRetries(opened ?? (await openStore({ url: database.url, log: quiet })), () => (retries += 1))
    const client = await database.connect()
    let meanwhile: Promise<unknown> | undefined
    let isOver = false
    await store.transaction(async (tx) => {
      await one(tx)
      meanwhile ??= second(store).finally(() => (isOver = true))
      await until(async () => isOver || (await client.query(WAITING)).rowCount === 1)
      await other(tx)
    })
    await meanwhile
    await client.end()
    if (opened === undefined) await store.close()
    return retries
  }
  const prepare = async (work: Work): Promise<void> => {
    const store = await openStore({ url: database.url, log: quiet })
    await store.transaction(work)
    await store.close()
  }

  test.each<[string, Work]>([
    ['totals', (tx) => tx.sessions.count(['b', 'a'].map((id) => ending(id, 2, 'left')))],
    ['ends', (tx) => tx.sessions.end(['b', 'a'].map((id) => ending(id, 2, 'left')))],
    ['reports of players', (tx) => tx.sessions.report(['b', 'a'].map((id) => ({ id, quality: '{}' })))],
    ['bytes of caches', (tx) => tx.cacheLogs.count(['a', 'b'].map(cached), 1)],
    ['the end of a node', (tx) => tx.sessions.endOfNode('n', { atMs: 2, reason: 'lost', limit: 9 })],
    ['the end of a stream', (tx) => tx.sessions.kickAll({ accountId: 'nobody', streamName: 'stage' }, 'kicked', 9)],
  ])('of sessions, %s lock rows in one order, so that they never deadlock', async (_, lockBoth) => {
    // Last first, and the publisher first, because scans of the table and of its indexes would find them in this order.
    await prepare(async (tx) => {
      await tx.sessions.insert(newSession({ id: 'b', action: 'publish' }), 'n')
      await tx.sessions.insert(newSession({ id: 'a' }), 'n')
    })
    const lock = (id: string) => (tx: Tx) => tx.sessions.count([ending(id, 2, 'left')])
    expect(await retriesOf([lock('a'), lock('b')], (store) => store.transaction(lockBoth))).toBe(0)
  })

  test.each<[string, Work]>([
    ['reports', (tx) => tx.feeds.report(['b', 'a'].map(reportOf))],
    ['ends of sessions', (tx) => tx.feeds.endOfSessions(['1', '2'].map((id) => ({ id, atMs: 2 })))],
    ['the end of a node', (tx) => tx.feeds.endOfNode('n', 2)],
  ])('of feeds, %s lock rows in one order, so that they never deadlock', async (_, lockBoth) => {
    // Last first, because scans of the table and of its indexes would find them in this order.
    await prepare(async (tx) => {
      await tx.feeds.insert(openFeed({ feedId: 'b', accountId: 'a', streamName: '1', sessionId: '1' }))
      await tx.feeds.insert(openFeed({ feedId: 'a', accountId: 'a', streamName: '2', sessionId: '2' }))
    })
    const lock = (id: string) => (tx: Tx) => tx.feeds.report([reportOf(id)])
    expect(await retriesOf([lock('a'), lock('b')], (store) => store.transaction(lockBoth))).toBe(0)
  })

  test('two nodes that report their feeds, and count bytes of those of the other for the first time, do not deadlock', async () => {
    await prepare(async (tx) => {
      for (const feedId of ['a', 'b']) await tx.feeds.insert(openFeed({ feedId, accountId: 'a', streamName: feedId }))
    })
    const report = (feedId: string) => (tx: Tx) => tx.feeds.report([reportOf(feedId)])
    const count = (feedId: string) => (tx: Tx) => tx.feeds.count([{ feedId, node: 'n', bytesOut: 1 }])
    const second = async (tx: Tx) => {
      await report('b')(tx)
      await count('a')(tx)
    }
    expect(await retriesOf([report('a'), count('b')], (store) => store.transaction(second))).toBe(0)
  })

  test('a publisher who goes live while its node writes the bytes of all does not deadlock', async () => {
    const at = await start()
    const { token: presented } = await makeToken(at, 'publish')
    const older = await publish(at, { presented })
    const newer = await admit(at, { presented })
    const total =
      ({ session }: Connection) =>
      (tx: Tx) =>
        tx.sessions.count([ending(session.id, 2, 'left')])
    const live = (store: Store) => goLive({ ...at.ctx, store }, newer.session.id, silentMedia)
    expect(await retriesOf([total(older), total(newer)], live, at.ctx.store)).toBe(0)
    expect(at.ctx.sessions.feeds.ofStream(at.accountId, 'show')).toMatchObject([{ sessionId: newer.session.id }])
  })

  test('nodes that take seats for viewers of a new limit lock its streams in one order, so that they never deadlock', async () => {
    const at = await start()
    const { token: presented, id } = await makeToken(at, 'publish')
    const streams = ['b', 'a'].map((streamName) => ({ accountId: at.accountId, streamName }))
    for (const { streamName } of streams) {
      await publish(at, { presented, streamName })
      await view(at, { streamName })
    }
    await at.call('PUT', `/api/v2/publish_token/${id}`, { maxViewers: 5 })
    const token = (await at.ctx.cache.tokenById(id))?.snapshot
    if (!token) throw new Error('no token')
    const seat = (streamName: string) => (tx: Tx) => {
      const limit = streamLimit(at.accountId, streamName, [5])
      return tx.viewerSeats.take({ viewer: 'v', sessionId: 'v', node: at.ctx.sessions.node }, limit ? [limit] : [])
    }
    const taking = (store: Store) => takeLateSeats({ ...at.ctx, store }, token, new Set(streams.map(streamIdOf)), true)
    expect(await retriesOf([seat('a'), seat('b')], taking, at.ctx.store)).toBe(0)
  })

  test('two channels with the same external ids in another order do not deadlock', async () => {
    const insertAs = (id: string, externalIds: string[]) => (tx: Tx) =>
      tx.channels.insert({
        id,
        accountId: 'a',
        name: 'Stage',
        externalIds,
        timeoutSeconds: 0,
        status: 'stopped',
        slate: null,
        createdAtMs: 1,
      })
    const second = (store: Store) =>
      expect(store.transaction(insertAs('ch_3', ['y', 'x']))).rejects.toBeInstanceOf(Conflict)
    expect(await retriesOf([insertAs('ch_1', ['x']), insertAs('ch_2', ['y'])], second)).toBe(0)
  })

  test('an edit of a scheduler whose occurrence is over, which adds a channel, locks all channels in one order', async () => {
    const at = await start(new ManualClock(Date.UTC(2026, 0, 1, 12)))
    const actor = cliActor(at.accountId)
    const channel = {
      accountId: at.accountId,
      name: 'Stage',
      externalIds: [],
      timeoutSeconds: 0,
      status: 'stopped',
    } as const
    const [startMs, endMs] = [Date.UTC(2026, 0, 1, 10), Date.UTC(2026, 0, 1, 11)]
    const scheduler = newScheduler({
      accountId: at.accountId,
      channels: [{ channelId: 'ch_b' }],
      startDate: '2026-01-01',
      recurrence: 'RRULE:FREQ=DAILY',
      status: 'active',
      occurrence: { startMs, endMs },
      seenUntilMs: startMs,
      nextAtMs: endMs,
    })
    await at.ctx.store.transaction(async (tx) => {
      for (const id of ['ch_a', 'ch_b']) await tx.channels.insert({ ...channel, id, slate: null, createdAtMs: 1 })
      await tx.schedulers.insert(scheduler)
    })
    const lock = (id: string) => (tx: Tx) => tx.channels.lock(at.accountId, id)
    const edit = (store: Store) =>
      updateScheduler({ ...at.ctx, store }, actor, scheduler.id, { channelIds: ['ch_a', 'ch_b'] })
    expect(await retriesOf([lock('ch_a'), lock('ch_b')], edit, at.ctx.store)).toBe(0)
    expect(await at.ctx.store.read.schedulers.get(at.accountId, scheduler.id)).toMatchObject({
      channels: [{ channelId: 'ch_a' }, { channelId: 'ch_b' }],
    })
  })

  /** What files describe: the channel that is named last has the lower id. */
  const provisioning = (at: TestNode) => {
    const item = (kind: 'channels' | 'schedulers', name: string, body: Record<string, unknown>) => ({
      kind,
      name,
      body: { name, ...body },
      secret: null,
      hidden: new Set<string>(),
      locationOf: () => '',
    })
    const [low, high] = ['1', '2'].map((digit) => `ch_${digit.repeat(22)}`)
    const daily = { startDate: '2030-01-01', startTime: '10:00', endTime: '11:00', channelIds: [low] }
    const items = [
      item('channels', 'first', { id: high }),
      item('channels', 'last', { id: low }),
      item('schedulers', 'daily', { id: `sc_${'1'.repeat(22)}`, ...daily }),
    ]
    return (store: Store) =>
      provision({ ...at.ctx, store }, { accountId: at.accountId, items, prune: true, isCheck: false })
  }

  test.each<[string, (tx: Tx, accountId: string) => Promise<unknown>]>([
    ['a scheduler that begins', (tx, accountId) => tx.schedulers.lock(accountId, `sc_${'1'.repeat(22)}`)],
    ['a channel', (tx, accountId) => tx.channels.lock(accountId, `ch_${'1'.repeat(22)}`)],
  ])('files that are applied do not deadlock with %s and a channel after it', async (_, lock) => {
    const at = await start()
    const apply = provisioning(at)
    expect(await apply(at.ctx.store)).toMatchObject({ ok: true, value: { length: 3 } })
    const lockOther = (tx: Tx) => tx.channels.lock(at.accountId, `ch_${'2'.repeat(22)}`)
    const again = async (store: Store) => expect(await apply(store)).toEqual({ ok: true, value: [] })
    expect(await retriesOf([(tx) => lock(tx, at.accountId), lockOther], again, at.ctx.store)).toBe(0)
  })

  test('channels that are made with the same ladders in another order do not deadlock', async () => {
    const at = await start()
    const actor = cliActor(at.accountId)
    const video = [{ width: 640, height: 360, bitrate: 800_000 }]
    for (const digit of ['1', '2']) {
      const made = await createLadder(at.ctx, actor, { name: 'Small', video }, `ab_${digit.repeat(22)}`)
      expect(made).toMatchObject({ ok: true })
    }
    const lock = (digit: string) => (tx: Tx) => tx.abrLadders.lock(at.accountId, `ab_${digit.repeat(22)}`)
    const engines = ['2', '1'].map((digit) => ({ name: digit, quality: { abrLadderId: `ab_${digit.repeat(22)}` } }))
    const body = { name: 'Stage', ingests: [{ name: 'Camera', type: 'rtmp-push', engines }] }
    const second = async (store: Store) =>
      expect(await createChannel({ ...at.ctx, store }, actor, body)).toMatchObject({ ok: true })
    expect(await retriesOf([lock('1'), lock('2')], second, at.ctx.store)).toBe(0)
  })

  test('deliveries that come due wait for no change of their webhook, and renewals for no start of an engine', async () => {
    const store = await openStore({ url: database.url, log: quiet })
    const webhook = await store.transaction((tx) => tx.webhooks.insert(newWebhook()))
    const engine = {
      accountId: 'a',
      channelId: 'c',
      wanted: true,
      idleSinceMs: null,
      failures: 0,
      retryAtMs: null,
      node: 'n',
    }
    await store.transaction(async (tx) => {
      await tx.deliveries.insert([deliveryTo(webhook.id)])
      await tx.deliveries.hold({ webhookId: webhook.id, untilMs: 5, except: null, limit: 9 })
      await tx.runs.insert(newRun({ id: 'r', engineId: 'e' }))
      await tx.engineStates.put({ ...engine, engineId: 'e', runId: 'r' })
    })
    await store.transaction(async (tx) => {
      await tx.deliveries.resume(webhook.id, 5, 4)
      await tx.engineStates.put({ ...engine, engineId: 'e', runId: 'r' })
      await tx.runs.keep('r', 'credential:1')
      const client = await database.connect()
      let isOver = false
      const others = Promise.all([
        store.transaction((other) => other.deliveries.release(6, 9)),
        renewLease(database.url, { kind: 'engines', id: 'n', leaseMs: 60_000 }),
      ]).finally(() => (isOver = true))
      await until(async () => isOver || (await client.query(WAITING)).rowCount !== 0)
      expect(isOver).toBe(true)
      expect(await others).toEqual([0, true])
      await client.end()
    })
    expect(await store.transaction((tx) => tx.deliveries.release(6, 9))).toBe(1)
    await store.close()
  })
})
