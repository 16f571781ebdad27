import { describe, expect, test } from 'vitest'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

export function operationsSuite(stores: Stores): void {
  describe('requests to reload, what files made, and sizes', () => {
    test('a request waits for its node until it is answered; old ones are pruned', async () => {
      const { store, other } = stores
      const [mine, theirs] = [newAccount(), newAccount()]
      await store.transaction(async (tx) => {
        await tx.reloads.insert({ id: `${mine}1`, nodeId: mine, isCheck: true, report: null }, 10)
        await tx.reloads.insert({ id: `${mine}2`, nodeId: mine, isCheck: false, report: null }, 20)
        await tx.reloads.insert({ id: `${theirs}1`, nodeId: theirs, isCheck: false, report: null }, 20)
      })
      expect(await other.read.reloads.waiting(mine, 10)).toEqual([
        { id: `${mine}1`, nodeId: mine, isCheck: true, report: null },
        { id: `${mine}2`, nodeId: mine, isCheck: false, report: null },
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

    test('what a node is asked to say of itself waits apart from reloads, each once, and one answer is for all', async () => {
      const { store, other } = stores
      const node = newAccount()
      const asked = { nodeId: node, isCheck: true }
      await store.transaction(async (tx) => {
        for (const [at, report] of ['storage', 'upkeep', 'storage'].entries())
          await tx.reloads.insert({ ...asked, id: `${node}${at}`, report }, 10)
      })
      expect(await other.read.reloads.waiting(node, 10)).toEqual([])
      expect((await other.read.reloads.reports(node)).toSorted()).toEqual(['storage', 'upkeep'])
      await other.transaction((tx) => tx.reloads.answerReports({ nodeId: node, report: 'storage', answer: '{}' }))
      expect(await store.read.reloads.reports(node)).toEqual(['upkeep'])
      const answers = [0, 1, 2].map((at) => store.read.reloads.answer(`${node}${at}`))
      expect(await Promise.all(answers)).toEqual(['{}', null, '{}'])
    })

    test('each table has its rows and its bytes', async () => {
      const { store } = stores
      await store.transaction((tx) => tx.accounts.insert({ id: newAccount(), name: 'x', createdAtMs: 1 }))
      const sizes = await store.tableSizes()
      const accounts = sizes.find(({ name }) => name === 'accounts') ?? expect.fail()
      expect(accounts).toMatchObject({ hasMore: false, bytes: expect.any(Number) })
      expect(accounts.bytes).toBeGreaterThan(0)
      // PostgreSQL estimates rows.
      if ((await store.connections()) === null) {
        expect(accounts.rows).toBe((await store.read.accounts.list()).length)
      }
      expect(sizes.map(({ name }) => name)).toContain('sessions')
      expect(sizes.map(({ name }) => name).join()).not.toMatch(/kysely|sqlite/)
      const order = sizes.map(({ bytes, rows }) => bytes ?? rows)
      expect(order).toEqual(order.toSorted((a, b) => b - a))
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
