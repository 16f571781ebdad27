import { describe, expect, test } from 'vitest'
import { insert, newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

export function bindingsSuite(stores: Stores): void {
  const accountId = newAccount()
  const bind = (tokenId: number, address: string, limit: number, over: { version?: number; atMs?: number } = {}) =>
    stores.store.transaction((tx) => tx.bindings.bind({ tokenId, version: 1, address, limit, atMs: 1, ...over }))
  const addresses = async (tokenId: number) =>
    (await stores.other.read.bindings.list(tokenId)).map((bound) => bound.address)

  describe('bindings', () => {
    test('exactly N of 50 addresses are bound by 200 attempts, 16 at once, through two stores', async () => {
      const { id } = await insert(stores.store, { accountId })
      const limit = 7
      const attempt = async (n: number) => {
        const store = n % 2 ? stores.store : stores.other
        const address = `192.0.2.${n % 50}`
        const input = { tokenId: id, version: 1, address, limit, atMs: n }
        return { address, answer: await store.transaction((tx) => tx.bindings.bind(input)) }
      }
      const answers: Awaited<ReturnType<typeof attempt>>[] = []
      let next = 0
      // No more than two stores have connections for: an attempt that waits for one gives up after a time.
      const client = async () => {
        while (next < 200) answers.push(await attempt(next++))
      }
      await Promise.all(Array.from({ length: 16 }, client))
      const bound = answers.filter(({ answer }) => answer === 'bound').map(({ address }) => address)
      expect(bound).toHaveLength(limit)
      expect((await addresses(id)).toSorted()).toEqual(bound.toSorted())
      for (const { address, answer } of answers) expect(answer === 'full').toBe(!bound.includes(address))
    })

    test('they are listed in the order of binding, with first and last use', async () => {
      const { id } = await insert(stores.store, { accountId })
      for (const [n, address] of ['b', 'a', 'c'].entries()) await bind(id, address, 3, { atMs: n + 1 })
      expect(await bind(id, 'b', 3, { atMs: 9 })).toBe('known')
      expect(await bind(id, 'd', 3)).toBe('full')
      expect(await stores.store.read.bindings.list(id)).toEqual([
        { address: 'b', firstUsedAtMs: 1, lastUsedAtMs: 9 },
        { address: 'a', firstUsedAtMs: 2, lastUsedAtMs: 2 },
        { address: 'c', firstUsedAtMs: 3, lastUsedAtMs: 3 },
      ])
    })

    test('a bind for another version, or for a deleted token, returns `changed`', async () => {
      const token = await insert(stores.store, { accountId })
      await stores.store.transaction((tx) => tx.tokens.replace(token, token))
      expect(await bind(token.id, 'a', 5)).toBe('changed')
      expect(await bind(token.id, 'a', 5, { version: 2 })).toBe('bound')
      await stores.store.transaction((tx) => tx.tokens.delete(token))
      expect(await bind(token.id, 'a', 5, { version: 2 })).toBe('changed')
    })

    test('keepEarliest keeps the first ones, and makes room only below the limit', async () => {
      const { id } = await insert(stores.store, { accountId })
      for (const address of ['e', 'd', 'c', 'b', 'a']) await bind(id, address, 5)
      await stores.store.transaction((tx) => tx.bindings.keepEarliest(id, 2))
      expect(await addresses(id)).toEqual(['e', 'd'])
      expect(await bind(id, 'x', 2)).toBe('full')
      expect(await bind(id, 'x', 3)).toBe('bound')
      expect(await addresses(id)).toEqual(['e', 'd', 'x'])
    })

    test('bindFirst binds many in their order', async () => {
      const { id } = await insert(stores.store, { accountId })
      const all = Array.from({ length: 250 }, (_, at) => `10.0.${at >> 4}.${at & 15}`)
      await stores.store.transaction((tx) => tx.bindings.bindFirst(id, all, 7))
      expect(await addresses(id)).toEqual(all)
      expect(await bind(id, 'x', 250)).toBe('full')
      expect(await bind(id, 'x', 251)).toBe('bound')
    })

    test('clear deletes all and returns how many', async () => {
      const { id } = await insert(stores.store, { accountId })
      await bind(id, 'a', 5)
      await bind(id, 'b', 5)
      expect(await stores.store.transaction((tx) => tx.bindings.clear(id))).toBe(2)
      expect(await addresses(id)).toEqual([])
      expect(await bind(id, 'c', 1)).toBe('bound')
    })

    test('touch raises the last use, never lowers it, and binds nothing', async () => {
      const { id } = await insert(stores.store, { accountId })
      await bind(id, 'a', 2, { atMs: 10 })
      await bind(id, 'b', 2, { atMs: 10 })
      await stores.store.transaction((tx) =>
        tx.bindings.touch([
          { tokenId: id, address: 'b', atMs: 5 },
          { tokenId: id, address: 'a', atMs: 20 },
          { tokenId: id, address: 'never-bound', atMs: 20 },
        ]),
      )
      const lastUses = (await stores.store.read.bindings.list(id)).map((bound) => bound.lastUsedAtMs)
      expect(lastUses).toEqual([20, 10])
    })
  })
}
