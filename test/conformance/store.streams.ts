import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { StoredFeed } from '../../src/store/store.ts'
import { newRecording } from './store.recordings.ts'
import { ending, insert, newAccount, openFeed } from './store.samples.ts'
import type { Stores } from './store.ts'

/** What nodes store about streams, and what needs attention. */
export function streamsSuite(stores: Stores): void {
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)
  const feed = (over: Partial<StoredFeed> & { accountId: string }): StoredFeed =>
    openFeed({ streamName: 'show', tokenId: 0, ...over })
  const UNKNOWN = {
    sourceId: null,
    layer: null,
    tokenId: null,
    jti: null,
    trackingId: null,
    origin: null,
    country: null,
  }
  async function publisher(
    accountId: string,
    streamName = 'a',
    sourceId: string | null = null,
    priority: number | null = null,
  ): Promise<string> {
    const id = randomBytes(11).toString('hex')
    const at = { accountId, streamName, sourceId, address: '192.0.2.1', startedAtMs: 1000 }
    const session = { ...UNKNOWN, ...at, id, action: 'publish', protocol: 'rtmp' } as const
    await write((tx) => tx.sessions.insert(session, 'n', priority))
    return id
  }

  test('feeds on the air are read by stream, with what their node stored, their token and their publisher', async () => {
    const of = { accountId: newAccount() }
    const sessionId = await publisher(of.accountId)
    const token = await insert(stores.store, { accountId: of.accountId, label: 'Crew' })
    const theirs = await insert(stores.store, { accountId: newAccount() })
    const a = feed({ ...of, streamName: 'a', sessionId, tokenId: token.id, startedAtMs: 900 })
    const older = feed({ ...of, streamName: 'a', sourceId: 'x', startedAtMs: 800, tokenId: theirs.id })
    const [b, c] = ['b', 'c'].map((streamName) => feed({ ...of, streamName, tokenId: 0 })) as [StoredFeed, StoredFeed]
    for (const one of [a, older, b, c, feed({ accountId: newAccount(), streamName: 'a' })])
      await write((tx) => tx.feeds.insert(one))
    await write((tx) => tx.feeds.end(c.feedId, 2000))
    const reports = [
      { feedId: a.feedId, reading: '{"whep":2}', mostViewers: 7, bytesOut: 5_000_000_000 },
      { feedId: c.feedId, reading: null, mostViewers: 9, bytesOut: 1 },
      { feedId: 'unknown', reading: null, mostViewers: 1, bytesOut: 1 },
    ]
    await write((tx) => tx.feeds.report(reports))
    const onAir = (query: object = {}) => stores.other.read.feeds.onAir({ ...of, limit: 10, ...query })
    const bare = {
      url: null,
      tokenLabel: null,
      protocol: 'whip',
      isRecorded: false,
      spares: 0,
      reading: null,
      mostViewers: 0,
    }
    expect(await onAir()).toEqual([
      { ...older, ...bare },
      { ...a, ...bare, tokenLabel: 'Crew', protocol: 'rtmp', reading: '{"whep":2}', mostViewers: 7 },
      { ...b, ...bare },
    ])
    const ids = async (query: object) => (await onAir(query)).map(({ feedId }) => feedId)
    expect(await ids({ limit: 1 })).toEqual([older.feedId, a.feedId])
    expect(await ids({ after: 'a' })).toEqual([b.feedId])
    expect(await ids({ streamName: 'b' })).toEqual([b.feedId])
    await write((tx) => tx.feeds.report([]))
  })

  test('a publisher is a spare until it gets a feed', async () => {
    const id = await publisher(newAccount(), 'a', null, -5)
    const stored = () => stores.other.read.sessions.get(id)
    expect(await stored()).toMatchObject({ priority: -5, isSpare: false, feedId: null })
    await write((tx) => tx.sessions.makeSpare(id))
    expect(await stored()).toMatchObject({ isSpare: true, feedId: null })
    await write((tx) => tx.sessions.attach(id, 'f'))
    expect(await stored()).toMatchObject({ isSpare: false, feedId: 'f' })
  })

  test('a newcomer replaces the spares of its source and priority, at whichever node, and no others', async () => {
    const accountId = newAccount()
    const spare = async (streamName: string, sourceId: string | null, priority: number | null): Promise<string> => {
      const id = await publisher(accountId, streamName, sourceId, priority)
      await write((tx) => tx.sessions.makeSpare(id))
      return id
    }
    const [none, equal, left] = [await spare('a', null, null), await spare('a', null, 3), await spare('a', 'left', 3)]
    await spare('b', null, 3)
    const shown = await publisher(accountId, 'a', null, 3)
    // Neither one that is on the air, nor one that has left, nor a spare of another account.
    await publisher(accountId, 'a', null, 3)
    const gone = await spare('a', null, 3)
    await write((tx) => tx.sessions.end([ending(gone, 2000, 'left')]))
    const theirs = await publisher(newAccount(), 'a', null, 3)
    await write((tx) => tx.sessions.makeSpare(theirs))
    const replaced = (id: string, sourceId: string | null, priority: number | null) =>
      write((tx) => tx.sessions.replaceSpares({ id, accountId, streamName: 'a', sourceId }, priority))
    expect(await replaced(shown, null, 3)).toEqual([equal])
    expect((await stores.other.read.sessions.get(equal))?.kick).toBe('replaced')
    // They were asked before, and get no feed any more.
    expect(await replaced(shown, null, 3)).toEqual([])
    expect(await write((tx) => tx.sessions.attach(equal, 'f'))).toBeUndefined()
    expect(await replaced(none, null, null)).toEqual([])
    expect(await replaced(shown, null, null)).toEqual([none])
    expect(await replaced(shown, 'left', 3)).toEqual([left])
  })

  test('spares are counted by source while they are connected, and the feed of a source that ended last is found', async () => {
    const of = { accountId: newAccount(), streamName: 'b' }
    const [plain, left] = [feed({ ...of, startedAtMs: 900 }), feed({ ...of, sourceId: 'left', startedAtMs: 800 })]
    for (const one of [plain, left]) await write((tx) => tx.feeds.insert(one))
    const spares: string[] = []
    for (const source of [null, null, 'left', 'right']) spares.push(await publisher(of.accountId, 'b', source))
    for (const id of spares) await write((tx) => tx.sessions.makeSpare(id))
    // Neither those that are not spares count, nor those of another stream.
    await publisher(of.accountId, 'b')
    const other = await publisher(of.accountId, 'c')
    await write((tx) => tx.sessions.makeSpare(other))
    const counts = async () =>
      (await stores.other.read.feeds.onAir({ ...of, limit: 10 })).map((one) => [one.sourceId, one.spares])
    expect(await counts()).toEqual([
      ['left', 1],
      [null, 2],
    ])
    await write((tx) => tx.sessions.end([ending(spares[0] ?? '', 2000, 'left')]))
    await write((tx) => tx.sessions.attach(spares[1] ?? '', 'f'))
    expect(await counts()).toEqual([
      ['left', 1],
      [null, 0],
    ])
    const latest = async (sourceId: string | null) =>
      (await write((tx) => tx.feeds.latest({ ...of, sourceId })))?.feedId
    expect(await latest(null)).toBeUndefined()
    await write((tx) => tx.feeds.end(plain.feedId, 2000))
    const newer = feed({ ...of, startedAtMs: 2000 })
    await write((tx) => tx.feeds.insert(newer))
    expect([await latest(null), await latest('left')]).toEqual([plain.feedId, undefined])
    await write((tx) => tx.feeds.end(newer.feedId, 3000))
    expect(await latest(null)).toBe(newer.feedId)
  })

  test('viewers of a stream are rows of the nodes that serve it, summed without one of them, and go with their node', async () => {
    const accountId = newAccount()
    const nodes = ['a', 'b', 'c'].map((name) => `${name}${randomUUID()}`) as [string, string, string]
    const [a, b, c] = nodes
    for (const id of nodes) await write((tx) => tx.nodes.insert({ id, hostKey: id, pid: 1, url: null }, 60_000))
    const row = (streamName: string, over: object = {}) => ({
      accountId,
      streamName,
      whep: 0,
      hls: 0,
      bitrateOut: 0,
      ...over,
    })
    const put = (node: string, ...rows: ReturnType<typeof row>[]) => write((tx) => tx.streamNodes.put(node, rows))
    const { streamNodes } = stores.other.read
    const sum = async (except: string, from = 'a', to = 'z') => [
      ...(await streamNodes.sum({ accountId, from, to, except })),
    ]
    await put(a, row('a', { hls: 1 }), row('b', { whep: 9 }))
    await put(a, row('a', { hls: 2, bitrateOut: 6_000_000_000 }))
    await put(b, row('a', { whep: 3, hls: 1, bitrateOut: 5 }), { ...row('a', { hls: 50 }), accountId: newAccount() })
    await put(b)
    const ofBoth = { whep: 3, hls: 3, bitrateOut: 6_000_000_005 }
    expect((await sum('', 'a', 'a')).concat(await sum('none', 'a', 'aa'))).toEqual([
      ['a', ofBoth],
      ['a', ofBoth],
    ])
    expect(await sum(b)).toEqual([
      ['a', { whep: 0, hls: 2, bitrateOut: 6_000_000_000 }],
      ['b', { whep: 9, hls: 0, bitrateOut: 0 }],
    ])

    // Two sources of a stream, and one that is over.
    for (const [streamName, sourceId] of [
      ['a', null],
      ['a', 'x'],
      ['b', null],
    ] as const) {
      const made = feed({ accountId, streamName, sourceId, node: c })
      await write((tx) => tx.feeds.insert(made))
      if (streamName === 'b') await write((tx) => tx.feeds.end(made.feedId, 2000))
    }
    expect(await streamNodes.remoteViewers(c)).toEqual([{ accountId, streamName: 'a', viewers: 6 }])
    await put(c, row('a', { hls: 100 }))
    expect(await streamNodes.remoteViewers(c)).toEqual([{ accountId, streamName: 'a', viewers: 6 }])

    await write((tx) => tx.streamNodes.delete(a, [row('a')]))
    expect(await sum(c, 'a', 'a')).toEqual([['a', { whep: 3, hls: 1, bitrateOut: 5 }]])
    await write((tx) => tx.nodes.delete(b))
    expect(await sum(c)).toEqual([['b', { whep: 9, hls: 0, bitrateOut: 0 }]])
    expect(await streamNodes.remoteViewers(c)).toEqual([])
  })

  test('minutes of accounts are replaced by their node, summed over nodes, and pruned', async () => {
    const [mine, theirs] = [newAccount(), newAccount()]
    const row = (over: object = {}) => ({
      accountId: mine,
      minuteMs: 60_000,
      node: 'a',
      viewers: 1,
      bytesIn: 2,
      bytesOut: 3,
      ...over,
    })
    const put = (...rows: ReturnType<typeof row>[]) => write((tx) => tx.minutes.put(rows))
    const sum = (fromMs = 0, untilMs = 1_000_000) => stores.other.read.minutes.sum({ accountId: mine, fromMs, untilMs })
    await put(row(), row({ node: 'b', bytesOut: 6_000_000_000 }), row({ accountId: theirs, viewers: 50 }))
    await put(row({ viewers: 4 }), row({ minuteMs: 120_000 }))
    await put()
    expect(await sum()).toEqual([
      { minuteMs: 60_000, viewers: 5, bytesIn: 4, bytesOut: 6_000_000_003 },
      { minuteMs: 120_000, viewers: 1, bytesIn: 2, bytesOut: 3 },
    ])
    expect(await sum(60_001)).toHaveLength(1)
    expect(await sum(0, 60_000)).toEqual([])
    while ((await write((tx) => tx.minutes.prune(120_000, 1))) > 0);
    expect(await sum()).toHaveLength(1)
  })

  test('feeds that are over are paged, the last to end first, with what was counted of them', async () => {
    const accountId = newAccount()
    const sessionId = await publisher(accountId)
    const [a, b, c] = ['a', 'b', 'c'].map((streamName) => feed({ accountId, streamName, sessionId })) as [
      StoredFeed,
      StoredFeed,
      StoredFeed,
    ]
    for (const one of [a, b, c, feed({ accountId, streamName: 'on' })]) await write((tx) => tx.feeds.insert(one))
    for (const [one, atMs] of [
      [a, 3000],
      [b, 2000],
      [c, 3000],
    ] as const)
      await write((tx) => tx.feeds.end(one.feedId, atMs))
    await write((tx) => tx.feeds.report([{ feedId: a.feedId, reading: null, mostViewers: 5, bytesOut: 6_000_000_000 }]))
    const remote = (node: string, bytesOut: number, { feedId } = a) => ({ feedId, node, bytesOut })
    for (const totals of [[remote('m', 1)], [remote('m', 40), remote('o', 7_000_000_000)], []])
      await write((tx) => tx.feeds.count(totals))
    await write((tx) => tx.feeds.count([remote('m', 2, b), remote('m', 1, { ...a, feedId: 'unknown' })]))
    await write((tx) => tx.sessions.end([{ id: sessionId, atMs: 3000, reason: 'kicked', bytesIn: 9, bytesOut: 0 }]))
    const { feeds } = stores.other.read
    const page = (query: object = {}) => feeds.broadcasts({ accountId, limit: 10, ...query })
    const common = { tokenLabel: null, protocol: 'rtmp', bytesIn: 9, endReason: 'kicked' }
    expect(await page({ streamName: 'a' })).toEqual([
      { ...a, endedAtMs: 3000, ...common, mostViewers: 5, bytesOut: 13_000_000_040 },
    ])
    expect(await page({ streamName: 'b' })).toMatchObject([{ mostViewers: 0, bytesOut: 2 }])
    const ids = async (query: object = {}) => (await page(query)).map(({ feedId }) => feedId)
    const [first = '', second = ''] = [a.feedId, c.feedId].toSorted().toReversed()
    expect(await ids()).toEqual([first, second, b.feedId])
    expect(await ids({ after: { atMs: 3000, id: first }, limit: 1 })).toEqual([second])
    const alone = feed({ accountId: newAccount() })
    await write((tx) => tx.feeds.insert(alone))
    await write((tx) => tx.feeds.end(alone.feedId, 1))
    expect(await page({ accountId: alone.accountId })).toMatchObject([
      { protocol: null, bytesIn: null, endReason: null },
    ])
  })

  test('why the last broadcast of a stream and of a source has ended is on record when its session has', async () => {
    const accountId = newAccount()
    const add = async (sourceId: string | null) => {
      const one = feed({ accountId, streamName: 'a', sourceId, sessionId: await publisher(accountId) })
      await write((tx) => tx.feeds.insert(one))
      return one
    }
    const ends = () =>
      Promise.all(
        [null, 'b', 'other'].map((sourceId) =>
          stores.other.read.feeds.lastEnd({ accountId, streamName: 'a', sourceId }),
        ),
      )
    const end = async ({ feedId, sessionId }: StoredFeed, atMs: number, reason: 'left' | 'lost') => {
      await write((tx) => tx.feeds.end(feedId, atMs))
      await write((tx) => tx.sessions.end([{ id: sessionId, atMs, reason, bytesIn: 0, bytesOut: 0 }]))
    }
    const [unnamed, named] = [await add(null), await add('b')]
    expect(await ends()).toEqual([null, null, null])
    await end(named, 3000, 'left')
    const { sessionId, node } = named
    const left = { sessionId, node, reason: 'left', atMs: 3000 }
    expect(await ends()).toEqual([left, left, null])
    await end(unnamed, 4000, 'lost')
    expect(await ends()).toMatchObject([{ reason: 'lost', atMs: 4000 }, left, null])
  })

  test('streams that are off the air are listed once, by the end of their last broadcast, and found by a part of their names', async () => {
    const accountId = newAccount()
    const add = async (streamName: string, endedAtMs: number | null, sourceId: string | null = null) => {
      const one = feed({ accountId, streamName, sourceId })
      await write((tx) => tx.feeds.insert(one))
      if (endedAtMs !== null) await write((tx) => tx.feeds.end(one.feedId, endedAtMs))
      return one.feedId
    }
    await add('Early 100%', 1000)
    await add('again', 2000)
    await add('on the air', 3000)
    await add('on the air', null)
    const twice = [await add('twice', 5000, 'a'), await add('twice', 5000, 'b')].toSorted().at(-1)
    await add('again', 4000)
    await add('ÄRGER', 500)
    const { feeds } = stores.other.read
    const page = async (query: object = {}) =>
      (await feeds.broadcasts({ accountId, isLast: true, limit: 10, ...query })).map(({ streamName }) => streamName)
    expect(await page()).toEqual(['twice', 'again', 'Early 100%', 'ÄRGER'])
    expect(await page({ after: { atMs: 5000, id: twice ?? '' }, limit: 1 })).toEqual(['again'])
    const searches = { AGAI: ['again'], 'y 100%': ['Early 100%'], y_100: [], ÄRg: ['ÄRGER'], air: [] }
    for (const [search, names] of Object.entries(searches)) expect(await page({ search })).toEqual(names)
  })

  test('finished recordings are summed by account', async () => {
    const accountId = newAccount()
    const { recordings } = stores.other.read
    expect(await recordings.usage(accountId)).toEqual({ count: 0, bytes: 0 })
    const of = (over: object) => newRecording({ accountId, state: 'completed', bytes: 3_000_000_000, ...over })
    for (const one of [of({}), of({}), of({ state: 'recording', bytes: null }), of({ accountId: newAccount() })])
      await write((tx) => tx.recordings.insert(one))
    expect(await recordings.usage(accountId)).toEqual({ count: 2, bytes: 6_000_000_000 })
  })

  test('tokens that expire soon or name countries are found, and every migration is known', async () => {
    const mine = newAccount()
    const add = (over: object) => insert(stores.store, { accountId: mine, ...over })
    const late = await add({ expiresAtMs: 900, label: 'late' })
    const early = await add({ expiresAtMs: 500, kind: 'subscribe', label: 'early' })
    await add({ expiresAtMs: 500, isActive: false })
    await add({ expiresAtMs: 100 })
    await add({ expiresAtMs: 901, allowedCountries: ['NZ'] })
    await add({ expiresAtMs: null, deniedCountries: ['NZ'] })
    await insert(stores.store, { accountId: newAccount(), expiresAtMs: 500, allowedCountries: ['NZ'] })
    const { attention } = stores.other.read
    const expiring = (limit: number) => attention.expiringTokens({ accountId: mine, fromMs: 100, untilMs: 900, limit })
    expect(await expiring(9)).toEqual([
      { id: early.id, kind: 'subscribe', label: 'early', expiresAtMs: 500 },
      { id: late.id, kind: late.kind, label: 'late', expiresAtMs: 900 },
    ])
    expect(await expiring(1)).toHaveLength(1)
    expect([await attention.tokensNamingCountries(mine, 9), await attention.tokensNamingCountries(mine, 1)]).toEqual([
      2, 1,
    ])
    expect(await attention.unknownMigrations()).toEqual([])
  })
}
