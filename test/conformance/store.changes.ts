import { describe, expect, test, vi } from 'vitest'
import type { Change, Store } from '../../src/store/store.ts'
import { MAX_CHANGES } from '../../src/store/tables/changes.ts'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const AT = 1_000_000

export function changesSuite(stores: Stores): void {
  const append = (store: Store, change: Change, atMs = AT) =>
    store.transaction((tx) => tx.changes.append({ ...change, atMs }))

  /** Follows the changes of one account after a position, until it is over; returns the ids that it saw. */
  const follow = async (
    store: Store,
    { accountId, from }: { accountId: string; from: string },
    isOver: () => boolean,
  ): Promise<Set<number>> => {
    let cursor = from
    const seen = new Set<number>()
    for (let last = false; ; ) {
      const answer = await store.changesSince(cursor)
      expect(answer.reset).toBe(false)
      cursor = answer.cursor
      for (const change of answer.changes) if (change.accountId === accountId) seen.add(change.id)
      if (last) return seen
      last = isOver()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  describe('changes', () => {
    test('a store reads the changes that another one committed after its cursor', async () => {
      const accountId = newAccount()
      const { cursor } = await stores.other.changesSince(null)
      const change: Change = { kind: 'secret', accountId, id: 5 }
      await append(stores.store, change)
      const answer = await stores.other.changesSince(cursor)
      expect(answer.reset).toBe(false)
      expect(answer.changes).toContainEqual({ ...change, atMs: AT })
      expect((await stores.other.changesSince(answer.cursor)).changes).toEqual([])
    })

    test('that of a feed names its stream', async () => {
      const accountId = newAccount()
      const { cursor } = await stores.other.changesSince(null)
      const change: Change = { kind: 'feed', accountId, id: 0, streamName: 'show' }
      await append(stores.store, change)
      await append(stores.store, { kind: 'feed', accountId, id: 1 })
      const changes = (await stores.other.changesSince(cursor)).changes.filter((one) => one.accountId === accountId)
      expect(changes).toEqual([change, { kind: 'feed', accountId, id: 1 }].map((one) => ({ ...one, atMs: AT })))
    })

    test('a rolled back change is never returned', async () => {
      const accountId = newAccount()
      const { cursor } = await stores.other.changesSince(null)
      const failing = stores.store.transaction(async (tx) => {
        await tx.changes.append({ kind: 'token', accountId, id: 1, atMs: 1 })
        throw new Error('no')
      })
      await expect(failing).rejects.toThrow('no')
      const { changes } = await stores.other.changesSince(cursor)
      expect(changes.filter((change) => change.accountId === accountId)).toEqual([])
    })

    test('a reader misses no change while two stores commit', async () => {
      const accountId = newAccount()
      let writing = true
      const { cursor: from } = await stores.other.changesSince(null)
      const reader = follow(stores.other, { accountId, from }, () => !writing)
      const ids = Array.from({ length: 300 }, (_, n) => n + 1)
      await Promise.all(ids.map((id) => append(id % 2 ? stores.store : stores.other, { kind: 'token', accountId, id })))
      writing = false
      expect([...(await reader)].toSorted((a, b) => a - b)).toEqual(ids)
    })

    test('listeners are called after another store committed', async () => {
      const listener = vi.fn()
      const stop = stores.other.watch(listener)
      await append(stores.store, { kind: 'token', accountId: newAccount(), id: 1 })
      await vi.waitFor(() => expect(listener).toHaveBeenCalled(), { timeout: 30_000 })
      stop()
    })

    test('a pruned or invalid position returns reset with a valid position', async () => {
      const accountId = newAccount()
      const { cursor } = await stores.other.changesSince(null)
      await append(stores.store, { kind: 'token', accountId, id: 1 }, 5)
      expect(await stores.store.transaction((tx) => tx.changes.prune(6))).toBeGreaterThan(0)
      for (const lost of [cursor, 'nonsense', '99999999999']) {
        const answer = await stores.other.changesSince(lost)
        expect(answer).toMatchObject({ changes: [], reset: true })
        await append(stores.store, { kind: 'token', accountId, id: 2 })
        const next = await stores.other.changesSince(answer.cursor)
        expect(next.reset).toBe(false)
        expect(next.changes).toContainEqual({ kind: 'token', accountId, id: 2, atMs: AT })
      }
    })

    test('pruning leaves newer changes', async () => {
      const accountId = newAccount()
      await append(stores.store, { kind: 'token', accountId, id: 1 }, 5)
      const { cursor } = await stores.other.changesSince(null)
      await append(stores.store, { kind: 'token', accountId, id: 2 })
      await stores.store.transaction((tx) => tx.changes.prune(6))
      const answer = await stores.other.changesSince(cursor)
      expect(answer.reset).toBe(false)
      expect(answer.changes).toContainEqual({ kind: 'token', accountId, id: 2, atMs: AT })
    })

    test('a reader that is too many changes behind gets reset', async () => {
      const accountId = newAccount()
      const { cursor } = await stores.other.changesSince(null)
      await stores.store.transaction(async (tx) => {
        for (let id = 1; id <= MAX_CHANGES + 1; id += 1)
          await tx.changes.append({ kind: 'token', accountId, id, atMs: 1 })
      })
      expect(await stores.other.changesSince(cursor)).toMatchObject({ changes: [], reset: true })
    })
  })
}
