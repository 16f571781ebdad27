import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { formatActor } from '../../src/core/actor.ts'
import type { AuditRow, DashboardSession, User } from '../../src/store/store.ts'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const AT = 1_750_000_000_000

const hash = () => new Uint8Array(randomBytes(32))

/** Tests the contract of every store for users, for their sessions in the dashboard, and for the audit log. */
export function usersSuite(stores: Stores): void {
  const makeUser = (accountId = newAccount(), change: Partial<User> = {}): Promise<User> => {
    const email = `${randomBytes(6).toString('hex')}@example.org`
    const draft = { accountId, email, passwordHash: '$scrypt$1', role: 'admin' as const, createdAtMs: AT, ...change }
    return stores.store.transaction((tx) => tx.users.insert(draft))
  }
  const makeSession = (userId: number, change: Partial<DashboardSession> = {}, key = hash()) => {
    const times = { createdAtMs: AT, seenAtMs: AT, expiresAtMs: AT + 1000 }
    const draft = { userId, ...times, address: '192.0.2.1', userAgent: 'Browser', ...change, hash: key }
    return stores.store.transaction((tx) => tx.dashboardSessions.insert(draft))
  }

  describe('users', () => {
    test('are found in their account alone, listed by id, and changed', async () => {
      const first = await makeUser(newAccount(), { role: 'viewer' })
      const second = await makeUser(first.accountId, { role: 'viewer' })
      const { users } = stores.other.read
      expect(await users.get(first.accountId, first.id)).toEqual(first)
      expect(await users.get(newAccount(), first.id)).toBeUndefined()
      expect(await users.list(first.accountId)).toEqual([first, second])
      expect(await users.exist()).toBe(true)
      await stores.store.transaction(async (tx) => {
        await tx.users.setRole(second.id, 'admin')
        await tx.users.setPassword(second.id, '$scrypt$2')
        expect(await tx.users.lock(newAccount(), second.id)).toBeUndefined()
        const changed = { ...second, role: 'admin', passwordHash: '$scrypt$2' }
        expect(await tx.users.lock(second.accountId, second.id)).toEqual(changed)
        expect(await tx.users.lockById(first.id)).toEqual(first)
      })
      expect(await users.findByEmail(first.email)).toEqual(first)
      expect(await users.findByEmail(first.email.toUpperCase())).toBeUndefined()
      await stores.store.transaction((tx) => tx.users.delete(second.id))
      expect(await users.list(first.accountId)).toEqual([first])
    })

    test('changes of one account that take its lock follow each other', async () => {
      const { accountId } = await makeUser()
      await stores.store.transaction((tx) => tx.accounts.insert({ id: accountId, name: 'x', createdAtMs: 1 }))
      const promote = (store: Stores['store'], at: number) =>
        store.transaction(async (tx) => {
          await tx.accounts.lock(accountId)
          const { length } = await tx.users.list(accountId)
          const email = `${accountId}-${at}@example.org`
          await tx.users.insert({ accountId, email, passwordHash: '', role: 'viewer', createdAtMs: length })
        })
      await Promise.all(Array.from({ length: 8 }, (_, at) => promote(at % 2 ? stores.store : stores.other, at)))
      const [, ...added] = await stores.store.read.users.list(accountId)
      // Each saw what the one before had written.
      expect(added.map(({ createdAtMs }) => createdAtMs)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    })
  })

  describe('sessions in the dashboard', () => {
    test('are found by their hash with the user as the user is now', async () => {
      const user = await makeUser()
      const key = hash()
      const session = await makeSession(user.id, {}, key)
      expect(await stores.other.read.dashboardSessions.find(key)).toEqual({ session, user })
      expect(await stores.store.read.dashboardSessions.find(hash())).toBeUndefined()
      await stores.store.transaction((tx) => tx.users.setRole(user.id, 'viewer'))
      expect((await stores.other.read.dashboardSessions.find(key))?.user.role).toBe('viewer')
      await stores.store.transaction((tx) => tx.users.delete(user.id))
      expect(await stores.other.read.dashboardSessions.find(key)).toBeUndefined()
      expect(await stores.other.read.dashboardSessions.list(user.id)).toEqual([])
    })

    test('a last use only rises', async () => {
      const { id: userId } = await makeUser()
      const { id } = await makeSession(userId)
      await stores.store.transaction((tx) => tx.dashboardSessions.touch(id, AT + 5))
      await stores.store.transaction((tx) => tx.dashboardSessions.touch(id, AT + 2))
      expect(await stores.store.read.dashboardSessions.list(userId)).toEqual([
        expect.objectContaining({ seenAtMs: AT + 5 }),
      ])
    })

    test('one ends, or all, and never those of another user', async () => {
      const [mine, other] = [await makeUser(), await makeUser()]
      const [a, b, c] = [await makeSession(mine.id), await makeSession(mine.id), await makeSession(mine.id)]
      const kept = await makeSession(other.id)
      const inTx = stores.store.transaction.bind(stores.store)
      expect(await stores.store.read.dashboardSessions.list(mine.id)).toEqual([c, b, a])
      expect(await inTx((tx) => tx.dashboardSessions.delete(other.id, a.id))).toBe(false)
      expect(await inTx((tx) => tx.dashboardSessions.delete(mine.id, a.id))).toBe(true)
      expect(await stores.store.read.dashboardSessions.list(mine.id)).toEqual([c, b])
      expect(await inTx((tx) => tx.dashboardSessions.deleteOf(mine.id))).toBe(2)
      expect(await stores.store.read.dashboardSessions.list(mine.id)).toEqual([])
      expect(await stores.store.read.dashboardSessions.list(other.id)).toEqual([kept])
    })

    test('those that were unused for longest are pruned, at most so many', async () => {
      const { id } = await makeUser()
      for (const seenAtMs of [3, 1, 2, AT]) await makeSession(id, { seenAtMs })
      const left = async () => (await stores.store.read.dashboardSessions.list(id)).map(({ seenAtMs }) => seenAtMs)
      expect(await stores.store.transaction((tx) => tx.dashboardSessions.prune(AT, 2))).toBe(2)
      expect(await left()).toEqual([AT, 3])
      expect(await stores.store.transaction((tx) => tx.dashboardSessions.prune(AT, 2))).toBe(1)
    })
  })

  describe('one-time codes', () => {
    test('is used by one of many who try at once', async () => {
      const key = hash()
      const code = { accountId: newAccount(), role: 'viewer' as const, firstOnly: true, createdAtMs: 1, expiresAtMs: 9 }
      await stores.store.transaction((tx) => tx.setupCodes.insert({ ...code, hash: key }))
      expect(await stores.other.read.setupCodes.find(key)).toEqual({ ...code, usedAtMs: null })
      const tries = [stores.store, stores.other, stores.store, stores.other]
      const used = await Promise.all(tries.map((store) => store.transaction((tx) => tx.setupCodes.use(key, AT))))
      expect(used.filter(Boolean)).toHaveLength(1)
      expect(await stores.store.read.setupCodes.find(key)).toEqual({ ...code, usedAtMs: AT })
      expect(await stores.store.transaction((tx) => tx.setupCodes.use(hash(), AT))).toBe(false)
      expect(await stores.store.transaction((tx) => tx.setupCodes.prune(10, 100))).toBe(1)
      expect(await stores.store.read.setupCodes.find(key)).toBeUndefined()
    })
  })

  describe('passkeys', () => {
    test('are of one user, unique, and counted up from what was read', async () => {
      const [mine, other] = [await makeUser(), await makeUser()]
      const id = randomBytes(16).toString('base64url')
      const times = { createdAtMs: AT, usedAtMs: null }
      const key = { publicKey: hash(), signCount: 0, transports: ['usb', 'nfc'], rpId: 'tv.example.com' }
      const passkey = { id, userId: mine.id, name: 'Key', ...key, ...times }
      await stores.store.transaction((tx) => tx.passkeys.insert(passkey))
      const again = stores.other.transaction((tx) => tx.passkeys.insert({ ...passkey, userId: other.id }))
      await expect(again).rejects.toThrow('A passkey with this id exists already')
      expect(await stores.other.read.passkeys.get(id)).toEqual(passkey)
      const counted = (from: number, to: number) =>
        stores.store.transaction((tx) => tx.passkeys.countUse(id, { from, to }, AT + 1))
      expect([await counted(0, 3), await counted(0, 4), await counted(3, 4)]).toEqual([true, false, true])
      expect(await stores.store.read.passkeys.list(mine.id)).toEqual([{ ...passkey, signCount: 4, usedAtMs: AT + 1 }])
      expect(await stores.store.transaction((tx) => tx.passkeys.delete(other.id, id))).toBe(false)
      await stores.store.transaction((tx) => tx.users.delete(mine.id))
      expect(await stores.store.read.passkeys.get(id)).toBeUndefined()
    })

    test('a challenge counts for one of many who use it at once', async () => {
      const key = hash()
      const tries = [stores.store, stores.other, stores.store, stores.other]
      const used = await Promise.all(tries.map((store) => store.transaction((tx) => tx.passkeys.spend(key, 5))))
      expect(used.filter(Boolean)).toHaveLength(1)
      expect(await stores.store.transaction((tx) => tx.passkeys.pruneChallenges(6, 10))).toBe(1)
    })
  })

  describe('the audit log', () => {
    const row = (accountId: string, change: Partial<AuditRow>): AuditRow => ({
      accountId,
      atMs: AT,
      actor: { kind: 'cli' },
      address: null,
      requestId: null,
      action: 'thing.change',
      subject: '1',
      before: null,
      after: '{"a":1}',
      ...change,
    })

    test('is read newest first from a position on, by actor, action and time', async () => {
      const accountId = newAccount()
      const user = { kind: 'user', id: 3 } as const
      const rows = [
        row(accountId, { atMs: AT, subject: 'a' }),
        row(accountId, { atMs: AT + 1, subject: 'b', actor: user }),
        row(accountId, { atMs: AT + 1, subject: 'c', action: 'other.change' }),
        row(accountId, { atMs: AT + 2, subject: 'd', actor: user, address: '192.0.2.1', requestId: 'r' }),
        row(newAccount(), { subject: 'far' }),
      ]
      await stores.store.transaction(async (tx) => {
        for (const one of rows) await tx.audit.append(one)
      })
      const page = (query: object) => stores.other.read.audit.page({ accountId, limit: 10, ...query })
      const subjects = async (query: object) => (await page(query)).map(({ subject }) => subject).join('')
      expect(await subjects({})).toBe('dcba')
      expect((await page({}))[0]).toEqual({ ...rows[3], id: expect.any(Number) })
      const [, c] = await page({})
      expect(await subjects({ after: { atMs: c?.atMs, id: c?.id } })).toBe('ba')
      expect(await subjects({ limit: 2 })).toBe('dc')
      expect(await subjects({ actor: formatActor(user) })).toBe('db')
      expect(await subjects({ action: 'other.change' })).toBe('c')
      expect(await subjects({ fromMs: AT + 1, untilMs: AT + 2 })).toBe('cb')
    })
  })

  describe('last uses', () => {
    test('of secrets and credentials only rise', async () => {
      const accountId = newAccount()
      const touched = await stores.store.transaction(async (tx) => {
        const common = { accountId, name: 'one', createdAtMs: 5 }
        const secret = await tx.secrets.insert({ ...common, hint: 'abcd', refreshedAtMs: null, hash: hash() })
        const key = `k${accountId}`
        const credential = await tx.credentials.insert({ ...common, key, scope: 'read', secretHash: hash() })
        for (const atMs of [AT + 5, AT + 2]) {
          await tx.secrets.touch(secret.id, atMs)
          await tx.credentials.touch(credential.id, atMs)
        }
        return { secret, credential }
      })
      expect(touched.secret.usedAtMs).toBeNull()
      const { secrets, credentials } = stores.other.read
      expect(await secrets.list(accountId)).toEqual([{ ...touched.secret, usedAtMs: AT + 5 }])
      expect(await credentials.list(accountId)).toEqual([{ ...touched.credential, usedAtMs: AT + 5 }])
    })
  })
}
