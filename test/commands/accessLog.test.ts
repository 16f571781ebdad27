import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type AccessLogLimits, AccessRecorder, type Noted } from '../../src/services/accessRecorder.ts'
import { overriding } from '../../src/store/nouns.ts'
import { openStore } from '../../src/store/open.ts'
import { type AccessLogRow, type Store, StoreUnavailable } from '../../src/store/store.ts'
import { newAccount, quiet } from '../conformance/store.samples.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { passingStore } from '../support/passingStore.ts'

const MINUTE_MS = 60_000

const LIMITS = {
  refusalRate: 1,
  admissionRate: 1,
  bufferRows: 10_000,
  minFreeMegabytes: 0,
  rowsPerMinute: 40,
  totalRowsPerMinute: 100,
}

const REFUSAL = {
  source: 'admission',
  action: 'view',
  protocol: 'hls',
  streamName: 'show',
  tokenId: null,
  jti: null,
  address: '192.0.2.1',
  origin: null,
  country: null,
  allowed: false,
  code: 'invalid_token',
  message: 'no',
  trace: null,
} as const

describe.each(testedStores())('the access log on %s, under a flood of refusals,', (engine) => {
  let place: Place
  let store: Store
  let clock: ManualClock
  let accountId: string

  beforeAll(async () => {
    place = await newPlace(engine)
    store = await openStore({ url: place.url, log: quiet })
  })
  afterAll(async () => {
    await store.close()
    await place.remove()
  })
  beforeEach(async () => {
    clock = new ManualClock()
    accountId = await makeAccount()
  })

  async function makeAccount(): Promise<string> {
    const id = newAccount()
    await store.transaction((tx) => tx.accounts.insert({ id, name: id, createdAtMs: 1 }))
    return id
  }

  const recorder = ({ store: other = store, ...over }: Partial<AccessLogLimits & { store: Store }> = {}) =>
    new AccessRecorder({ random: systemRandom, limits: { ...LIMITS, ...over }, store: other, clock, log: silent })
  const noted = (over: Partial<Noted> = {}): Noted => ({
    ...REFUSAL,
    accountId,
    ...over,
  })
  const rowsOf = (of = accountId): Promise<AccessLogRow[]> =>
    store.read.accessLog.page({ accountId: of, limit: 10_000 })

  it('counts a repeated refusal in its row, with the times of the first and the last', async () => {
    const log = recorder()
    const startMs = clock.now()
    for (let at = 0; at < 1000; at += 1) {
      log.note(noted(), true)
      if (at % 250 === 0) await log.flush()
      clock.advance(10)
    }
    await log.flush()
    expect(await rowsOf()).toMatchObject([{ atMs: startMs, lastAtMs: startMs + 9990, count: 1000, message: 'no' }])
    expect(log.folded).toBe(999)
  })

  it('starts a new row after a minute, so that the log shows an attacker who tries for days', async () => {
    const log = recorder()
    for (let at = 0; at < 180; at += 1) {
      log.note(noted(), true)
      clock.advance(1000)
      await log.reconcile()
    }
    await log.flush()
    expect((await rowsOf()).map(({ count }) => count)).toEqual([60, 60, 60])
  })

  it('writes a row of its own for a difference in any searchable field, and for every admission', async () => {
    const log = recorder()
    const others: Partial<Noted>[] = [
      {},
      { streamName: 'other' },
      { address: '192.0.2.2' },
      { origin: 'https://a.example' },
      { code: 'token_expired' },
      { tokenId: 7 },
      { jti: 'a' },
      { protocol: 'whep' },
      { source: 'check' },
    ]
    for (let times = 0; times < 3; times += 1) for (const other of others) log.note(noted(other), true)
    for (let times = 0; times < 3; times += 1) log.note(noted({ allowed: true, code: null }), true)
    await log.flush()
    const counts = (await rowsOf()).map(({ count }) => count).sort((a, b) => a - b)
    expect(counts).toEqual([1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3])
  })

  it('limits the rows of admissions, and leaves refusals theirs', async () => {
    const log = recorder()
    const admission = { allowed: true, code: null, message: 'Allowed' } as const
    for (let at = 0; at < 500; at += 1) log.note(noted({ ...admission, address: `198.51.100.${at % 250}` }), true)
    for (let at = 0; at < 500; at += 1) log.note(noted({ address: `203.0.113.${at % 250}`, tokenId: at }), true)
    await log.flush()
    const rows = await rowsOf()
    expect(rows.filter(({ allowed }) => allowed)).toHaveLength(40)
    expect(rows.filter(({ allowed }) => !allowed)).toHaveLength(40)
  })

  it('limits the rows that invented names and origins cause, per address, per account and in all', async () => {
    const log = recorder()
    for (let at = 0; at < 500; at += 1)
      log.note(noted({ streamName: `name-${at}`, origin: `https://${at}.example` }), true)
    for (let at = 0; at < 500; at += 1) log.note(noted({ address: `2001:db8::${at.toString(16)}` }), true)
    await log.flush()
    expect(await rowsOf()).toHaveLength(20)
    for (let at = 0; at < 500; at += 1) log.note(noted({ address: `198.51.100.${at % 250}` }), true)
    await log.flush()
    expect(await rowsOf()).toHaveLength(40)
    const others = await Promise.all([0, 1, 2].map(makeAccount))
    for (let at = 0; at < 500; at += 1)
      for (const other of others) log.note(noted({ accountId: other, address: `198.51.100.${at % 250}` }), true)
    await log.flush()
    const rows = await Promise.all([accountId, ...others].map((id) => rowsOf(id)))
    expect(rows.flat()).toHaveLength(100)
    const reasons = [...log.dropped].filter(([, count]) => count > 0).map(([reason]) => reason)
    expect(reasons.sort()).toEqual(['account_budget', 'address_budget', 'total_budget'])
    // The budget refills over time.
    clock.advance(MINUTE_MS / 2)
    for (let at = 0; at < 500; at += 1)
      log.note(noted({ streamName: `late-${at}`, address: `192.0.2.${at % 250}` }), true)
    await log.flush()
    expect(await rowsOf()).toHaveLength(60)
  })

  it('writes no rows for unknown accounts, and loses none of existing accounts because of them', async () => {
    const log = recorder()
    const [quietOne, busyOne] = [await makeAccount(), await makeAccount()]
    log.note(noted({ accountId: busyOne }), true)
    for (let at = 0; at < 50; at += 1) log.note(noted({ accountId: 'nobody' }), false)
    log.note(noted({ accountId: quietOne }), false)
    await log.flush()
    expect(await rowsOf('nobody')).toEqual([])
    expect(await rowsOf(quietOne)).toHaveLength(1)
    // By now this is known, and asks for nothing.
    log.note(noted({ accountId: 'nobody' }), false)
    expect(log.dropped.get('unknown_account')).toBe(51)
    for (let at = 0; at < 10_000; at += 1) log.note(noted({ accountId: `no-${at}` }), false)
    log.note(noted({ accountId: busyOne, streamName: 'late' }), false)
    log.note(noted({ accountId: quietOne, streamName: 'late' }), false)
    await log.flush()
    expect([(await rowsOf(busyOne)).length, (await rowsOf(quietOne)).length]).toEqual([2, 2])
    expect(log.dropped.get('unknown_account')).toBe(10_051)
    // An account that is created meanwhile soon gets rows.
    await store.transaction((tx) => tx.accounts.insert({ id: 'nobody', name: 'x', createdAtMs: 1 }))
    clock.advance(MINUTE_MS)
    log.note(noted({ accountId: 'nobody' }), false)
    await log.flush()
    expect(await rowsOf('nobody')).toHaveLength(1)
  })

  it('loses none of an account that is not looked up yet, because others are', async () => {
    const [first, second] = [await makeAccount(), await makeAccount()]
    const accounts = overriding(store.read.accounts, {
      get: async (id) => {
        if (id === first) log.note(noted({ accountId: second }), false)
        return store.read.accounts.get(id)
      },
    })
    const log = recorder({ store: { ...passingStore(store), read: overriding(store.read, { accounts }) } })
    log.note(noted({ accountId: first }), false)
    await log.flush()
    await log.flush()
    expect([(await rowsOf(first)).length, (await rowsOf(second)).length]).toEqual([1, 1])
  })

  it('writes a batch with an unknown result again, and never adds its counts twice', async () => {
    let isLost = true
    const silentStore: Store = {
      ...passingStore(store),
      async transaction(work) {
        const done = await store.transaction(work)
        if (isLost) throw new StoreUnavailable('the connection was lost after the commit')
        return done
      },
    }
    const log = recorder({ store: silentStore })
    for (let times = 0; times < 3; times += 1) {
      log.note(noted(), true)
      await log.flush()
    }
    isLost = false
    log.note(noted(), true)
    await log.flush()
    expect((await rowsOf()).map(({ count }) => count)).toEqual([4])
  })

  it('keeps rows that cannot be written, within the bound', async () => {
    let isDown = true
    const log = recorder({
      store: {
        ...passingStore(store),
        transaction: (work) => (isDown ? Promise.reject(new StoreUnavailable('gone')) : store.transaction(work)),
      },
      bufferRows: 10,
      rowsPerMinute: 1000,
      totalRowsPerMinute: 1000,
    })
    for (let at = 0; at < 50; at += 1) log.note(noted({ streamName: `${at}` }), true)
    await log.flush()
    expect(log.dropped.get('buffer_full')).toBe(40)
    isDown = false
    await log.flush()
    expect(await rowsOf()).toHaveLength(10)
  })

  it('leaves out a row that the store can never take, and writes those beside it', async () => {
    const log = recorder()
    // What no column takes, as a NUL of a client would be on PostgreSQL.
    const never = null as unknown as string
    for (let at = 0; at < 8; at += 1)
      log.note(noted({ streamName: `${at}`, ...(at === 6 ? { message: never } : {}) }), true)
    await log.flush()
    expect(await rowsOf()).toHaveLength(7)
    log.note(noted({ streamName: 'after' }), true)
    await log.flush()
    expect([(await rowsOf()).length, log.dropped.get('not_storable')]).toEqual([8, 1])
  })

  it('pauses for a minute when the store reports a full disk, and only counts decisions', async () => {
    let isFull = true
    let tries = 0
    const log = recorder({
      store: {
        ...passingStore(store),
        transaction(work) {
          tries += 1
          return isFull ? Promise.reject(new StoreUnavailable('full', { isDiskFull: true })) : store.transaction(work)
        },
      },
    })
    log.note(noted(), true)
    await log.reconcile()
    for (let at = 0; at < 59; at += 1) {
      log.note(noted({ streamName: `${at}` }), true)
      clock.advance(1000)
      await log.reconcile()
    }
    expect([tries, log.dropped.get('disk_full')]).toEqual([1, 60])
    isFull = false
    clock.advance(1000)
    log.note(noted(), true)
    await log.reconcile()
    expect(await rowsOf()).toHaveLength(1)
  })

  it('writes nothing on a nearly full disk, deletes old rows, and resumes when there is room', async () => {
    let freeBytes = 500e6
    const disk = { ...passingStore(store), diskSpace: async () => ({ freeBytes, totalBytes: 100e9 }) }
    const log = recorder({ store: disk, minFreeMegabytes: 1000 })
    const days = (count: number) => count * 86_400_000
    const old = [0.5, 2, 3].map((age) => ({ ...noted(), id: `old-${age}`, atMs: clock.now() - days(age) }))
    await store.transaction((tx) => tx.accessLog.append(old.map((row) => ({ ...row, count: 1, lastAtMs: row.atMs }))))
    await log.reconcile()
    log.note(noted(), true)
    await log.reconcile()
    expect([(await rowsOf()).length, log.dropped.get('disk_full')]).toEqual([3, 1])
    freeBytes = 100e6
    clock.advance(5000)
    await log.reconcile()
    expect((await rowsOf()).map(({ id }) => id)).toEqual(['old-0.5'])
    freeBytes = 2000e6
    clock.advance(5000)
    await log.reconcile()
    log.note(noted(), true)
    await log.reconcile()
    expect(await rowsOf()).toHaveLength(2)
  })

  it('treats a small disk as nearly full only when a twentieth of it is left', async () => {
    let freeBytes = 60e6
    const log = recorder({
      store: { ...passingStore(store), diskSpace: async () => ({ freeBytes, totalBytes: 1e9 }) },
      minFreeMegabytes: 1000,
    })
    await log.reconcile()
    log.note(noted(), true)
    freeBytes = 40e6
    clock.advance(5000)
    await log.reconcile()
    log.note(noted({ streamName: 'late' }), true)
    await log.flush()
    expect(await rowsOf()).toHaveLength(1)
  })
})

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
}
