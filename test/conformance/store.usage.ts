import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { NodeUsage } from '../../src/core/sessions/types.ts'
import { addUsage, newAccount, nodeUsage } from './store.samples.ts'
import type { Stores } from './store.ts'

const HOUR_MS = 3_600_000

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
    const query = { accountId, fromMs: 0, untilMs: 48 * HOUR_MS, groupBy: [], slot: 'hour', limit: 10 } as const
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
      const query = { accountId, fromMs: 0, untilMs: HOUR_MS, slot: 'hour', limit: 10 } as const
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
      const sum = (more: object) => stores.store.read.usage.sum({ ...query, groupBy: [], slot: 'hour', ...more })
      const out = { bytesOut: 0, bytesFromCaches: 0 }
      expect(await sum({ groupBy: ['slot', 'streamName', 'trackingId', 'country'] })).toEqual([
        { slotMs: 30 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 5, ...out },
        { slotMs: 31 * HOUR_MS, streamName: 'a', trackingId: 't', country: 'NZ', bytesIn: 2, ...out },
        { slotMs: 31 * HOUR_MS, streamName: 'b', trackingId: '', country: '', bytesIn: 1, ...out },
      ])
      const [hls, whep] = await sum({ groupBy: ['protocol', 'tokenId'] })
      expect([hls, whep]).toMatchObject([{ protocol: 'hls', tokenId: 3, bytesIn: 7 }, { protocol: 'whep' }])
      expect(await sum({ groupBy: ['slot'], slot: 'day' })).toMatchObject([{ slotMs: 24 * HOUR_MS, bytesIn: 8 }])
      expect(await sum({ trackingIds: ['t', 'u'] })).toMatchObject([{ bytesIn: 7 }])
      expect(await sum({ streamNames: ['b'], groupBy: ['streamName'] })).toMatchObject([{ bytesIn: 1 }])
      expect(await sum({ untilMs: 31 * HOUR_MS })).toMatchObject([{ bytesIn: 5 }])
      expect(await sum({ accountId: 'nobody' })).toMatchObject([{ bytesIn: 0 }])
    })

    test('is listed by tracking id, of nodes and of what is added, in pages', async () => {
      const [accountId, node] = [newAccount(), await newNode()]
      await addUsage(stores.store, ...['a', 'c', 'd'].map((trackingId) => ({ accountId, trackingId, bytesOut: 1 })))
      await put(node, ...['a', 'b', 'e'].map((trackingId, ord) => ({ accountId, trackingId, ord, bytesOut: 10 })))
      const page = async (after: string) => {
        const rows = await stores.other.read.usage.tracked({
          accountId,
          fromMs: 0,
          untilMs: HOUR_MS,
          prefix: '',
          after,
          limit: 2,
        })
        return rows.map(({ trackingId, bytesOut }) => [trackingId, bytesOut])
      }
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
