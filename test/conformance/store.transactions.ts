import { describe, expect, test } from 'vitest'
import type { Tx } from '../../src/store/store.ts'
import { auditRow, newAccount, newToken } from './store.samples.ts'
import type { Stores } from './store.ts'

export function transactionsSuite(stores: Stores): void {
  const subjects = async (accountId: string) =>
    (await stores.other.read.audit.recent(accountId, 1_000)).map((row) => row.subject)

  describe('transactions', () => {
    test('one that throws writes nothing and does not affect those that share its commit', async () => {
      const accountId = newAccount()
      const settled = await Promise.allSettled(
        Array.from({ length: 60 }, (_, n) =>
          stores.store.transaction(async (tx) => {
            await tx.audit.append(auditRow(accountId, `before-${n}`))
            if (n % 3 === 0) throw new Error(`failed ${n}`)
            await tx.audit.append(auditRow(accountId, `after-${n}`))
            return n
          }),
        ),
      )
      const failed = settled.filter((result) => result.status === 'rejected')
      expect(failed.map((result) => (result.reason as Error).message)).toEqual(
        Array.from({ length: 20 }, (_, n) => `failed ${n * 3}`),
      )
      const written = await subjects(accountId)
      const kept = Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 3 !== 0)
      expect(written.toSorted()).toEqual(kept.flatMap((n) => [`before-${n}`, `after-${n}`]).toSorted())
    })

    test('a conflict inside a group fails alone', async () => {
      const accountId = newAccount()
      const token = newToken({ accountId })
      const attempts = Array.from({ length: 10 }, () => stores.store.transaction((tx) => tx.tokens.insert(token)))
      const settled = await Promise.allSettled(attempts)
      expect(settled.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
      expect(await stores.store.read.tokens.count({ accountId, kind: 'publish' })).toBe(1)
    })

    test('work that swallows a failed statement is not committed', async () => {
      const accountId = newAccount()
      const token = newToken({ accountId })
      await stores.store.transaction((tx) => tx.tokens.insert(token))
      const swallowing = stores.store.transaction(async (tx) => {
        await tx.audit.append(auditRow(accountId, 'half'))
        await tx.tokens.insert(token).catch(() => undefined)
      })
      await expect(swallowing).rejects.toThrow('A token with this value exists already')
      expect(await subjects(accountId)).toEqual([])
    })

    test('before the commit, writes are visible only inside', async () => {
      const accountId = newAccount()
      await stores.store.transaction(async (tx) => {
        const { id } = await tx.tokens.insert(newToken({ accountId }))
        expect((await tx.tokens.lock(accountId, 'publish', id))?.id).toBe(id)
        expect(await stores.other.read.tokens.get(id)).toBeUndefined()
        expect(await stores.store.read.tokens.count({ accountId, kind: 'publish' })).toBe(0)
      })
      expect(await stores.store.read.tokens.count({ accountId, kind: 'publish' })).toBe(1)
    })

    test('a handle that is used after the end is refused', async () => {
      let kept: Tx | undefined
      await stores.store.transaction((tx) => {
        kept = tx
        return Promise.resolve()
      })
      await expect(kept!.audit.append(auditRow(newAccount(), 'late'))).rejects.toThrow('has ended')
    })

    test('a synchronous throw of the work is a rejection like any other', async () => {
      const failing = stores.store.transaction(() => {
        throw new Error('at once')
      })
      await expect(failing).rejects.toThrow('at once')
      await stores.store.ping()
    })

    test('the outbox stores events with the change that caused them, oldest first', async () => {
      const accountId = newAccount()
      const event = (subject: string | null) => ({
        accountId,
        type: 'feeds',
        event: 'feed.started',
        subject,
        data: '{"a":1}',
        createdAtMs: 5,
      })
      await stores.store.transaction((tx) => tx.outbox.append(event('one'), event(null)))
      await stores.store.transaction((tx) => tx.outbox.append(event('two')))
      const pending = (await stores.other.read.outbox.pending(10_000)).filter((row) => row.accountId === accountId)
      const ids = pending.map(({ id }) => id).toSorted((a, b) => a - b)
      expect(pending).toEqual([
        { ...event('one'), id: ids[0] },
        { ...event(null), id: ids[1] },
        { ...event('two'), id: ids[2] },
      ])
    })

    test('the audit trail is read newest first, up to the limit', async () => {
      const accountId = newAccount()
      for (const subject of ['a', 'b', 'c']) {
        await stores.store.transaction((tx) => tx.audit.append(auditRow(accountId, subject)))
      }
      const [newest, ...rest] = await stores.store.read.audit.recent(accountId, 2)
      expect(newest).toEqual({ ...auditRow(accountId, 'c'), id: newest!.id })
      expect(rest.map((row) => row.subject)).toEqual(['b'])
    })
  })
}
