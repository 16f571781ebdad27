import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Conflict } from '../../src/store/store.ts'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const hash = () => new Uint8Array(randomBytes(32))

export function peopleSuite(stores: Stores): void {
  describe('accounts, secrets, credentials and users', () => {
    test('an account is found by its id and listed by creation', async () => {
      const [first, second] = [newAccount(), newAccount()]
      await stores.store.transaction(async (tx) => {
        await tx.accounts.insert({ id: second, name: 'Second', createdAtMs: 2 })
        await tx.accounts.insert({ id: first, name: 'First', createdAtMs: 1 })
        expect((await tx.accounts.list()).map((account) => account.id)).toContain(second)
      })
      expect(await stores.other.read.accounts.get(first)).toEqual({ id: first, name: 'First', createdAtMs: 1 })
      const ids = (await stores.store.read.accounts.list()).map((account) => account.id)
      expect(ids.indexOf(first)).toBeLessThan(ids.indexOf(second))
      expect(await stores.store.read.accounts.get('absent')).toBeUndefined()
    })

    test('an account has the defaults that were set last, and none before', async () => {
      const [id, other] = [newAccount(), newAccount()]
      const insert = (one: string) =>
        stores.store.transaction((tx) => tx.accounts.insert({ id: one, name: 'x', createdAtMs: 1 }))
      await Promise.all([insert(id), insert(other)])
      const none = {
        defaultCluster: 'auto',
        allowedCountries: [],
        deniedCountries: [],
        geoCascade: null,
        recordingDays: null,
        logAdmissions: false,
        version: 0,
      }
      expect(await stores.other.read.accounts.defaults(id)).toEqual(none)
      const set = {
        allowedCountries: ['DE', 'NL'],
        deniedCountries: [],
        defaultCluster: 'north',
        geoCascade: ['all'],
        recordingDays: 30,
        logAdmissions: true,
        version: 1,
      }
      await stores.store.transaction(async (tx) => {
        expect(await tx.accounts.lockDefaults(id)).toEqual(none)
        expect(await tx.accounts.lockDefaults('absent')).toBeUndefined()
        await tx.accounts.setDefaults(id, set)
      })
      expect(await stores.other.read.accounts.defaults(id)).toEqual(set)
      expect(await stores.other.read.accounts.defaults(other)).toEqual(none)
      expect(await stores.other.read.accounts.get(id)).toEqual({ id, name: 'x', createdAtMs: 1 })
      await stores.store.transaction((tx) => tx.accounts.setDefaults(id, none))
      expect(await stores.other.read.accounts.defaults(id)).toEqual(none)
      expect(await stores.store.read.accounts.defaults('absent')).toBeUndefined()
    })

    test('a second account with the same id is a conflict', async () => {
      const id = newAccount()
      const insertOne = () => stores.store.transaction((tx) => tx.accounts.insert({ id, name: 'x', createdAtMs: 1 }))
      await insertOne()
      await expect(insertOne()).rejects.toThrow('An account with this id exists already')
    })

    test('a secret is found by its hash until it is replaced, and by the new one until it is deleted', async () => {
      const accountId = newAccount()
      const [before, after] = [hash(), hash()]
      const values = { accountId, name: 'main', hint: 'abcd', createdAtMs: 5, refreshedAtMs: null }
      const secret = await stores.store.transaction((tx) => tx.secrets.insert({ ...values, hash: before }))
      expect(secret).toEqual({ ...values, id: secret.id, usedAtMs: null })
      expect(await stores.store.read.secrets.findByHash(before)).toEqual(secret)

      await stores.store.transaction((tx) => tx.secrets.replace(secret.id, after, 'wxyz', 9))
      expect(await stores.store.read.secrets.findByHash(before)).toBeUndefined()
      const replaced = { ...secret, hint: 'wxyz', refreshedAtMs: 9 }
      expect(await stores.store.read.secrets.findByHash(after)).toEqual(replaced)
      expect(await stores.store.transaction((tx) => tx.secrets.lock(accountId, secret.id))).toEqual(replaced)
      expect(await stores.store.transaction((tx) => tx.secrets.lock(newAccount(), secret.id))).toBeUndefined()

      await stores.store.transaction((tx) => tx.secrets.delete(secret.id))
      expect(await stores.store.read.secrets.list(accountId)).toEqual([])
    })

    test('two secrets of one account cannot share a name, those of two accounts can', async () => {
      const insertNamed = (accountId: string) =>
        stores.store.transaction((tx) =>
          tx.secrets.insert({
            accountId,
            name: 'main',
            hint: 'abcd',
            createdAtMs: 5,
            refreshedAtMs: null,
            hash: hash(),
          }),
        )
      const accountId = newAccount()
      await insertNamed(accountId)
      await insertNamed(newAccount())
      const error = await insertNamed(accountId).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Conflict)
      expect((error as Conflict).what).toBe('A secret with this name')
    })

    test('a credential is found by its key, listed, and gone when deleted', async () => {
      const accountId = newAccount()
      const secretHash = hash()
      const values = { accountId, name: 'ci', key: `k${accountId}`, scope: 'read' as const, createdAtMs: 5 }
      const credential = await stores.store.transaction((tx) => tx.credentials.insert({ ...values, secretHash }))
      expect(await stores.other.read.credentials.findByKey(values.key)).toEqual({ ...credential, secretHash })
      expect(await stores.store.read.credentials.list(accountId)).toEqual([credential])
      const again = stores.store.transaction((tx) => tx.credentials.insert({ ...values, secretHash: hash() }))
      await expect(again).rejects.toThrow('A credential with this key')
      expect(await stores.store.transaction((tx) => tx.credentials.get(accountId, credential.id))).toEqual(credential)
      await stores.store.transaction((tx) => tx.credentials.delete(credential.id))
      expect(await stores.store.read.credentials.findByKey(values.key)).toBeUndefined()
    })

    test('a user is found by the e-mail address, which is unique', async () => {
      const accountId = newAccount()
      const values = {
        accountId,
        email: `${accountId}@example.org`,
        passwordHash: '$scrypt$…',
        role: 'viewer' as const,
        createdAtMs: 5,
      }
      const user = await stores.store.transaction((tx) => tx.users.insert(values))
      expect(await stores.store.read.users.findByEmail(values.email)).toEqual({ ...values, id: user.id })
      const again = stores.other.transaction((tx) => tx.users.insert(values))
      await expect(again).rejects.toThrow('A user with this e-mail address exists already')
    })
  })
}
