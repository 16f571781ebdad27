import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ViewerLimit } from '../../src/core/access/viewerLimits.ts'
import type { Store } from '../../src/store/store.ts'
import type { Stores } from './store.ts'

export function viewerSeatsSuite(stores: Stores): void {
  const name = () => randomBytes(4).toString('hex')
  const limitOf = (most: number): ViewerLimit => ({ holder: `token/${name()}`, of: 'token', most })
  const seat = (over: { viewer?: string; sessionId?: string; node?: string } = {}) => {
    const viewer = over.viewer ?? name()
    return { viewer, sessionId: viewer, node: 'n', ...over }
  }
  const take = (limits: readonly ViewerLimit[], one = seat(), at: Store = stores.store) =>
    at.transaction((tx) => tx.viewerSeats.take(one, limits))
  const free = (sessionIds: readonly string[], at: Store = stores.store) =>
    at.transaction((tx) => tx.viewerSeats.free(sessionIds))
  const count = ({ holder }: ViewerLimit) => stores.other.read.viewerSeats.count(holder)

  describe('seats of viewers', () => {
    test('exactly N of 100 are taken, 16 at once, through two stores, and again when they were given back', async () => {
      const limit = limitOf(7)
      for (let round = 0; round < 2; round++) {
        const taken: string[] = []
        let next = 0
        const client = async () => {
          while (next < 100) {
            const [n, one] = [next++, seat()]
            const reached = await take([limit], one, n % 2 ? stores.store : stores.other)
            if (reached === null) taken.push(one.sessionId)
            else expect(reached).toEqual(limit)
          }
        }
        await Promise.all(Array.from({ length: 16 }, client))
        expect(taken).toHaveLength(7)
        expect(await count(limit)).toBe(7)
        await free(taken)
        expect(await count(limit)).toBe(0)
      }
    })

    test('a viewer with sessions at two nodes has one, until both are over', async () => {
      const limit = limitOf(1)
      const sessions = ['a', 'b'].map((node) => seat({ viewer: `viewer ${limit.holder}`, sessionId: name(), node }))
      for (const one of sessions) expect(await take([limit], one)).toBeNull()
      expect(await take([limit])).toEqual(limit)
      expect(await count(limit)).toBe(1)
      const [first = '', second = ''] = sessions.map(({ sessionId }) => sessionId)
      for (let time = 0; time < 2; time++) await free([first])
      expect(await take([limit])).toEqual(limit)
      await free([second])
      expect(await take([limit])).toBeNull()
    })

    test('one who comes at one node while it leaves another has one seat, whichever is first', async () => {
      const limit = limitOf(3)
      const viewer = name()
      let before = seat({ viewer, sessionId: name(), node: 'a' })
      await take([limit], before)
      for (let round = 0; round < 30; round++) {
        const next = seat({ viewer, sessionId: name(), node: 'b' })
        await Promise.all([free([before.sessionId]), take([limit], next, stores.other)])
        expect(await count(limit)).toBe(1)
        before = next
      }
      await free([before.sessionId])
      expect(await count(limit)).toBe(0)
    })

    test('of several limits all are taken or none, and those of others are as they were', async () => {
      const [wide, narrow] = [limitOf(5), limitOf(1)]
      const first = seat()
      expect(await take([narrow], first)).toBeNull()
      expect(await take([wide, narrow])).toEqual(narrow)
      expect([await count(wide), await count(narrow)]).toEqual([0, 1])
      const both = seat({ viewer: first.viewer, sessionId: name() })
      expect(await take([wide, narrow], both)).toBeNull()
      // A repeated request changes nothing.
      expect(await take([wide, narrow], both)).toBeNull()
      expect([await count(wide), await count(narrow)]).toEqual([1, 1])
      await free([first.sessionId, both.sessionId, 'unknown'])
      expect([await count(wide), await count(narrow)]).toEqual([0, 0])
    })

    test('viewers who leave together, of one limit and of many, are subtracted from each', async () => {
      const shared = limitOf(1000)
      const own = Array.from({ length: 130 }, () => limitOf(2))
      const sessions: string[] = []
      for (const limit of own) {
        const one = seat()
        sessions.push(one.sessionId)
        await take([shared, limit], one)
      }
      await free(sessions.slice(0, 120))
      expect(await count(shared)).toBe(10)
      expect(await Promise.all(own.map(count))).toEqual(own.map((_, n) => (n < 120 ? 0 : 1)))
    })

    test('a node gives back all that its sessions have, a part at a time', async () => {
      const [limit, node] = [limitOf(10), name()]
      for (let n = 0; n < 5; n++) await take([limit], seat({ node }))
      await take([limit])
      const step = () => stores.store.transaction((tx) => tx.viewerSeats.freeOfNode(node, 3))
      expect([await step(), await count(limit), await step(), await step()]).toEqual([3, 3, 2, 0])
      expect(await count(limit)).toBe(1)
    })
  })
}
