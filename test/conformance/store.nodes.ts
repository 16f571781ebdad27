import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { NewNode } from '../../src/store/store.ts'
import { renewLease } from '../support/leases.ts'
import { until } from '../support/until.ts'
import { ending, newAccount, newSession } from './store.samples.ts'
import type { Stores } from './store.ts'

const LINK = {
  node: 'near',
  lent: 2,
  relayed: 1,
  borrowed: 1,
  bitrateOut: 5_000_000,
  bitrateIn: 2_500_000,
  loss: null,
  roundTripMs: null,
  problem: null,
} as const

export function nodesSuite(stores: Stores): void {
  const accountId = newAccount()
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)

  describe('nodes', () => {
    const node = (): NewNode => ({
      id: randomBytes(4).toString('hex'),
      hostKey: 'p',
      pid: 1,
      url: 'https://one.example',
    })
    const find = async (id: string) => (await stores.other.read.nodes.list()).find((one) => one.id === id)
    const renew = (id: string, leaseMs: number) => renewLease(stores.url, { kind: 'node', id, leaseMs })
    const giveUp = (id: string, isKnownDead = false) => write((tx) => tx.nodes.giveUp(id, isKnownDead))

    test('have a lease by the time of the database, and are given up when it has expired', async () => {
      const made = node()
      const beforeMs = await stores.store.time()
      await write((tx) => tx.nodes.insert(made, 60_000))
      const seen = await find(made.id)
      expect(seen).toEqual({
        ...made,
        isExpired: false,
        drainingSinceMs: null,
        seenAtMs: expect.any(Number) as number,
      })
      expect(seen?.seenAtMs).toBeGreaterThanOrEqual(beforeMs)
      expect(seen?.seenAtMs).toBeLessThanOrEqual(await stores.store.time())
      expect(await write((tx) => tx.nodes.lockShared(made.id))).toBe(true)
      expect(await giveUp(made.id)).toBeUndefined()
      expect(await renew(made.id, -1)).toBe(true)
      expect(await find(made.id)).toMatchObject({ isExpired: true })
      // Late, but before another node gave it up.
      expect(await renew(made.id, 60_000)).toBe(true)
      expect(await giveUp(made.id)).toBeUndefined()
      expect(await renew(made.id, -1)).toBe(true)
      expect(await giveUp(made.id)).toBe((await find(made.id))?.seenAtMs)
    })

    test('are in doubt when their lease has expired, or when they are of the same host', async () => {
      const [alive, neighbor, silent] = [
        { ...node(), hostKey: 'far' },
        { ...node(), hostKey: 'here' },
        { ...node(), hostKey: 'far' },
      ]
      for (const one of [alive, neighbor, silent])
        await write((tx) => tx.nodes.insert(one, one === silent ? -1 : 60_000))
      const ids = (await stores.other.read.nodes.doubtful('here')).map(({ id }) => id)
      expect([alive, neighbor, silent].map(({ id }) => ids.includes(id))).toEqual([false, true, true])
    })

    test('are given up when their lease ends later than any lease: the clock was put back, and they did not renew it', async () => {
      const ahead = node()
      const longest = 5 * 60_000
      await write((tx) => tx.nodes.insert(ahead, longest))
      expect(await find(ahead.id)).toMatchObject({ isExpired: false })
      expect(await giveUp(ahead.id)).toBeUndefined()
      expect(await renew(ahead.id, 3_600_000)).toBe(true)
      expect(await find(ahead.id)).toMatchObject({ isExpired: true })
      expect((await stores.other.read.nodes.doubtful('another host')).map(({ id }) => id)).toContain(ahead.id)
      // A node that is alive renews it by the time of now.
      expect(await renew(ahead.id, longest)).toBe(true)
      expect(await giveUp(ahead.id)).toBeUndefined()
      expect(await renew(ahead.id, 3_600_000)).toBe(true)
      expect(await giveUp(ahead.id)).toBe((await find(ahead.id))?.seenAtMs)
    })

    test('drain from the first request on, unless they are gone', async () => {
      const made = node()
      const drain = (id: string) => write((tx) => tx.nodes.drain(id))
      await write((tx) => tx.nodes.insert(made, 60_000))
      expect([await drain(made.id), await drain('none')]).toEqual([true, false])
      const first = (await find(made.id))?.drainingSinceMs
      expect(first).toBe(Number(first))
      await until(async () => (await stores.store.time()) > Number(first))
      expect(await drain(made.id)).toBe(true)
      expect((await find(made.id))?.drainingSinceMs).toBe(first)
      await giveUp(made.id, true)
      expect(await drain(made.id)).toBe(false)
    })

    test('have what is open at each of them, of all accounts', async () => {
      const made = node().id
      await write(async (tx) => {
        await tx.sessions.insert(newSession({ accountId: newAccount(), action: 'publish' }), made)
        for (const one of [accountId, newAccount()]) await tx.sessions.insert(newSession({ accountId: one }), made)
        const over = newSession()
        await tx.sessions.insert(over, made)
        await tx.sessions.end([ending(over.id, 2000, 'left')])
      })
      const open = (await stores.other.read.nodes.open()).find((one) => one.node === made)
      expect(open).toEqual({ node: made, publishers: 1, viewers: 2, feeds: 0 })
    })

    test('number their starts upwards, however many start at a time and whatever is the least', async () => {
      const starts = [stores.store, stores.other].flatMap((store) =>
        Array.from({ length: 5 }, () => store.transaction((tx) => tx.nodes.nextStart(3, 7))),
      )
      const numbers = (await Promise.all(starts)).toSorted((a, b) => a - b)
      const last = numbers.at(-1) ?? 0
      expect(numbers.map((number) => last - number)).toEqual(Array.from({ length: 10 }, (_, at) => (9 - at) * 7))
      expect(await write((tx) => tx.nodes.nextStart(last + 1000, 7))).toBe(last + 1000)
      expect(await write((tx) => tx.nodes.nextStart(0, 7))).toBe(last + 1007)
    })

    test('say their version, region, ports and links, how busy they are and why they are full, until they are gone', async () => {
      const [made, left] = [node(), node()]
      const idle = {
        cpuPercent: null,
        mediaPercent: null,
        egressBitrate: null,
        full: [],
        links: null,
        mediaProcessEnd: null,
      }
      const about = { version: '1.2.3', cores: 8, region: 'north', rtmpPort: 1935, rtmpsPort: null, ...idle }
      const load = {
        cpuPercent: 37,
        mediaPercent: 88,
        egressBitrate: 5_000_000_000,
        full: ['media', 'egress'],
        links: [LINK, { ...LINK, node: 'far', loss: 0.02, roundTripMs: 31, problem: 'media_port' }],
        mediaProcessEnd: { atMs: 1234, isHung: true, sessions: 3 },
      } as const
      for (const one of [made, left]) {
        await write((tx) => tx.nodes.insert(one, 60_000))
        await write((tx) => tx.nodes.insertFacts(one.id, one === left ? { ...about, region: '' } : about))
      }
      await write((tx) => tx.nodes.setLoad(made.id, load))
      const facts = () => stores.other.read.nodes.facts()
      const ageMs = expect.toSatisfy((ms: number) => ms >= 0 && ms < 600_000)
      expect((await facts()).get(made.id)).toEqual({ ...about, ...load, ageMs })
      expect((await facts()).get(left.id)).toEqual({ ...about, region: '', ageMs })
      await write((tx) => tx.nodes.delete(left.id))
      expect([...(await facts()).keys()]).not.toContain(left.id)
    })

    test('count the open sessions and the bytes of an account, at each of them', async () => {
      const other = newAccount()
      const minute = { minuteMs: 60_000, viewers: 1, bytesIn: 100, bytesOut: 900 }
      await write(async (tx) => {
        await tx.sessions.insert(newSession({ accountId: other, action: 'publish' }), 'one')
        for (const node of ['one', 'two', 'two']) await tx.sessions.insert(newSession({ accountId: other }), node)
        const over = newSession({ accountId: other })
        await tx.sessions.insert(over, 'one')
        await tx.sessions.end([ending(over.id, 2000, 'left')])
        await tx.minutes.put([
          { ...minute, accountId: other, node: 'two' },
          { ...minute, accountId: other, node: 'two', minuteMs: 120_000 },
          { ...minute, accountId, node: 'two' },
        ])
      })
      const found = await stores.other.read.nodes.activity({ accountId: other, fromMs: 60_000, untilMs: 120_000 })
      expect(found.toSorted((a, b) => (a.node < b.node ? -1 : 1))).toEqual([
        { node: 'one', publishers: 1, viewers: 1, bytesIn: 0, bytesOut: 0 },
        { node: 'two', publishers: 0, viewers: 2, bytesIn: 100, bytesOut: 900 },
      ])
    })

    test('that are given up never come back, even while their sessions are still being ended', async () => {
      const made = node()
      await write((tx) => tx.nodes.insert(made, 60_000))
      expect(await giveUp(made.id, true)).toEqual(expect.any(Number))
      expect(await renew(made.id, 60_000)).toBe(false)
      expect(await write((tx) => tx.nodes.lockShared(made.id))).toBe(false)
      expect(await giveUp(made.id)).toEqual(expect.any(Number))
      await write((tx) => tx.nodes.delete(made.id))
      expect(await renew(made.id, 60_000)).toBe(false)
      expect(await giveUp(made.id, true)).toBeUndefined()
    })
  })
}
