import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NodeUsage } from '../../src/core/sessions/types.ts'
import type { UsageRow } from '../../src/core/usage/report.ts'
import { slotIn, slotsOf } from '../../src/core/zonedSlots.ts'
import type { Store, Tx, UsageQuery } from '../../src/store/store.ts'
import { cases } from '../support/randomCases.ts'
import { addUsage, newAccount, newSession, nodeUsage } from './store.samples.ts'
import type { Stores } from './store.ts'

const HOUR_MS = 3_600_000
const [FIRST_MS, LAST_MS] = [Date.UTC(2026, 0, 30), Date.UTC(2026, 3, 5)]

const HOUR = fc.record({
  hourMs: fc
    .oneof(fc.constantFrom(0, 1, 24, 48), fc.nat((LAST_MS - FIRST_MS) / HOUR_MS - 1))
    .map((n) => FIRST_MS + n * HOUR_MS),
  streamName: fc.constantFrom('a', 'b'),
  protocol: fc.constantFrom('hls', 'rtmp'),
  tokenId: fc.constantFrom(null, 7),
  trackingId: fc.constantFrom(null, 't', 'u'),
  country: fc.constantFrom(null, 'NZ'),
  bytesIn: fc.integer({ min: 1, max: 9 }),
  bytesOut: fc.integer({ min: 0, max: 2 ** 40 }),
})
type Hour = typeof HOUR extends fc.Arbitrary<infer T> ? T : never

const STEP = fc.oneof(
  { weight: 3, arbitrary: fc.record({ put: fc.array(HOUR, { minLength: 1, maxLength: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ fold: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.constantFrom('t', 'u') }) },
  { weight: 1, arbitrary: fc.record({ prune: HOUR.map(({ hourMs }) => hourMs) }) },
)
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never

const SPAN = fc
  .tuple(HOUR, HOUR)
  .map(([one, other]) => [one.hourMs, other.hourMs].toSorted((x, y) => x - y))
  .map(([fromMs = 0, untilMs = 0]) => ({ fromMs, untilMs }))

/** What totals are grouped by: of rows of the account, and of streams. */
const GROUPS: readonly UsageQuery['groupBy'][] = [
  [],
  ['country', 'protocol'],
  ['tokenId'],
  ['trackingId', 'streamName'],
]

/** The hours of an account beside those of the store. */
class Books {
  readonly accountId = newAccount()
  readonly #store: Store
  readonly #node: string
  #hours: (Hour & { isAdded: boolean })[] = []
  #ord = 0

  constructor(store: Store, node: string) {
    this.#store = store
    this.#node = node
  }

  async follow(step: Step): Promise<void> {
    if ('put' in step) await this.#put(step.put)
    else if ('fold' in step) await this.#fold(step.fold)
    else if ('forget' in step) await this.#forget(step.forget)
    else await this.#prune(step.prune)
  }

  async #put(hours: readonly Hour[]): Promise<void> {
    const rows = hours.map((one) => nodeUsage({ ...one, accountId: this.accountId, ord: this.#ord++ }))
    await this.#store.transaction((tx) => tx.usage.put(this.#node, rows))
    this.#hours.push(...hours.map((one) => ({ ...one, isAdded: false })))
  }

  async #fold(limit: number): Promise<void> {
    await this.#store.transaction((tx) => tx.usage.foldNode(this.#node, limit))
    for (const one of this.#hours.filter(({ isAdded }) => !isAdded).slice(0, limit)) one.isAdded = true
  }

  async #forget(trackingId: string): Promise<void> {
    await repeated(this.#store, (tx) => tx.viewerTraces.forgetUsage(this.accountId, trackingId, 2))
    for (const one of this.#hours) if (one.isAdded && one.trackingId === trackingId) one.trackingId = null
  }

  async #prune(beforeMs: number): Promise<void> {
    await repeated(this.#store, (tx) => tx.usage.prune(beforeMs, 20))
    this.#hours = this.#hours.filter(({ isAdded, hourMs }) => !isAdded || hourMs >= beforeMs)
  }

  compare(store: Store, span: Span): Promise<void> {
    return compare(store, this.accountId, this.#hours, span)
  }
}

interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** What series are divided into: the clock of Berlin is set on 29 March. */
const SERIES = ['UTC', 'Europe/Berlin'].flatMap((zone) =>
  (['Hour', 'Day', 'Month'] as const).map((resolution) => ({ zone, resolution })),
)

/** Compares every report with the sums of these hours. */
async function compare(store: Store, accountId: string, all: readonly Hour[], span: Span): Promise<void> {
  const rows = all.filter(({ hourMs }) => hourMs >= span.fromMs && hourMs < span.untilMs).map(asRow)
  const ask = async (groupBy: UsageQuery['groupBy'], slots: readonly number[]) => {
    const read = await store.read.usage.sum({ accountId, ...span, groupBy, slots, limit: 10_000 })
    const sums = read.map((row): Sum => [keyOf(row, groupBy), row.bytesIn, row.bytesOut])
    // Without groups there is one sum, also of nothing.
    const expected = groupBy.length === 0 && rows.length === 0 ? [['', 0, 0]] : sumsBy(rows, groupBy, slots)
    expect(sums.toSorted(byKey)).toEqual(expected)
  }
  for (const groupBy of GROUPS) await ask(groupBy, [])
  for (const of of SERIES)
    for (const groupBy of [['slot'], ['slot', 'streamName']] as const) await ask(groupBy, slotsOf({ ...span, ...of }))
  const tracked = await store.read.usage.tracked({ accountId, ...span, prefix: '', after: '', limit: 10 })
  const withId = rows.filter(({ trackingId }) => trackingId !== '')
  expect(tracked.map(({ trackingId, bytesIn, bytesOut }) => [trackingId, bytesIn, bytesOut])).toEqual(
    sumsBy(withId, ['trackingId'], []),
  )
}

/** Until there is nothing left to do. A deadlock, which costs a second, would be tried again in silence. */
const repeated = async (store: Store, work: (tx: Tx) => Promise<number>): Promise<void> => {
  for (let [tries, transactions, left] = [0, 1, 1]; left > 0; transactions += 1) {
    left = await store.transaction((tx) => {
      tries += 1
      return work(tx)
    })
    expect(tries, 'a transaction was tried again').toBe(transactions)
  }
}

const asRow = ({ hourMs, tokenId, trackingId, country, ...one }: Hour) => ({
  ...one,
  slotMs: hourMs,
  tokenId: tokenId ?? 0,
  trackingId: trackingId ?? '',
  country: country ?? '',
})

const keyOf = (row: UsageRow, groupBy: UsageQuery['groupBy']): string =>
  groupBy.map((name) => (name === 'slot' ? row.slotMs : row[name])).join(' ')

type Sum = [key: string, bytesIn: number, bytesOut: number]

const byKey = ([a]: Sum, [b]: Sum): number => (a < b ? -1 : 1)

/** Sums of groups, sorted. */
function sumsBy(rows: readonly UsageRow[], groupBy: UsageQuery['groupBy'], slots: readonly number[]): Sum[] {
  const sums = new Map<string, { bytesIn: number; bytesOut: number }>()
  for (const row of rows) {
    const key = keyOf({ ...row, slotMs: slotIn(slots, row.slotMs) }, groupBy)
    const sum = sums.get(key) ?? { bytesIn: 0, bytesOut: 0 }
    sums.set(key, { bytesIn: sum.bytesIn + row.bytesIn, bytesOut: sum.bytesOut + row.bytesOut })
  }
  return [...sums].map(([key, sum]): Sum => [key, sum.bytesIn, sum.bytesOut]).toSorted(byKey)
}

const hoursOf = (n: number): number[] => [...Array(n).keys()].map((hour) => hour * HOUR_MS)

export function usageSuite(stores: Stores): void {
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)

  async function newNode(): Promise<string> {
    const id = randomUUID()
    await write((tx) => tx.nodes.insert({ id, hostKey: id, pid: 1, url: null }, 60_000))
    return id
  }
  const put = (node: string, ...usage: Partial<NodeUsage>[]) => write((tx) => tx.usage.put(node, usage.map(nodeUsage)))
  const foldAll = (node: string, store = stores.store) => store.transaction((tx) => tx.usage.foldNode(node, 1000))
  const bytesOf = async (accountId: string) => {
    const query = { accountId, fromMs: 0, untilMs: 48 * HOUR_MS, groupBy: [], limit: 10 } as const
    const [sum] = await stores.other.read.usage.sum(query)
    return [sum?.bytesIn, sum?.bytesOut]
  }

  describe('usage', () => {
    test('of a node is in reports before it is added to the sums of all nodes, meanwhile, and afterwards', async () => {
      const [accountId, one, two] = [newAccount(), await newNode(), await newNode()]
      await put(one, { accountId, ord: 1, bytesIn: 1, bytesOut: 10 }, { accountId, ord: 2, bytesOut: 100 })
      await put(two, { accountId, ord: 1, bytesOut: 1000 })
      expect(await bytesOf(accountId)).toEqual([1, 1110])
      await write(async (tx) => {
        await tx.usage.fold(one, [2])
        expect(await bytesOf(accountId)).toEqual([1, 1110])
      })
      expect(await bytesOf(accountId)).toEqual([1, 1110])
      expect([await foldAll(one), await foldAll(one), await foldAll(two)]).toEqual([1, 0, 1])
      expect(await bytesOf(accountId)).toEqual([1, 1110])
    })

    test('that is written again, or late, changes nothing', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      await put(node, { accountId, bytesIn: 5, bytesOut: 50 })
      await put(node, { accountId, bytesIn: 7, bytesOut: 70 })
      await put(node, { accountId, bytesIn: 5, bytesOut: 50 })
      expect(await bytesOf(accountId)).toEqual([7, 70])
    })

    test('of any stream is written as it is, 250 rows in one call and again with more', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      const names = [`it's "a",{b}\\`, 'NULL', '{}', '[1,2]', ' ', 'Füße ☃'] as const
      const facts = { accountId, trackingId: `a"b'`, tokenId: 2 ** 40, bytesIn: 1 }
      const usage = Array.from({ length: 250 }, (_, ord) => ({ ...facts, ord, streamName: names[ord % 6] ?? '' }))
      await put(node, ...usage)
      await put(node, ...usage.map((one) => ({ ...one, bytesOut: 2 ** 45 })))
      const query = { accountId, fromMs: 0, untilMs: HOUR_MS, limit: 10 } as const
      const sums = await stores.other.read.usage.sum({ ...query, groupBy: ['streamName', 'trackingId', 'tokenId'] })
      expect(new Map(sums.map(({ streamName, bytesOut }) => [streamName, bytesOut]))).toEqual(
        new Map(names.map((name, at) => [name, (at < 4 ? 42 : 41) * 2 ** 45])),
      )
      expect(sums).toMatchObject(sums.map(() => ({ trackingId: `a"b'`, tokenId: 2 ** 40 })))
    })

    test('is added once, whichever nodes try at the same time', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      await put(
        node,
        ...Array.from({ length: 250 }, (_, ord) => ({ accountId, ord, streamName: `s${ord % 7}`, bytesOut: 1 })),
      )
      await Promise.all([foldAll(node), foldAll(node, stores.other), foldAll(node)])
      expect(await foldAll(node)).toBe(0)
      expect(await bytesOf(accountId)).toEqual([0, 250])
    })

    test('of a node with many rows is added in parts', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      await put(node, ...[1, 2, 3].map((ord) => ({ accountId, ord, bytesOut: 2 ** 40 })))
      const fold = () => write((tx) => tx.usage.foldNode(node, 2))
      expect([await fold(), await fold(), await fold()]).toEqual([2, 1, 0])
      expect(await bytesOf(accountId)).toEqual([0, 3 * 2 ** 40])
    })

    test('is summed by slot, stream, tracking id, country, protocol and token over all nodes and what is added', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      const facts = { accountId, streamName: 'a', trackingId: 't', country: 'NZ', protocol: 'hls', tokenId: 3 } as const
      await addUsage(
        stores.store,
        { ...facts, hourMs: 30 * HOUR_MS, bytesIn: 5 },
        { ...facts, hourMs: 31 * HOUR_MS, bytesIn: 1 },
      )
      await put(
        node,
        { ...facts, ord: 1, hourMs: 31 * HOUR_MS, bytesIn: 1 },
        { accountId, ord: 2, streamName: 'b', hourMs: 31 * HOUR_MS, bytesIn: 1 },
      )
      const query = { accountId, fromMs: 0, untilMs: 48 * HOUR_MS, limit: 10 }
      const sum = (more: object) => stores.store.read.usage.sum({ ...query, groupBy: [], slots: hoursOf(48), ...more })
      const out = { bytesOut: 0, bytesFromCaches: 0 }
      expect(await sum({ groupBy: ['slot', 'streamName', 'trackingId', 'country'] })).toEqual([
        { slotMs: 30 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 5, ...out },
        { slotMs: 31 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 2, ...out },
        { slotMs: 31 * HOUR_MS, streamName: 'b', trackingId: '', country: '', bytesIn: 1, ...out },
      ])
      const [hls, whep] = await sum({ groupBy: ['protocol', 'tokenId'] })
      expect([hls, whep]).toMatchObject([{ protocol: 'hls', tokenId: 3, bytesIn: 7 }, { protocol: 'whep' }])
      expect(await sum({ groupBy: ['slot'], slots: [0, 24 * HOUR_MS] })).toMatchObject([
        { slotMs: 24 * HOUR_MS, bytesIn: 8 },
      ])
      expect(await sum({ trackingIds: ['t', 'u'] })).toMatchObject([{ bytesIn: 7 }])
      expect(await sum({ streamNames: ['b'], groupBy: ['streamName'] })).toMatchObject([{ bytesIn: 1 }])
      expect(await sum({ untilMs: 31 * HOUR_MS })).toMatchObject([{ bytesIn: 5 }])
      expect(await sum({ accountId: 'nobody' })).toMatchObject([{ bytesIn: 0 }])
    })

    test('keeps what publishers sent and caches served when hours of its days are deleted or forgotten', async () => {
      const accountId = newAccount()
      const [first, second] = [HOUR_MS, 2 * HOUR_MS]
      const sent = { accountId, protocol: 'rtmp' } as const
      await addUsage(stores.store, { ...sent, hourMs: first, bytesIn: 5 }, { ...sent, hourMs: second, bytesIn: 7 })
      const viewer = newSession({ accountId, trackingId: 't' })
      await stores.store.transaction(async (tx) => {
        await tx.sessions.insert(viewer, 'n')
        await tx.cacheLogs.count([{ sessionIds: [viewer.id], bytesOut: 4 }], second)
      })
      await repeated(stores.store, (tx) => tx.usage.prune(second, 100))
      await repeated(stores.store, (tx) => tx.viewerTraces.forgetUsage(accountId, 't', 5))
      const day = { accountId, fromMs: 0, untilMs: 24 * HOUR_MS, limit: 10 }
      const sums = [{ bytesIn: 7, bytesOut: 4, bytesFromCaches: 4 }]
      expect(await stores.other.read.usage.sum({ ...day, groupBy: [] })).toMatchObject(sums)
    })

    test('of media alone leaves out what viewers sent and publishers received', async () => {
      const accountId = newAccount()
      const both = { accountId, hourMs: 0, bytesIn: 1, bytesOut: 2 }
      await addUsage(
        stores.store,
        { ...both, protocol: 'rtmp', bytesIn: 50 },
        { ...both, protocol: 'hls', bytesOut: 90 },
      )
      const query = { accountId, fromMs: 0, untilMs: HOUR_MS, groupBy: [], limit: 1, mediaOnly: true }
      expect(await stores.other.read.usage.sum(query)).toMatchObject([{ bytesIn: 50, bytesOut: 90 }])
    })

    test('of more than 2^53 bytes is rounded, and not refused', async () => {
      const accountId = newAccount()
      const hours = [1, 2].map((hour) => ({
        accountId,
        trackingId: 't',
        hourMs: hour * HOUR_MS,
        bytesOut: 2 ** 53 - 1,
      }))
      await addUsage(stores.store, ...hours)
      const query = { accountId, fromMs: 0, untilMs: 48 * HOUR_MS, limit: 10 }
      const { usage } = stores.store.read
      expect(await usage.sum({ ...query, groupBy: [] })).toMatchObject([{ bytesOut: 2 ** 54 - 2 }])
      expect(await usage.tracked({ ...query, prefix: '', after: '' })).toMatchObject([{ bytesOut: 2 ** 54 - 2 }])
    })

    test('by hour, day and month has the same sums, whatever is added, moved, forgotten and deleted', async () => {
      const steps = fc.array(STEP, { minLength: 1, maxLength: 10 })
      await fc.assert(
        fc.asyncProperty(steps, SPAN, async (all, span) => {
          const books = new Books(stores.store, await newNode())
          for (const step of all) await books.follow(step)
          await books.compare(stores.other, { fromMs: FIRST_MS, untilMs: LAST_MS })
          await books.compare(stores.other, span)
        }),
        cases(10),
      )
    })

    test('by hour, day and month has the same sums after nodes added, forgot and deleted hours at the same time', async () => {
      const accountId = newAccount()
      const nodes = await Promise.all([newNode(), newNode(), newNode()])
      const keys = fc.sample(HOUR, { numRuns: 60, seed: 7 })
      for (const node of nodes) await put(node, ...keys.map((key, ord) => ({ ...key, accountId, ord })))
      const beforeMs = Date.UTC(2026, 2, 1)
      const on = [stores.store, stores.other, stores.store]
      await Promise.all([
        ...nodes.map((node, at) => repeated(on[at] ?? stores.store, (tx) => tx.usage.foldNode(node, 20))),
        ...on.map((store) => repeated(store, (tx) => tx.usage.prune(beforeMs, 20))),
        ...on.map((store) => repeated(store, (tx) => tx.viewerTraces.forgetUsage(accountId, 't', 5))),
      ])
      // What was added after the others had ended.
      await repeated(stores.store, (tx) => tx.usage.prune(beforeMs, 20))
      await repeated(stores.store, (tx) => tx.viewerTraces.forgetUsage(accountId, 't', 5))
      const kept = nodes.flatMap(() => keys.filter(({ hourMs }) => hourMs >= beforeMs))
      const left = kept.map((key) => ({ ...key, trackingId: key.trackingId === 't' ? null : key.trackingId }))
      await compare(stores.other, accountId, left, { fromMs: FIRST_MS, untilMs: LAST_MS })
    })

    test('is listed by tracking id, of nodes and of what is added, in pages', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      await addUsage(stores.store, ...['a', 'c', 'd'].map((trackingId) => ({ accountId, trackingId, bytesOut: 1 })))
      await put(node, ...['a', 'b', 'e'].map((trackingId, ord) => ({ accountId, trackingId, ord, bytesOut: 10 })))
      const page = async (after: string, prefix = '') => {
        const rows = await stores.other.read.usage.tracked({
          accountId,
          fromMs: 0,
          untilMs: HOUR_MS,
          prefix,
          after,
          limit: 2,
        })
        return rows.map(({ trackingId, bytesOut }) => [trackingId, bytesOut])
      }
      expect([await page('', 'c'), await page('', 'bb')]).toEqual([[['c', 1]], []])
      expect([await page(''), await page('b'), await page('d')]).toEqual([
        [
          ['a', 11],
          ['b', 10],
        ],
        [
          ['c', 1],
          ['d', 1],
        ],
        [['e', 10]],
      ])
    })
  })
}
