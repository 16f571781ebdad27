import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { ServedBytesCounter } from '../../src/services/servedBytes.ts'
import { openStore } from '../../src/store/open.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { quiet } from '../conformance/store.samples.ts'
import { newPlace } from '../support/place.ts'

const counterOn = (store: Pick<Store, 'transaction'>) =>
  new ServedBytesCounter(
    { store, clock: new ManualClock(), random: systemRandom, log: quiet },
    { took: () => undefined },
  )
const served = (trackingId: string, bytesOut = 1) => ({
  accountId: 'a1b2c3',
  channelId: 'ch',
  distributionId: 'di',
  country: '',
  trackingId,
  bytesOut,
  viewedMs: 0,
})
const sums = async (store: Store) => {
  const rows = await store.read.served.sum({
    distributionId: 'di',
    fromMs: 0,
    untilMs: Number.MAX_SAFE_INTEGER,
    groupBy: ['trackingId'],
    slot: { stepMs: 900_000, offsetMs: 0 },
    limit: 10,
  })
  return rows.map(({ trackingId, bytesOut }) => [trackingId, bytesOut])
}

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function begin() {
  const place = await newPlace('SQLite')
  const store = await openStore({ url: place.url, log: quiet })
  ends.push(async () => {
    await store.close()
    await place.remove()
  })
  return store
}

test('bytes that the database never takes stop the counts of no other viewer', async () => {
  const store = await begin()
  const counter = counterOn(store)
  // What no column takes, as a NUL would be on PostgreSQL.
  for (const id of ['a', 'b', null as unknown as string, 'c']) counter.add(served(id))
  await counter.flush()
  counter.add(served('a'))
  await counter.flush()
  expect(await sums(store)).toEqual([
    ['a', 2],
    ['b', 1],
    ['c', 1],
  ])
})

test('bytes that come while others are written are written by the next call, which may be the last one of a stop', async () => {
  const store = await begin()
  const [begun, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Pick<Store, 'transaction'> = {
    async transaction(work) {
      begun.resolve()
      await goesOn.promise
      return store.transaction(work)
    },
  }
  const counter = counterOn(slow)
  counter.add(served('a'))
  const first = counter.flush()
  await begun.promise
  counter.add(served('b'))
  const last = counter.flush()
  goesOn.resolve()
  await Promise.all([first, last])
  expect(await sums(store)).toEqual([
    ['a', 1],
    ['b', 1],
  ])
})

test('bytes wait while the database is away, and are added once', async () => {
  const store = await begin()
  let isDown = true
  const away: Pick<Store, 'transaction'> = {
    transaction: (work) => (isDown ? Promise.reject(new StoreUnavailable('gone')) : store.transaction(work)),
  }
  const counter = counterOn(away)
  counter.add(served('a'))
  await counter.flush()
  counter.add(served('a'))
  isDown = false
  await counter.flush()
  await counter.flush()
  expect(await sums(store)).toEqual([['a', 2]])
})

/** Its first transactions fail so, but for those that `null` stands for. */
const faulty = (store: Store, ...faults: ('lost answer' | 'no connection' | null)[]): Pick<Store, 'transaction'> => ({
  async transaction<T>(work: Parameters<typeof store.transaction<T>>[0]): Promise<T> {
    const fault = faults.shift() ?? null
    if (fault === 'no connection') throw new StoreUnavailable(fault)
    const done = await store.transaction(work)
    if (fault !== null) throw new StoreUnavailable(fault)
    return done
  },
})

test('bytes whose commit got no answer are counted once, beside those that came meanwhile', async () => {
  const store = await begin()
  const counter = counterOn(faulty(store, 'lost answer', 'no connection'))
  for (const id of ['a', 'b']) counter.add(served(id))
  await counter.flush()
  counter.add(served('a', 10))
  await counter.flush()
  counter.add(served('a', 100))
  await counter.flush()
  await counter.flush()
  expect(await sums(store)).toEqual([
    ['a', 111],
    ['b', 1],
  ])
})

test('of bytes that were not written at once, those that the database never takes stop no others', async () => {
  const store = await begin()
  const counter = counterOn(faulty(store, 'no connection', null, null, 'no connection'))
  for (const id of ['a', null as unknown as string, 'b']) counter.add(served(id))
  for (let n = 0; n < 3; n++) await counter.flush()
  expect(await sums(store)).toEqual([
    ['a', 1],
    ['b', 1],
  ])
})
