import { expect, test } from 'vitest'
import { coded, say } from '../../src/core/notices.ts'
import type { TargetStatus } from '../../src/core/restream/state.ts'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

/** What targets of restreams used, and what became of them. */
export function restreamSuite(stores: Stores): void {
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)

  test('hours of restreams are replaced by feed, summed, and pruned', async () => {
    const [accountId, theirs] = [newAccount(), newAccount()]
    const hour = 3_600_000
    const day = 24 * hour
    const row = (over: object = {}) => ({
      accountId,
      streamName: 'a',
      feedId: 'f1',
      hourMs: day,
      liveMs: 1000,
      bytesIn: 2,
      bytesOut: 3,
      ...over,
    })
    const put = (...rows: ReturnType<typeof row>[]) => write((tx) => tx.restreamHours.put(rows))
    const all = {
      accountId,
      fromMs: 0,
      untilMs: 9 * day,
      slots: [...Array(216).keys()].map((n) => n * hour),
      groupBy: [] as const,
      limit: 100,
    }
    const sum = (over: object = {}) => stores.other.read.restreamHours.sum({ ...all, ...over })
    await put(row(), row({ feedId: 'f2', bytesOut: 6_000_000_000 }), row({ accountId: theirs }))
    await put(row({ bytesOut: 5 }), row({ hourMs: day + hour, streamName: 'b' }))
    await put()
    expect(await sum()).toEqual([{ slotMs: 0, streamName: '', liveMs: 3000, bytesIn: 6, bytesOut: 6_000_000_008 }])
    expect(await sum({ groupBy: ['streamName', 'slotMs'] })).toEqual([
      { slotMs: day, streamName: 'a', liveMs: 2000, bytesIn: 4, bytesOut: 6_000_000_005 },
      { slotMs: day + hour, streamName: 'b', liveMs: 1000, bytesIn: 2, bytesOut: 3 },
    ])
    expect(await sum({ groupBy: ['slotMs'], slots: [0, day, 2 * day] })).toMatchObject([{ slotMs: day, bytesIn: 6 }])
    expect(await sum({ streamNames: ['b'], groupBy: ['streamName'] })).toMatchObject([{ streamName: 'b', bytesIn: 2 }])
    expect(await sum({ fromMs: day + 1 })).toMatchObject([{ bytesIn: 2 }])
    expect(await sum({ untilMs: day })).toMatchObject([{ bytesIn: 0 }])
    while ((await write((tx) => tx.restreamHours.prune(day + hour, 1))) > 0);
    expect(await sum()).toMatchObject([{ bytesIn: 2 }])
  })

  test('events of targets are paged, the newest first, bounded by feed, and pruned', async () => {
    const [accountId, theirs] = [newAccount(), newAccount()]
    const feedId = `feed of ${accountId}`
    const event = (atMs: number, over: object = {}) => ({
      accountId,
      streamName: 'a',
      feedId,
      index: 1,
      label: 'Studio',
      url: 'rtmp://studio.example.com/app',
      status: 'waiting' as const,
      problem: say(coded('target_closed')),
      atMs,
      ...over,
    })
    const add = (...given: Parameters<typeof event>) => write((tx) => tx.restreamEvents.add(event(...given), 3))
    const { restreamEvents } = stores.other.read
    const page = (over: object = {}) => restreamEvents.page({ accountId, streamName: 'a', limit: 10, ...over })
    const times = async (over: object = {}) => (await page(over)).map(({ atMs }) => atMs)
    const id = await add(1000, { status: 'live', problem: null })
    expect(await page()).toEqual([{ id, ...event(1000, { status: 'live', problem: null }) }])
    await add(1500, { feedId: `other ${accountId}` })
    await add(1600, { streamName: 'b', feedId: `b ${accountId}` })
    await add(1700, { accountId: theirs, feedId: `theirs ${accountId}` })
    for (const atMs of [2000, 3000, 4000]) await add(atMs)
    expect(await times()).toEqual([4000, 3000, 2000, 1500])
    expect(await times({ limit: 2 })).toEqual([4000, 3000])
    expect(await times({ before: (await page())[1]?.id })).toEqual([2000, 1500])
    const ofFeeds = async (...feedIds: string[]) =>
      (await restreamEvents.ofFeeds(accountId, feedIds)).map(({ atMs }) => atMs)
    expect(await ofFeeds(feedId, `b ${accountId}`, `theirs ${accountId}`)).toEqual([1600, 2000, 3000, 4000])
    expect(await ofFeeds()).toEqual([])
    while ((await write((tx) => tx.restreamEvents.prune(3000, 1))) > 0);
    expect(await times()).toEqual([4000, 3000, 1500])
  })

  test('the latest of a target is kept until that is off, whatever comes of other targets', async () => {
    const accountId = newAccount()
    const [feedId, other] = [`feed of ${accountId}`, `other of ${accountId}`]
    const add = (index: number, status: TargetStatus, atMs: number, of = feedId) =>
      write((tx) =>
        tx.restreamEvents.add(
          { accountId, streamName: 'a', feedId: of, index, label: '', url: 'rtmp://a/b', status, problem: null, atMs },
          2,
        ),
      )
    const unfinished = (...ids: string[]) =>
      write(async (tx) => (await tx.restreamEvents.unfinished(ids)).map(({ index, status }) => `${index} ${status}`))
    await add(0, 'connecting', 1000)
    await add(0, 'live', 1100)
    await add(1, 'off', 1200)
    for (const atMs of [1300, 1400, 1500]) await add(2, 'waiting', atMs)
    await add(0, 'live', 1600, other)
    expect(await unfinished(feedId)).toEqual(['0 live', '2 waiting'])
    expect(await unfinished(feedId, other)).toEqual(['0 live', '2 waiting', '0 live'])
    expect(await unfinished()).toEqual([])
    while ((await write((tx) => tx.restreamEvents.prune(2000, 1))) > 0);
    const left = await stores.other.read.restreamEvents.ofFeeds(accountId, [feedId])
    expect(left.map(({ index, atMs }) => [index, atMs])).toEqual([
      [0, 1100],
      [2, 1500],
    ])
  })
}
