import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Session } from '../../src/core/sessions/types.ts'
import { addUsage, ending, newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const HOUR_MS = 3_600_000
const AT_MS = 5 * HOUR_MS

export function cacheLogsSuite(stores: Stores): void {
  const accountId = newAccount()
  const newLog = (): string => randomBytes(32).toString('hex')
  const write: typeof stores.store.transaction = (work) => stores.store.transaction(work)

  async function admitted(trackingId: string): Promise<Session> {
    const made: Session = {
      id: randomBytes(11).toString('hex'),
      action: 'view',
      protocol: 'hls',
      accountId,
      streamName: 'cached',
      sourceId: null,
      layer: null,
      tokenId: 7,
      jti: null,
      trackingId,
      address: '192.0.2.1',
      origin: null,
      country: 'NZ',
      startedAtMs: 1000,
    }
    await write((tx) => tx.sessions.insert(made, 'n'))
    return made
  }

  const usage = (trackingId: string) =>
    stores.other.read.usage.sum({
      accountId,
      fromMs: 0,
      untilMs: 10 * HOUR_MS,
      groupBy: ['streamName', 'trackingId', 'country', 'slot'],
      slots: [...Array(10).keys()].map((n) => n * HOUR_MS),
      trackingIds: [trackingId],
      limit: 10,
    })

  describe('logs of caches', () => {
    test('of writers with the same lines, one counts them', async () => {
      const id = newLog()
      const advance = (from: number, to: number, store = stores.store) =>
        store.transaction((tx) => tx.cacheLogs.advance({ id, from, to }, AT_MS))
      const same = [stores.store, stores.other, stores.store].map((store) => advance(0, 100, store))
      expect((await Promise.all(same)).filter(Boolean)).toHaveLength(1)
      expect(await advance(99, 200)).toBe(false)
      expect(await write((tx) => tx.cacheLogs.position(id))).toBe(100)
      expect(await advance(100, 5_000_000_000)).toBe(true)
      expect(await stores.other.transaction((tx) => tx.cacheLogs.position(id))).toBe(5_000_000_000)
      expect(await write((tx) => tx.cacheLogs.position(newLog()))).toBe(0)
    })

    test('a transaction that fails counts nothing and leaves the log where it was', async () => {
      const [id, viewer] = [newLog(), await admitted('failed')]
      const failing = write(async (tx) => {
        await tx.cacheLogs.advance({ id, from: 0, to: 9 }, AT_MS)
        await tx.cacheLogs.count([{ sessionIds: [viewer.id], bytesOut: 5 }], AT_MS)
        throw new Error('after the count')
      })
      await expect(failing).rejects.toThrow('after the count')
      expect(await write((tx) => tx.cacheLogs.position(id))).toBe(0)
      expect(await usage('failed')).toEqual([])
    })

    test('bytes count for the first stored session and its hour, beside what its node counts', async () => {
      const [open, ended] = [await admitted('both'), await admitted('both')]
      const total = { id: open.id, bytesIn: 1, bytesOut: 1000 }
      await write((tx) => tx.sessions.count([total]))
      await write((tx) => tx.sessions.end([{ ...ending(ended.id, 2000, 'left'), bytesOut: 0, bytesIn: 0 }]))
      const counted = await write((tx) =>
        tx.cacheLogs.count(
          [
            { sessionIds: ['nobody', open.id], bytesOut: 30 },
            { sessionIds: [open.id, ended.id], bytesOut: 4 },
            { sessionIds: [ended.id], bytesOut: 200 },
            { sessionIds: ['nobody'], bytesOut: 7 },
          ],
          AT_MS,
        ),
      )
      expect(counted).toEqual([open.id, open.id, ended.id, null])
      await write((tx) => tx.cacheLogs.count([{ sessionIds: [open.id], bytesOut: 6 }], AT_MS))
      // Its node writes totals, which do not contain what caches sent.
      await write((tx) => tx.sessions.count([{ ...total, bytesOut: 1500 }]))
      const hour = { accountId, streamName: 'cached', protocol: 'hls', tokenId: 7, country: 'NZ' } as const
      await addUsage(stores.store, { ...hour, trackingId: 'both', hourMs: AT_MS, bytesIn: 1, bytesOut: 1500 })
      const [row, ...more] = await usage('both')
      expect(row).toMatchObject({ country: 'NZ', slotMs: AT_MS, bytesOut: 1740, bytesFromCaches: 240 })
      expect(more).toEqual([])
      const page = await stores.other.read.sessions.page({ accountId, limit: 100 })
      expect(page.find(({ id }) => id === open.id)).toMatchObject({ bytesOut: 1500, bytesFromCaches: 40 })
      const tracked = { accountId, fromMs: 0, untilMs: 10 * HOUR_MS, prefix: 'both', after: '', limit: 9 }
      expect(await stores.other.read.usage.tracked(tracked)).toMatchObject([{ bytesFromCaches: 240 }])
    })

    test('old logs, and the bytes of old sessions, are forgotten', async () => {
      const [id, viewer] = [newLog(), await admitted('old')]
      await write(async (tx) => {
        await tx.cacheLogs.advance({ id, from: 0, to: 9 }, 1000)
        await tx.cacheLogs.count([{ sessionIds: [viewer.id], bytesOut: 1 }], 1000)
        await tx.sessions.end([ending(viewer.id, 1500, 'left')])
      })
      await write((tx) => tx.sessions.prune(1600, 1000))
      await write((tx) => tx.cacheLogs.prune(1001, 1000))
      expect(await write((tx) => tx.cacheLogs.position(id))).toBe(0)
      expect(await write((tx) => tx.cacheLogs.count([{ sessionIds: [viewer.id], bytesOut: 1 }], 2000))).toEqual([null])
    })
  })
}
