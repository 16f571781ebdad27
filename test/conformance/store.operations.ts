import { describe, expect, test } from 'vitest'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

export function operationsSuite(stores: Stores): void {
  describe('requests to reload, and what files made', () => {
    test('a request waits for its node until it is answered; old ones are pruned', async () => {
      const { store, other } = stores
      const [mine, theirs] = [newAccount(), newAccount()]
      await store.transaction(async (tx) => {
        await tx.reloads.insert({ id: `${mine}1`, nodeId: mine, isCheck: true }, 10)
        await tx.reloads.insert({ id: `${mine}2`, nodeId: mine, isCheck: false }, 20)
        await tx.reloads.insert({ id: `${theirs}1`, nodeId: theirs, isCheck: false }, 20)
      })
      expect(await other.read.reloads.waiting(mine, 10)).toEqual([
        { id: `${mine}1`, nodeId: mine, isCheck: true },
        { id: `${mine}2`, nodeId: mine, isCheck: false },
      ])
      await other.transaction((tx) => tx.reloads.answer(`${mine}2`, '{"ok":true}'))
      expect(await store.read.reloads.waiting(mine, 10)).toHaveLength(1)
      expect(await store.read.reloads.answer(`${mine}2`)).toBe('{"ok":true}')
      expect(await store.read.reloads.answer(`${mine}1`)).toBeNull()
      await store.transaction((tx) => tx.reloads.prune(20))
      expect(await store.read.reloads.waiting(mine, 10)).toEqual([])
      await store.transaction((tx) => tx.reloads.delete(`${mine}2`))
      expect(await store.read.reloads.answer(`${mine}2`)).toBeNull()
    })

    test('a name of a kind and account has one resource', async () => {
      const { store, other } = stores
      const accountId = newAccount()
      const row = { kind: 'webhooks', name: 'backend', resourceId: '1' }
      await store.transaction((tx) => tx.provisioned.put(accountId, row))
      await store.transaction((tx) => tx.provisioned.put(accountId, { ...row, resourceId: '2' }))
      await store.transaction((tx) => tx.provisioned.put(accountId, { ...row, kind: 'channels' }))
      expect(await other.transaction((tx) => tx.provisioned.list(accountId))).toEqual([
        { ...row, kind: 'channels' },
        { ...row, resourceId: '2' },
      ])
      await store.transaction((tx) => tx.provisioned.delete(accountId, row))
      expect(await other.transaction((tx) => tx.provisioned.list(accountId))).toHaveLength(1)
    })
  })
}
