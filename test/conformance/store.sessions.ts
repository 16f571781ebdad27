import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SessionQuality } from '../../src/core/quality/sessionQuality.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { Conflict, type SessionEnd, type StoredFeed } from '../../src/store/store.ts'
import { ending, insert, newAccount, newSession, openFeed } from './store.samples.ts'
import type { Stores } from './store.ts'

const HOUR_MS = 3_600_000

export function sessionsSuite(stores: Stores): void {
  const accountId = newAccount()
  const stream = (streamName = randomBytes(4).toString('hex')) => ({ accountId, streamName })
  const session = (over: Partial<Session> = {}): Session => newSession({ ...stream(), ...over })
  const feed = (over: Partial<StoredFeed> = {}): StoredFeed => openFeed({ ...stream(), ...over })
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)
  const get = (id: string) => stores.other.read.sessions.get(id)

  async function admitted(over: Partial<Session> = {}, node = 'n'): Promise<Session> {
    const made = session(over)
    await write((tx) => tx.sessions.insert(made, node))
    return made
  }

  describe('sessions', () => {
    test('are read as they were written, and end once', async () => {
      const all = {
        sourceId: 's',
        layer: 'l',
        tokenId: 7,
        jti: 'j',
        trackingId: 't',
        origin: 'https://a.example',
        country: 'NZ',
      }
      const made = await admitted(all)
      const fresh = { ...made, node: 'n', feedId: null, endedAtMs: null, endReason: null, kick: null }
      const standing = { priority: null, isSpare: false, quality: null }
      expect(await get(made.id)).toEqual({ ...fresh, ...standing, bytesIn: 0, bytesOut: 0, bytesFromCaches: 0 })
      expect(await write((tx) => tx.sessions.attach(made.id, 'f'))).toMatchObject({ feedId: 'f' })
      await write((tx) => tx.sessions.end([ending(made.id, 2000, 'left')]))
      await write((tx) => tx.sessions.end([ending(made.id, 3000, 'lost')]))
      expect(await write((tx) => tx.sessions.attach(made.id, 'g'))).toBeUndefined()
      expect(await get(made.id)).toMatchObject({ endedAtMs: 2000, endReason: 'left', feedId: 'f' })
      expect(await get('nobody')).toBeUndefined()
    })

    test('that are active are paged newest first, with every filter', async () => {
      const mine = newAccount()
      const ids = ['a', 'b', 'c', 'd'].map((letter) => `${mine}${letter}`)
      for (const id of ids) await admitted({ id, accountId: mine, tokenId: 3, streamName: 'x' })
      await write((tx) => tx.sessions.end([ending(`${mine}b`, 2000, 'left')]))
      const page = async (query: object) =>
        (await stores.store.read.sessions.page({ accountId: mine, limit: 10, ...query })).map(({ id }) => id)
      expect(await page({})).toEqual([ids[3], ids[2], ids[0]])
      expect(await page({ after: ids[2], limit: 1 })).toEqual([ids[0]])
      const filters = { tokenId: 3, streamName: 'x', protocol: 'whep', action: 'view', address: '192.0.2.1' }
      expect(await page(filters)).toHaveLength(3)
      const others = [{ tokenId: 4 }, { streamName: 'y' }, { protocol: 'hls' }, { action: 'publish' }]
      for (const other of [...others, { address: '192.0.2.2' }])
        expect(await page({ ...filters, ...other })).toEqual([])
    })

    test('of viewers are read by a range of their ids, for their account alone', async () => {
      const mine = newAccount()
      const ids = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${letter}${mine}`)
      for (const id of ids) await admitted({ id, accountId: mine, action: id.startsWith('c') ? 'publish' : 'view' })
      await admitted({ id: `b${mine}x` })
      const { audience } = stores.other.read
      const range = { accountId: mine, after: `a${mine}`, before: `e${mine}` }
      const read = async (limit: number) => (await audience.range({ ...range, limit })).map(({ id }) => id)
      expect([await read(9), await read(1)]).toEqual([[ids[1], ids[3]], [ids[1]]])
    })

    test('of a token say where their clients come from, each client once and the oldest first', async () => {
      const tokenId = 4711
      const from = (letter: string, address: string, over: Partial<Session> = {}) =>
        admitted({ id: `${letter}${randomBytes(8).toString('hex')}`, tokenId, streamName: 'x', address, ...over })
      await from('a', '192.0.2.1', { tokenId: 4712 })
      const ended = await from('b', '192.0.2.2')
      const kicked = await from('c', '192.0.2.3')
      await from('d', '2001:db8::9', { protocol: 'hls', origin: 'https://a.example', country: 'NZ' })
      await from('e', '192.0.2.4')
      await from('f', '2001:db8::9', { protocol: 'hls', origin: 'https://a.example', country: 'NZ' })
      await write((tx) => tx.sessions.end([ending(ended.id, 2000, 'left')]))
      await write((tx) => tx.sessions.kick({ accountId, id: kicked.id }, 'kicked'))
      const read = (limit: number) => write((tx) => tx.sessions.attempts({ id: tokenId, accountId }, limit))
      const first = { action: 'view', protocol: 'hls', streamName: 'x', address: '2001:db8::9' }
      expect(await read(1)).toEqual([{ ...first, origin: 'https://a.example', country: 'NZ' }])
      expect((await read(9)).map(({ address }) => address)).toEqual(['2001:db8::9', '192.0.2.4'])
    })

    test('keep reasons that another version wrote, and read them as unknown', async () => {
      const node = randomBytes(4).toString('hex')
      const { id } = await admitted({}, node)
      // A cast stands for the newer version.
      const newer = 'from_the_future' as SessionEnd['reason']
      await write((tx) => tx.sessions.kick({ accountId, id }, newer))
      expect(await stores.other.read.sessions.kicked(node, 10)).toEqual([{ id, reason: 'unknown' }])
      await write((tx) => tx.sessions.end([ending(id, 2000, newer)]))
      expect(await get(id)).toMatchObject({ kick: 'unknown', endReason: 'unknown' })
    })

    test('are kicked once, one by one or by stream, and their node finds them', async () => {
      const node = randomBytes(4).toString('hex')
      const { streamName } = stream()
      const [one, two] = [await admitted({ streamName }, node), await admitted({ streamName }, node)]
      const kick = (id: string, of = accountId) => write((tx) => tx.sessions.kick({ accountId: of, id }, 'kicked'))
      const kickStream = (limit = 10) => write((tx) => tx.sessions.kickAll({ accountId, streamName }, 'stopped', limit))
      expect(await stores.other.read.sessions.count({ accountId, streamName })).toBe(2)
      expect(await kick(one.id)).toMatchObject({ id: one.id })
      expect([await kick(one.id), await kick(two.id, 'other')]).toEqual([undefined, undefined])
      expect(await stores.other.read.sessions.kicked(node, 10)).toEqual([{ id: one.id, reason: 'kicked' }])
      for (let n = 0; n < 3; n++) await admitted({ streamName }, node)
      expect([await kickStream(3), await kickStream(3), await kickStream(3)]).toEqual([3, 1, 0])
      await write((tx) => tx.sessions.end([ending(one.id, 1, 'kicked')]))
      const over = await admitted({ streamName }, node)
      await write((tx) => tx.sessions.end([ending(over.id, 1, 'left')]))
      expect([await kick(over.id), await kickStream()]).toEqual([undefined, 0])
      const kicked = await stores.other.read.sessions.kicked(node, 10)
      expect(kicked.map(({ reason }) => reason)).toEqual(Array(4).fill('stopped'))
      expect(kicked).toContainEqual({ id: two.id, reason: 'stopped' })
    })

    test('are counted and kicked by account, without those of other accounts', async () => {
      const [mine, theirs] = [newAccount(), newAccount()]
      for (const streamName of ['a', 'a', 'b']) await admitted({ accountId: mine, streamName })
      for (const streamName of ['a', 'b']) await admitted({ accountId: theirs, streamName, tokenId: 7 })
      const count = (scope: object) => stores.other.read.sessions.count({ accountId: mine, ...scope })
      expect([await count({}), await count({ streamName: 'a' })]).toEqual([3, 2])
      const kickAll = () => write((tx) => tx.sessions.kickAll({ accountId: mine }, 'stopped', 2))
      expect([await kickAll(), await kickAll(), await kickAll()]).toEqual([2, 1, 0])
      const ofToken = (tokenId: number) => ({ accountId: theirs, streamName: 'a', tokenId })
      expect(await stores.other.read.sessions.count(ofToken(7))).toBe(1)
      expect(await stores.other.read.sessions.count(ofToken(8))).toBe(0)
      const kickOf = (tokenId: number) => write((tx) => tx.sessions.kickAll(ofToken(tokenId), 'stopped', 9))
      expect([await kickOf(8), await kickOf(7)]).toEqual([0, 1])
    })

    test('of a node end in batches, publishers first, none before it began', async () => {
      const node = randomBytes(4).toString('hex')
      const [early, late] = [await admitted({ startedAtMs: 100 }, node), await admitted({ startedAtMs: 900 }, node)]
      const { id } = await admitted({}, `${node}x`)
      const publisher = await admitted(
        { startedAtMs: 100, action: 'publish', id: `z${randomBytes(8).toString('hex')}` },
        node,
      )
      const endSome = (limit: number) =>
        write((tx) => tx.sessions.endOfNode(node, { atMs: 500, reason: 'lost', limit }))
      expect(await endSome(1)).toBe(1)
      expect(await get(publisher.id)).toMatchObject({ endedAtMs: 500, endReason: 'lost' })
      expect([await endSome(5), await endSome(5)]).toEqual([2, 0])
      expect(await get(early.id)).toMatchObject({ endedAtMs: 500, endReason: 'lost' })
      expect(await get(late.id)).toMatchObject({ endedAtMs: 900 })
      expect(await get(id)).toMatchObject({ endedAtMs: null })
    })

    test('and feeds are pruned when they ended long ago', async () => {
      const [old, fresh, open] = [await admitted(), await admitted(), await admitted()]
      await write((tx) => tx.sessions.end([ending(old.id, 10, 'left')]))
      await write((tx) => tx.sessions.end([ending(fresh.id, 30, 'left')]))
      const gone = feed()
      await write(async (tx) => {
        await tx.feeds.insert(gone)
        await tx.feeds.end(gone.feedId, 10)
      })
      expect(await write((tx) => tx.sessions.prune(20, 1))).toBe(2)
      while ((await write((tx) => tx.sessions.prune(20, 1))) > 0);
      expect(await Promise.all([old, fresh, open].map(({ id }) => get(id)))).toMatchObject([
        undefined,
        { id: fresh.id },
        { id: open.id },
      ])
      expect(await stores.other.read.feeds.broadcasts({ ...gone, limit: 1 })).toEqual([])
    })
  })

  describe('reports of players', () => {
    test('of 250 sessions through two stores at once replace those before, and are of no session that was forgotten', async () => {
      const mine = newAccount()
      const made: Session[] = []
      for (let n = 0; n < 250; n++) made.push(await admitted({ accountId: mine, address: `192.0.2.${n}` }))
      await write((tx) => tx.sessions.end(made.slice(0, 2).map(({ id }) => ending(id, 2000, 'left'))))
      await write((tx) => tx.viewerTraces.forgetSessions({ accountId: mine, by: 'address', value: '192.0.2.0' }, 10))
      const report = (store: typeof stores.store, seconds: number) => {
        const quality = new SessionQuality()
        quality.report(
          { n: 1, played: seconds * 1000, stalls: 0, stalled: 0, frames: 0, dropped: 0, switches: 0 },
          { nowMs: 0, ageMs: 1e6 },
        )
        const rows = made.map(({ id }) => ({ id, quality: quality.toText() }))
        return store.transaction((tx) => tx.sessions.report(seconds % 2 ? rows : rows.toReversed()))
      }
      await Promise.all([1, 2, 3, 4].map((seconds) => report(seconds % 2 ? stores.store : stores.other, seconds)))
      await report(stores.store, 7)
      const [forgotten, ended, last] = await Promise.all([made[0], made[1], made[249]].map((one) => get(one?.id ?? '')))
      expect(forgotten).toMatchObject({ quality: null })
      expect([ended, last]).toMatchObject([{ quality: { playedSeconds: 7 } }, { quality: { playedSeconds: 7 } }])
    })
  })

  describe('bytes', () => {
    test('of 40 sessions written through two stores at once only rise', async () => {
      const mine = newAccount()
      const made: Session[] = []
      for (let n = 0; n < 40; n++) made.push(await admitted({ accountId: mine, streamName: `s${n % 3}` }))
      const rounds = Array.from({ length: 10 }, async (_, round) => {
        const store = round % 2 ? stores.store : stores.other
        const totals = made.map(({ id }) => ({ id, bytesIn: (round + 1) * 10, bytesOut: (round + 1) * 1000 }))
        await store.transaction((tx) => tx.sessions.count(totals))
      })
      await Promise.all(rounds)
      for (const { id } of made) expect(await get(id)).toMatchObject({ bytesIn: 100, bytesOut: 10_000 })
    })

    test('of sessions that have ended rise no more, and their ids are returned', async () => {
      const [open, over] = [await admitted(), await admitted()]
      await write((tx) => tx.sessions.end([{ ...ending(over.id, 1, 'left'), bytesIn: 3, bytesOut: 5 }]))
      const count = () =>
        write((tx) => tx.sessions.count([open, over].map(({ id }) => ({ id, bytesIn: 9, bytesOut: 9 }))))
      expect([await count(), await count()]).toEqual([[over.id], [over.id]])
      expect(await get(over.id)).toMatchObject({ bytesIn: 3, bytesOut: 5 })
    })

    test('of 250 sessions that end are written once', async () => {
      const mine = newAccount()
      const made: Session[] = []
      for (let n = 0; n < 250; n++) made.push(await admitted({ accountId: mine, streamName: 's' }))
      const ends = made.map(({ id }, n) => ({ ...ending(id, (n % 2) * HOUR_MS + n, 'left'), bytesIn: 3, bytesOut: 5 }))
      await write((tx) => tx.sessions.count(ends.slice(0, 10)))
      const end = (store = stores.store) => store.transaction((tx) => tx.sessions.end(ends))
      await Promise.all([end(), end(stores.other)])
      expect(await get(made[249]?.id ?? '')).toMatchObject({ endedAtMs: HOUR_MS + 249, endReason: 'left', bytesOut: 5 })
    })

    test('may exceed 32 bits', async () => {
      const { id } = await admitted()
      await write((tx) => tx.sessions.count([{ id, bytesIn: 2 ** 52, bytesOut: 2 ** 40 }]))
      expect(await get(id)).toMatchObject({ bytesIn: 2 ** 52, bytesOut: 2 ** 40 })
    })
  })

  describe('feeds', () => {
    test('are unique per source; a second one is a conflict until the first has ended', async () => {
      const first = feed({ sourceId: 'cam' })
      const { streamName } = first
      await write((tx) => tx.feeds.insert(first))
      await write((tx) => tx.feeds.insert(feed({ streamName })))
      const second = feed({ streamName, sourceId: 'cam' })
      await expect(write((tx) => tx.feeds.insert(second))).rejects.toBeInstanceOf(Conflict)
      const lastEnd = (latestMs = 1e13) => write((tx) => tx.feeds.settle(first, latestMs, 1500))
      expect(await lastEnd()).toBeNull()
      expect(await write((tx) => tx.feeds.end(first.feedId, 2000))).toEqual(first)
      expect(await write((tx) => tx.feeds.end(first.feedId, 3000))).toBeUndefined()
      const endOf = (id: string, atMs: number) => write((tx) => tx.feeds.endOfSessions([{ id, atMs }]))
      expect(await endOf(first.sessionId, 3000)).toEqual([])
      await write((tx) => tx.feeds.insert(second))
      expect(await write((tx) => tx.feeds.lockOpen(first))).toHaveLength(2)
      expect([await lastEnd(), await lastEnd(2000), await lastEnd(1999)]).toEqual([2000, 2000, 1500])
      expect(await stores.other.read.feeds.openOf([first])).toHaveLength(2)
      expect(await stores.other.read.feeds.openIds('n')).toContain(second.feedId)
      expect(await endOf(second.sessionId, 4000)).toEqual([{ ...second, endedAtMs: 4000 }])
      expect(await stores.other.read.feeds.openIds('n')).not.toContain(second.feedId)
    })

    test('on the air return their tokens, each once, for a stream or for the whole account', async () => {
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

    test('of some streams are read at all nodes, the oldest first, with the addresses of nodes that have one', async () => {
      const node = randomBytes(4).toString('hex')
      const url = `https://${node}.example.com`
      await write((tx) => tx.nodes.insert({ id: node, hostKey: node, pid: 1, url }, 60_000))
      const [watched, other, quiet] = [stream(), stream(), stream()]
      const [last, first, middle] = [
        feed({ ...watched, node, startedAtMs: 300 }),
        feed({ ...watched, sourceId: 'cam', startedAtMs: 100 }),
        feed({ ...other, startedAtMs: 200 }),
      ]
      const [over, unread] = [feed({ ...quiet, node }), feed({ ...watched, accountId: newAccount(), node })]
      for (const one of [last, first, middle, over, unread]) await write((tx) => tx.feeds.insert(one))
      await write((tx) => tx.feeds.end(over.feedId, 2000))
      expect(await stores.other.read.feeds.openOf([watched, other, quiet])).toEqual([
        { ...first, url: null },
        { ...middle, url: null },
        { ...last, url },
      ])
      expect(await stores.other.read.feeds.openOf([])).toEqual([])
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
    test('begins once for many concurrent viewers, and ends once after the last has left', async () => {
      const watched = stream()
      // A publisher does not view it, nor does who views a stream of this name in another account.
      await admitted({ ...watched, action: 'publish' })
      await admitted({ ...watched, accountId: newAccount() })
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
      for (const { id } of joined) await write((tx) => tx.sessions.end([ending(id, 4000, 'left')]))
      expect(await stores.store.read.viewing.idle(3999, 1000)).not.toContainEqual(watched)
      expect(await desert(stores.store, 3999)).toBe(false)
      expect(await stores.store.read.viewing.idle(4000, 1000)).toContainEqual(watched)
      const results = await Promise.all([desert(), desert(stores.other)])
      expect(results.toSorted()).toEqual([false, true])
      expect(await stores.store.read.viewing.idle(4000, 1000)).not.toContainEqual(watched)
      expect((await join(0)).first).toBe(true)
    })

    test('off the air is emitted at most once per interval, for any number of attempts', async () => {
      const dark = stream()
      const attempt = (atMs: number, n = 0) =>
        (n % 2 ? stores.store : stores.other).transaction((tx) => tx.viewing.attempt(dark, atMs, 100))
      const tries = await Promise.all(Array.from({ length: 10 }, (_, n) => attempt(1000, n)))
      expect(tries.filter(Boolean)).toHaveLength(1)
      expect(await attempt(1099)).toBe(false)
      expect(await attempt(1100)).toBe(true)
      // That of another account waits for none of this one.
      const theirs = { ...dark, accountId: newAccount() }
      const attemptTheirs = () => write((tx) => tx.viewing.attempt(theirs, 1300, 100))
      expect([await attemptTheirs(), await attemptTheirs()]).toEqual([true, false])
      const seen = stream()
      await write((tx) => tx.viewing.begin(seen))
      await write((tx) => tx.viewing.prune(1100))
      expect(await attempt(1199)).toBe(false)
      expect(await write((tx) => tx.viewing.prune(1101))).toBeGreaterThan(0)
      expect(await attempt(1101)).toBe(true)
      expect(await write((tx) => tx.viewing.begin(seen))).toBe(false)
    })
  })

  test('a token is locked with its current version and value', async () => {
    const token = await insert(stores.store, { accountId })
    expect(await write((tx) => tx.tokens.lockShared(token.id))).toEqual({ version: 1, valueHash: token.valueHash })
    const count = () => stores.other.read.tokens.count({ accountId, kind: token.kind })
    const before = await count()
    await write((tx) => tx.tokens.replace(token, token))
    for (const wrong of [{ accountId: newAccount() }, { kind: 'subscribe' as const }])
      await write((tx) => tx.tokens.delete({ ...token, ...wrong }))
    expect(await write((tx) => tx.tokens.lockShared(token.id))).toMatchObject({ version: 2 })
    const touch = (atMs: number) => write((tx) => tx.tokens.touch([{ id: token.id, atMs }]))
    await touch(20)
    await touch(10)
    expect(await stores.other.read.tokens.get(token.id)).toMatchObject({ lastUsedAtMs: 20 })
    expect(await count()).toBe(before)
    await write((tx) => tx.tokens.delete(token))
    expect(await count()).toBe(before - 1)
    expect(await write((tx) => tx.tokens.lockShared(token.id))).toBeUndefined()
  })
}
