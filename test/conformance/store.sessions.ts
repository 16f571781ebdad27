import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { LiveSession } from '../../src/core/sessions/types.ts'
import { Conflict, type Node, type StoredFeed } from '../../src/store/store.ts'
import { insert, newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const HOUR_MS = 3_600_000

export function sessionsSuite(stores: Stores): void {
  const accountId = newAccount()
  const stream = (streamName = randomBytes(4).toString('hex')) => ({ accountId, streamName })
  const session = (over: Partial<LiveSession> = {}): LiveSession => ({
    id: randomBytes(11).toString('hex'),
    action: 'view',
    protocol: 'whep',
    ...stream(),
    sourceId: null,
    tokenId: null,
    jti: null,
    trackingId: null,
    address: '192.0.2.1',
    origin: null,
    country: null,
    startedAtMs: 1000,
    ...over,
  })
  const feed = (over: Partial<StoredFeed> = {}): StoredFeed => ({
    feedId: randomUUID(),
    sessionId: randomBytes(11).toString('hex'),
    ...stream(),
    sourceId: null,
    tokenId: 1,
    secured: false,
    startedAtMs: 1000,
    node: 'n',
    ...over,
  })
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)
  const get = (id: string) => stores.other.read.sessions.get(id)

  async function admitted(over: Partial<LiveSession> = {}, node = 'n'): Promise<LiveSession> {
    const made = session(over)
    await write((tx) => tx.sessions.insert(made, node))
    return made
  }

  describe('sessions', () => {
    test('are read as they were written, and end once', async () => {
      const all = { sourceId: 's', tokenId: 7, jti: 'j', trackingId: 't', origin: 'https://a.example', country: 'NZ' }
      const made = await admitted(all)
      const fresh = { ...made, node: 'n', feedId: null, endedAtMs: null, endReason: null, kick: null }
      expect(await get(made.id)).toEqual({ ...fresh, bytesIn: 0, bytesOut: 0 })
      expect(await write((tx) => tx.sessions.attach(made.id, 'f'))).toMatchObject({ feedId: 'f' })
      expect(await write((tx) => tx.sessions.end(made.id, 2000, 'left'))).toMatchObject({ endedAtMs: 2000 })
      expect(await write((tx) => tx.sessions.end(made.id, 3000, 'lost'))).toBeUndefined()
      expect(await write((tx) => tx.sessions.attach(made.id, 'g'))).toBeUndefined()
      expect(await get(made.id)).toMatchObject({ endedAtMs: 2000, endReason: 'left', feedId: 'f' })
      expect(await get('nobody')).toBeUndefined()
    })

    test('that are on are paged newest first, by every filter', async () => {
      const mine = newAccount()
      const ids = ['a', 'b', 'c', 'd'].map((letter) => `${mine}${letter}`)
      for (const id of ids) await admitted({ id, accountId: mine, tokenId: 3, streamName: 'x' })
      await write((tx) => tx.sessions.end(`${mine}b`, 2000, 'left'))
      const page = async (query: object) =>
        (await stores.store.read.sessions.page({ accountId: mine, limit: 10, ...query })).map(({ id }) => id)
      expect(await page({})).toEqual([ids[3], ids[2], ids[0]])
      expect(await page({ after: ids[2], limit: 1 })).toEqual([ids[0]])
      const filters = { tokenId: 3, streamName: 'x', protocol: 'whep', action: 'view', address: '192.0.2.1' }
      expect(await page(filters)).toHaveLength(3)
      for (const other of [{ tokenId: 4 }, { streamName: 'y' }, { protocol: 'hls' }, { action: 'publish' }]) {
        expect(await page({ ...filters, ...other })).toEqual([])
      }
    })

    test('are kicked all together, those of one account alone', async () => {
      const [mine, node] = [newAccount(), randomBytes(4).toString('hex')]
      const own = [await admitted({ accountId: mine }, node), await admitted({ accountId: mine }, node)]
      await admitted({ accountId: newAccount() }, node)
      const kicked = await write((tx) => tx.sessions.kick({ accountId: mine, all: true }, 'stopped'))
      expect(kicked.map(({ id }) => id).sort()).toEqual(own.map(({ id }) => id).sort())
      expect(await stores.other.read.sessions.kicked(node, 10)).toHaveLength(2)
      expect(await write((tx) => tx.sessions.kick({ accountId: mine, all: true }, 'stopped'))).toEqual([])
    })

    test('are kicked once, one by one or by stream, and their node finds them', async () => {
      const node = randomBytes(4).toString('hex')
      const { streamName } = stream()
      const [one, two] = [await admitted({ streamName }, node), await admitted({ streamName }, node)]
      const kick = (which: { id: string } | { streamName: string }) =>
        write((tx) => tx.sessions.kick({ accountId, ...which }, 'kicked'))
      expect(await kick({ id: one.id })).toMatchObject([{ id: one.id }])
      expect(await write((tx) => tx.sessions.kick({ accountId: 'other', id: two.id }, 'kicked'))).toEqual([])
      expect(await stores.other.read.sessions.kicked(node, 10)).toEqual([{ id: one.id, reason: 'kicked' }])
      expect(await kick({ streamName })).toMatchObject([{ id: two.id }])
      expect(await kick({ streamName })).toEqual([])
      await write((tx) => tx.sessions.end(one.id, 1, 'kicked'))
      expect(await stores.other.read.sessions.kicked(node, 10)).toMatchObject([{ id: two.id }])
    })

    test('on the air name their tokens, each once, of a stream or of the whole account', async () => {
      const of = { accountId: newAccount(), streamName: 'x' }
      const first = feed({ ...of, sourceId: 'a', tokenId: 12 })
      const rest = [
        feed({ ...of, sourceId: 'b', tokenId: 9 }),
        feed({ ...of, sourceId: 'c', tokenId: 12 }),
        feed({ ...of, streamName: 'y', tokenId: 7 }),
        feed({ accountId: newAccount(), streamName: 'x', tokenId: 1 }),
      ]
      for (const one of [first, ...rest]) await write((tx) => tx.feeds.insert(one))
      const { feeds } = stores.other.read
      expect(await feeds.tokenIds(of.accountId, 'x')).toEqual([9, 12])
      expect(await feeds.tokenIds(of.accountId)).toEqual([7, 9, 12])
      for (const { feedId } of rest) await write((tx) => tx.feeds.end(feedId, 2000))
      expect(await feeds.tokenIds(of.accountId)).toEqual([12])
    })

    test('of a node end together, none before it began', async () => {
      const node = randomBytes(4).toString('hex')
      const [early, late] = [await admitted({ startedAtMs: 100 }, node), await admitted({ startedAtMs: 900 }, node)]
      const { id } = await admitted({}, `${node}x`)
      expect(await write((tx) => tx.sessions.endOfNode(node, 500, 'lost'))).toBe(2)
      expect(await get(early.id)).toMatchObject({ endedAtMs: 500, endReason: 'lost' })
      expect(await get(late.id)).toMatchObject({ endedAtMs: 900 })
      expect(await get(id)).toMatchObject({ endedAtMs: null })
    })

    test('and feeds are pruned when they ended long ago', async () => {
      const [old, fresh, open] = [await admitted(), await admitted(), await admitted()]
      await write((tx) => tx.sessions.end(old.id, 10, 'left'))
      await write((tx) => tx.sessions.end(fresh.id, 30, 'left'))
      while ((await write((tx) => tx.sessions.prune(20, 1))) > 0);
      expect(await Promise.all([old, fresh, open].map(({ id }) => get(id)))).toMatchObject([
        undefined,
        { id: fresh.id },
        { id: open.id },
      ])
    })
  })

  describe('bytes', () => {
    test('of 40 sessions written through two stores at once are in their totals and hours once', async () => {
      const mine = newAccount()
      const made: LiveSession[] = []
      for (let n = 0; n < 40; n++) made.push(await admitted({ accountId: mine, streamName: `s${n % 3}` }))
      const rounds = Array.from({ length: 10 }, async (_, round) => {
        const store = round % 2 ? stores.store : stores.other
        const totals = made.map(({ id }) => ({ id, bytesIn: (round + 1) * 10, bytesOut: (round + 1) * 1000 }))
        await store.transaction((tx) => tx.sessions.count(totals, round * HOUR_MS))
      })
      await Promise.all(rounds)
      for (const { id } of made) expect(await get(id)).toMatchObject({ bytesIn: 100, bytesOut: 10_000 })
      const query = { accountId: mine, fromMs: 0, untilMs: 10 * HOUR_MS, slot: 'hour', limit: 10 } as const
      expect(await stores.store.read.usage.sum({ ...query, groupBy: [] })).toMatchObject([
        { bytesIn: 4000, bytesOut: 400_000 },
      ])
    })

    test('are summed by slot, stream, tracking id and country, and of ended sessions no more', async () => {
      const mine = newAccount()
      const facts = { accountId: mine, trackingId: 't', country: 'NZ' }
      const one = await admitted({ ...facts, streamName: 'a' })
      const two = await admitted({ accountId: mine, streamName: 'b' })
      const count = (id: string, bytesIn: number, atMs: number) =>
        write((tx) => tx.sessions.count([{ id, bytesIn, bytesOut: 0 }], atMs))
      await count(one.id, 5, 30 * HOUR_MS + 1)
      await count(one.id, 7, 31 * HOUR_MS)
      await count(two.id, 1, 31 * HOUR_MS)
      await write((tx) => tx.sessions.end(two.id, 1, 'left'))
      expect(await count(two.id, 99, 31 * HOUR_MS)).toEqual([two.id])
      const query = { accountId: mine, fromMs: 0, untilMs: 48 * HOUR_MS, limit: 10 }
      const sum = (more: object) => stores.store.read.usage.sum({ ...query, groupBy: [], slot: 'hour', ...more })
      expect(await sum({ groupBy: ['slot', 'streamName', 'trackingId', 'country'] })).toEqual([
        { slotMs: 30 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 5, bytesOut: 0 },
        { slotMs: 31 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 2, bytesOut: 0 },
        { slotMs: 31 * HOUR_MS, streamName: 'b', trackingId: '', country: '', bytesIn: 1, bytesOut: 0 },
      ])
      expect(await sum({ groupBy: ['slot'], slot: 'day' })).toMatchObject([{ slotMs: 24 * HOUR_MS, bytesIn: 8 }])
      expect(await sum({ trackingIds: ['t', 'u'] })).toMatchObject([{ bytesIn: 7 }])
      expect(await sum({ streamNames: ['b'], groupBy: ['streamName'] })).toMatchObject([{ bytesIn: 1 }])
      expect(await sum({ untilMs: 31 * HOUR_MS })).toMatchObject([{ bytesIn: 5 }])
      expect(await sum({ accountId: 'nobody' })).toMatchObject([{ bytesIn: 0 }])
    })

    test('may be more than 32 bits hold', async () => {
      const { id } = await admitted()
      await write((tx) => tx.sessions.count([{ id, bytesIn: 2 ** 52, bytesOut: 2 ** 40 }], 0))
      expect(await get(id)).toMatchObject({ bytesIn: 2 ** 52, bytesOut: 2 ** 40 })
    })
  })

  describe('feeds', () => {
    test('are one per source; another one is a conflict until the first has ended', async () => {
      const first = feed({ sourceId: 'cam' })
      const { streamName } = first
      await write((tx) => tx.feeds.insert(first))
      await write((tx) => tx.feeds.insert(feed({ streamName })))
      const second = feed({ streamName, sourceId: 'cam' })
      await expect(write((tx) => tx.feeds.insert(second))).rejects.toBeInstanceOf(Conflict)
      expect(await write((tx) => tx.feeds.lastEnd(first))).toBeNull()
      expect(await write((tx) => tx.feeds.end(first.feedId, 2000))).toEqual(first)
      expect(await write((tx) => tx.feeds.end(first.feedId, 3000))).toBeUndefined()
      expect(await write((tx) => tx.feeds.endOfSession(first.sessionId, 3000))).toBeUndefined()
      await write((tx) => tx.feeds.insert(second))
      expect(await write((tx) => tx.feeds.lockOpen(first))).toHaveLength(2)
      expect(await write((tx) => tx.feeds.lastEnd(first))).toBe(2000)
      const open = await stores.other.read.feeds.open(10_000)
      expect(open.filter((one) => one.streamName === streamName)).toHaveLength(2)
      expect(await write((tx) => tx.feeds.endOfSession(second.sessionId, 4000))).toEqual(second)
    })

    test('on the air name their tokens, each once, of a stream or of the whole account', async () => {
      const of = { accountId: newAccount(), streamName: 'x' }
      const first = feed({ ...of, sourceId: 'a', tokenId: 12 })
      const rest = [
        feed({ ...of, sourceId: 'b', tokenId: 9 }),
        feed({ ...of, sourceId: 'c', tokenId: 12 }),
        feed({ ...of, streamName: 'y', tokenId: 7 }),
        feed({ accountId: newAccount(), streamName: 'x', tokenId: 1 }),
      ]
      for (const one of [first, ...rest]) await write((tx) => tx.feeds.insert(one))
      const { feeds } = stores.other.read
      expect(await feeds.tokenIds(of.accountId, 'x')).toEqual([9, 12])
      expect(await feeds.tokenIds(of.accountId)).toEqual([7, 9, 12])
      for (const { feedId } of rest) await write((tx) => tx.feeds.end(feedId, 2000))
      expect(await feeds.tokenIds(of.accountId)).toEqual([12])
    })

    test('of a node end together, none before it began', async () => {
      const node = randomBytes(4).toString('hex')
      const [early, late] = [feed({ node, startedAtMs: 100 }), feed({ node, startedAtMs: 900 })]
      for (const one of [early, late]) await write((tx) => tx.feeds.insert(one))
      const ended = await write((tx) => tx.feeds.endOfNode(node, 500))
      expect(ended.map(({ endedAtMs }) => endedAtMs).toSorted((a, b) => a - b)).toEqual([500, 900])
      expect(await write((tx) => tx.feeds.endOfNode(node, 600))).toEqual([])
    })
  })

  describe('viewing', () => {
    test('begins once for many viewers at once, and ends once when the last has been gone', async () => {
      const watched = stream()
      const join = (n: number) =>
        (n % 2 ? stores.store : stores.other).transaction(async (tx) => {
          const id = randomBytes(11).toString('hex')
          await tx.sessions.insert(session({ ...watched, id }), 'n')
          return { id, first: await tx.viewing.begin(watched) }
        })
      const joined = await Promise.all(Array.from({ length: 20 }, (_, n) => join(n)))
      expect(joined.filter(({ first }) => first)).toHaveLength(1)
      const desert = (store = stores.store, beforeMs = 5000) =>
        store.transaction((tx) => tx.viewing.desert(watched, beforeMs))
      expect(await desert()).toBe(false)
      for (const { id } of joined) await write((tx) => tx.sessions.end(id, 4000, 'left'))
      expect(await stores.store.read.viewing.deserted(3999, 1000)).not.toContainEqual(watched)
      expect(await desert(stores.store, 3999)).toBe(false)
      expect(await stores.store.read.viewing.deserted(4000, 1000)).toContainEqual(watched)
      const told = await Promise.all([desert(), desert(stores.other)])
      expect(told.toSorted()).toEqual([false, true])
      expect((await join(0)).first).toBe(true)
    })

    test('that is tried in vain is told of once in a while, however many try', async () => {
      const dark = stream()
      const attempt = (atMs: number, n = 0) =>
        (n % 2 ? stores.store : stores.other).transaction((tx) => tx.viewing.attempt(dark, atMs, 100))
      const tries = await Promise.all(Array.from({ length: 10 }, (_, n) => attempt(1000, n)))
      expect(tries.filter(Boolean)).toHaveLength(1)
      expect(await attempt(1099)).toBe(false)
      expect(await attempt(1100)).toBe(true)
      expect(await write((tx) => tx.viewing.prune(1101))).toBeGreaterThan(0)
      expect(await attempt(1101)).toBe(true)
    })
  })

  describe('nodes', () => {
    const node = (over: Partial<Node> = {}): Node => ({
      id: randomBytes(4).toString('hex'),
      place: 'p',
      pid: 1,
      seenAtMs: 10,
      aliveUntilMs: 20,
      url: 'https://one.example',
      ...over,
    })

    test('beat while they are there; a dead one is locked only as it was found', async () => {
      const made = node()
      await write((tx) => tx.nodes.insert(made))
      expect(await stores.other.read.nodes.list()).toContainEqual(made)
      expect(await write((tx) => tx.nodes.hold(made.id))).toBe(true)
      expect(await write((tx) => tx.nodes.beat(made.id, 30, 40))).toBe(true)
      expect(await write((tx) => tx.nodes.lockDead(made))).toBe(false)
      expect(await write((tx) => tx.nodes.lockDead({ ...made, aliveUntilMs: 40 }))).toBe(true)
      await write((tx) => tx.nodes.delete(made.id))
      expect(await write((tx) => tx.nodes.beat(made.id, 50, 60))).toBe(false)
      expect(await write((tx) => tx.nodes.hold(made.id))).toBe(false)
    })
  })

  test('a token is held with the version and the value of now', async () => {
    const token = await insert(stores.store, { accountId })
    expect(await write((tx) => tx.tokens.hold(token.id))).toEqual({ version: 1, valueHash: token.valueHash })
    await write((tx) => tx.tokens.delete(token))
    expect(await write((tx) => tx.tokens.hold(token.id))).toBeUndefined()
  })
}
