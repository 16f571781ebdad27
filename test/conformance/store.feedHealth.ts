import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { StoredFeed } from '../../src/store/store.ts'
import { newAccount, openFeed } from './store.samples.ts'
import type { Stores } from './store.ts'

const UNKNOWN = { sourceId: null, layer: null, tokenId: null, jti: null, trackingId: null, origin: null, country: null }

/** What is kept of feeds for a while: their figures, and those that have ended. */
export function feedHealthSuite(stores: Stores): void {
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)
  const feed = (over: Partial<StoredFeed> & { accountId: string }): StoredFeed =>
    openFeed({ streamName: 'show', tokenId: 0, ...over })

  test('points of feeds are added once, by slot, without those of deleted feeds, and pruned', async () => {
    const accountId = newAccount()
    const [a, b] = [feed({ accountId, streamName: 'a' }), feed({ accountId, streamName: 'a', sourceId: 'left' })]
    const theirs = feed({ accountId: newAccount(), streamName: 'a' })
    for (const one of [a, b, theirs]) await write((tx) => tx.feeds.insert(one))
    const none = { videoCodec: null, audioCodec: null, width: null, height: null, roundTripMs: null, bFrames: null }
    const none4 = { frameRate: null, keyframeMs: null, packetLoss: null }
    const point = (of: StoredFeed, atMs: number, over: object = {}) => ({
      ...none,
      ...none4,
      feedId: of.feedId,
      atMs,
      bitrateIn: 6_000_000_000,
      ...over,
    })
    const put = (...points: ReturnType<typeof point>[]) => write((tx) => tx.feedHealth.put(points))
    const range = { fromMs: 20_000, untilMs: 60_000, slotMs: 10_000, limit: 10 }
    const read = (over: object = {}) =>
      stores.other.read.feedHealth.points({ accountId, streamName: 'a', ...range, ...over })
    const figures = { frameRate: 25, keyframeMs: 2000, packetLoss: 0.015, bFrames: 0.5, roundTripMs: 20 }
    const media = { videoCodec: 'h264', audioCodec: 'aac', width: 640, height: 360 }
    await put(point(a, 10_000), point(a, 20_000, { ...figures, ...media }), point(theirs, 20_000))
    await put(
      point(a, 20_000),
      point(a, 30_000, { packetLoss: 0.005, keyframeMs: 1000 }),
      point(b, 30_000),
      point(a, 60_000),
    )
    await put(point({ ...a, feedId: 'unknown' }, 20_000))
    await put()
    const of = ({ feedId, sourceId }: StoredFeed) => ({ feedId, sourceId })
    const shown = [
      { ...point(a, 20_000, { ...figures, ...media }), ...of(a) },
      { ...point(a, 30_000, { packetLoss: 0.005, keyframeMs: 1000 }), ...of(a) },
    ]
    const all = await read()
    expect(all.filter(({ sourceId }) => sourceId === null)).toEqual(shown)
    expect(all.filter(({ sourceId }) => sourceId === 'left')).toEqual([{ ...point(b, 30_000), ...of(b) }])
    expect((await read({ limit: 2 })).map(({ atMs }) => atMs)).toEqual([30_000, 30_000])
    // The mean of a slot, and its longest keyframe interval.
    expect((await read({ slotMs: 60_000 })).filter(({ sourceId }) => sourceId === null)).toEqual([
      { ...point(a, 0, { ...figures, ...media, packetLoss: 0.01 }), ...of(a) },
    ])
    await write((tx) => tx.feeds.end(a.feedId, 40_000))
    expect(await read()).toEqual(all)
    expect((await read({ fromMs: 40_001 })).length).toBe(0)
    while ((await write((tx) => tx.feedHealth.prune(30_000, 1))) > 0);
    expect(await read({ fromMs: 0 })).toHaveLength(2)
  })

  test('the feeds on the air and those that ended since are read together, with what their tokens and publishers are', async () => {
    const accountId = newAccount()
    const sessionId = randomBytes(11).toString('hex')
    const session = { ...UNKNOWN, id: sessionId, accountId, streamName: 'a', address: '192.0.2.1', startedAtMs: 1000 }
    await write((tx) => tx.sessions.insert({ ...session, action: 'publish', protocol: 'rtmp' }, 'n'))
    const at = (startedAtMs: number, over: object = {}) =>
      feed({ accountId, streamName: 'a', sessionId, startedAtMs, ...over })
    const [old, over, open, other] = [
      at(1000, { sourceId: 'old' }),
      at(2000, { sourceId: 'over' }),
      at(3000),
      at(4000, { streamName: 'b' }),
    ]
    for (const one of [old, over, open, other, feed({ accountId: newAccount(), streamName: 'a' })])
      await write((tx) => tx.feeds.insert(one))
    await write((tx) => tx.feeds.end(old.feedId, 4999))
    await write((tx) => tx.feeds.end(over.feedId, 5000))
    const { feeds } = stores.other.read
    const recent = (more: object = {}) => feeds.recent({ accountId, sinceMs: 5000, limit: 10, ...more })
    const common = { protocol: 'rtmp', address: '192.0.2.1', country: null, record: false, multisource: false }
    const none = { spares: 0, reading: null }
    expect(await recent({ streamName: 'a' })).toEqual([
      { ...over, ...common, ...none, endedAtMs: 5000 },
      { ...open, ...common, ...none, endedAtMs: null },
    ])
    expect((await recent()).map(({ feedId }) => feedId)).toEqual([over, open, other].map(({ feedId }) => feedId))
    expect((await recent({ limit: 1 })).map(({ feedId }) => feedId)).toEqual([other.feedId])
  })
}
