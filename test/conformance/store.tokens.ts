import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mapFlags, TOKEN_FLAGS } from '../../src/core/tokens/flags.ts'
import { Conflict } from '../../src/store/store.ts'
import { insert, newAccount, newToken } from './store.samples.ts'
import type { Stores } from './store.ts'

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((s) => !s.includes('\0'))
const texts = fc.array(text, { maxLength: 3 })
const time = fc.integer({ min: 0, max: 4_102_444_800_000 })

const anyToken = fc.record({
  kind: fc.constantFrom('publish' as const, 'subscribe' as const),
  label: text,
  streams: fc.array(fc.record({ streamName: text, isRegex: fc.boolean() }), { minLength: 1, maxLength: 4 }),
  isActive: fc.boolean(),
  allowedOrigins: texts,
  allowedIpAddresses: texts,
  bindIpsOnUsage: fc.nat(2_147_483_647),
  allowedCountries: texts,
  deniedCountries: texts,
  ...mapFlags(TOKEN_FLAGS, () => fc.boolean()),
  hlsRenditions: fc.array(fc.record({ height: fc.nat(1080), bitrate: fc.nat(10_000_000) }), { maxLength: 4 }),
  hlsCodecs: fc.constantFrom('h264' as const, 'source' as const),
  restream: fc.array(
    fc.record({ url: text, label: text, enabled: fc.boolean(), transcode: fc.boolean(), shownKey: text }),
    { maxLength: 4 },
  ),
  priority: fc.option(fc.integer(), { nil: null }),
  trackingId: fc.option(text, { nil: null }),
  maxViewers: fc.nat(1_000_000),
  recordingDays: fc.option(fc.nat(365), { nil: null }),
  addedAtMs: time,
  expiresAtMs: fc.option(time, { nil: null }),
  revokedBeforeMs: fc.option(time, { nil: null }),
  valueHash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  valueSealed: fc.uint8Array({ minLength: 1, maxLength: 80 }),
})

export function tokensSuite(stores: Stores): void {
  const accountId = newAccount()
  const same = { accountId, kind: 'publish' as const }

  describe('tokens', () => {
    test('every value of every field is read as it was stored', async () => {
      await fc.assert(
        fc.asyncProperty(anyToken, async (token) => {
          const stored = await insert(stores.store, { ...token, accountId: newAccount() })
          expect(stored.version).toBe(1)
          expect(await stores.other.read.tokens.get(stored.id)).toEqual(stored)
          expect((await stores.other.read.tokens.findByHash(token.valueHash))?.id).toBe(stored.id)
        }),
        { numRuns: 25 },
      )
    })

    test('bytes are read as plain Uint8Array from both databases', async () => {
      const { id } = await insert(stores.store, same)
      const token = await stores.store.read.tokens.get(id)
      expect(token?.valueHash.constructor).toBe(Uint8Array)
      expect(token?.valueSealed).toEqual(new Uint8Array([1, 2, 3]))
    })

    test('a chosen id is kept, and later tokens get larger ones', async () => {
      const put = (id: number) => stores.store.transaction((tx) => tx.tokens.insert(newToken(same), id))
      const first = await insert(stores.store, same)
      const chosen = first.id + 1000
      expect(await put(chosen)).toMatchObject({ id: chosen, version: 1 })
      expect(await put(chosen - 1)).toMatchObject({ id: chosen - 1 })
      const [here, there] = [await insert(stores.store, same), await insert(stores.other, same)]
      expect([here.id > chosen, there.id > here.id]).toEqual([true, true])
      await expect(put(chosen)).rejects.toThrow('A token with this id exists already')
    })

    test('the same value twice is a conflict', async () => {
      const token = newToken(same)
      await stores.store.transaction((tx) => tx.tokens.insert(token))
      const again = stores.store.transaction((tx) => tx.tokens.insert(token))
      await expect(again).rejects.toBeInstanceOf(Conflict)
      await expect(again).rejects.toThrow('A token with this value exists already')
    })

    test('a token is locked only under its own account and kind', async () => {
      const { id } = await insert(stores.store, same)
      const lock = (account: string, kind: 'publish' | 'subscribe') =>
        stores.store.transaction((tx) => tx.tokens.lock(account, kind, id))
      expect((await lock(accountId, 'publish'))?.id).toBe(id)
      expect(await lock(accountId, 'subscribe')).toBeUndefined()
      expect(await lock(newAccount(), 'publish')).toBeUndefined()
    })

    test('replace writes the whole row and raises the version', async () => {
      const token = await insert(stores.store, same)
      const streams = [{ streamName: 'other', isRegex: false }]
      const next = await stores.store.transaction((tx) => tx.tokens.replace({ ...token, label: 'new', streams }, token))
      expect(next).toEqual({ ...token, label: 'new', streams, version: 2 })
      expect(await stores.store.read.tokens.get(token.id)).toEqual(next)
      const names = await stores.store.read.tokens.usable(accountId, 0, 'other')
      expect(names.some((found) => found.id === token.id)).toBe(true)
    })

    test('replace of an outdated version is refused', async () => {
      const token = await insert(stores.store, same)
      await stores.store.transaction((tx) => tx.tokens.replace(token, token))
      await expect(stores.store.transaction((tx) => tx.tokens.replace(token, token))).rejects.toThrow('was changed')
    })

    test('concurrent changes through two stores are serialized', async () => {
      const { id } = await insert(stores.store, { ...same, bindIpsOnUsage: 0 })
      const raise = (store: Stores['store']) =>
        store.transaction(async (tx) => {
          const token = await tx.tokens.lock(accountId, 'publish', id)
          return tx.tokens.replace({ ...token!, bindIpsOnUsage: token!.bindIpsOnUsage + 1 }, token!)
        })
      await Promise.all(Array.from({ length: 20 }, (_, n) => raise(n % 2 ? stores.store : stores.other)))
      expect(await stores.store.read.tokens.get(id)).toMatchObject({ bindIpsOnUsage: 20, version: 21 })
    })

    test('delete also deletes streams, bindings and revocations, and ids are not reused', async () => {
      const token = await insert(stores.store, same)
      await stores.store.transaction(async (tx) => {
        await tx.revocations.add(token.id, 'jti', 1)
        await tx.bindings.bind({ tokenId: token.id, version: 1, address: '192.0.2.1', limit: 1, atMs: 1 })
        await tx.tokens.delete(token)
      })
      expect(await stores.store.read.tokens.get(token.id)).toBeUndefined()
      expect(await stores.store.read.bindings.list(token.id)).toEqual([])
      expect(await stores.store.read.revocations.list(token.id)).toEqual([])
      expect((await insert(stores.store, same)).id).toBeGreaterThan(token.id)
    })

    test('a token with a thousand streams is stored and found by the last of them', async () => {
      const account = newAccount()
      const streams = Array.from({ length: 1000 }, (_, n) => ({ streamName: `s${n}`, isRegex: false }))
      const { id } = await insert(stores.store, { accountId: account, streams })
      expect((await stores.store.read.tokens.get(id))?.streams).toEqual(streams)
      expect(await stores.store.read.tokens.usable(account, 0, 's999')).toEqual([
        { id, secured: false, exact: true, patterns: [] },
      ])
    })
  })

  describe('usable tokens', () => {
    test('only active publish tokens that have not expired count, at the very millisecond', async () => {
      const account = newAccount()
      const make = (over: object) => insert(stores.store, { accountId: account, ...over })
      const open = await make({ expiresAtMs: null })
      const later = await make({ expiresAtMs: 1_001, subscribeRequiresAuth: true })
      await make({ expiresAtMs: 1_000 })
      await make({ isActive: false })
      await make({ kind: 'subscribe' })
      const expected = [
        { id: open.id, secured: false, exact: true, patterns: [] },
        { id: later.id, secured: true, exact: true, patterns: [] },
      ]
      expect(await stores.store.read.tokens.usable(account, 1_000, 'stage')).toEqual(expected)
    })

    test('whose viewers need tokens say so by name, and by their patterns up to a limit', async () => {
      const account = newAccount()
      const make = (streamName: string, over: object = {}) =>
        insert(stores.store, {
          accountId: account,
          subscribeRequiresAuth: true,
          streams: [{ streamName: streamName.replace('~', ''), isRegex: streamName.startsWith('~') }],
          ...over,
        })
      for (const name of ['stage', '~cam-.*', '~mic-.*']) await make(name)
      for (const name of ['open', '~open-.*']) await make(name, { subscribeRequiresAuth: false })
      for (const over of [{ isActive: false }, { expiresAtMs: 1 }]) await make('~gone-.*', over)
      const { tokens } = stores.other.read
      const named = ['stage', 'Stage', 'open', 'cam-.*', 'cam-1'].map((name) => tokens.isNameSecured(account, 1, name))
      expect(await Promise.all(named)).toEqual([true, false, false, false, false])
      expect((await tokens.securedPatterns(account, 1, 9)).toSorted()).toEqual(['cam-.*', 'mic-.*'])
      expect(await tokens.securedPatterns(account, 1, 1)).toHaveLength(1)
    })

    test('with a name: those that name it exactly (case counts), and all that have patterns', async () => {
      const account = newAccount()
      const make = (...names: string[]) =>
        insert(stores.store, {
          accountId: account,
          streams: names.map((name) => ({ streamName: name.replace('~', ''), isRegex: name.startsWith('~') })),
        })
      const both = await make('stage', '~cam-.*', '~mic-.*')
      const pattern = await make('~.*')
      await make('Stage')
      await make('stage2')
      expect(await stores.store.read.tokens.usable(account, 0, 'stage')).toEqual([
        { id: both.id, secured: false, exact: true, patterns: ['cam-.*', 'mic-.*'] },
        { id: pattern.id, secured: false, exact: false, patterns: ['.*'] },
      ])
    })
  })

  describe('keys of targets', () => {
    test('are read in their order, replaced together, and deleted with their token', async () => {
      const { id, ...token } = await insert(stores.store, same)
      const other = await insert(stores.store, same)
      const [a, b] = [Uint8Array.of(1, 2), Uint8Array.of(3)]
      const keys = () => stores.other.read.restreamKeys.list(id)
      await stores.store.transaction(async (tx) => {
        await tx.restreamKeys.replace(other.id, [b])
        await tx.restreamKeys.replace(id, [b, a, b])
      })
      expect(await keys()).toEqual([b, a, b])
      await stores.store.transaction((tx) => tx.restreamKeys.replace(id, [a]))
      expect(await keys()).toEqual([a])
      await stores.store.transaction((tx) => tx.tokens.delete({ ...token, id }))
      expect([await keys(), await stores.other.read.restreamKeys.list(other.id)]).toEqual([[], [b]])
    })
  })

  describe('revocations', () => {
    test('are idempotent, counted, listed in their order, and cleared', async () => {
      const { id } = await insert(stores.store, same)
      await stores.store.transaction(async (tx) => {
        await tx.revocations.add(id, 'b', 1)
        await tx.revocations.add(id, 'a', 2)
        await tx.revocations.add(id, 'b', 3)
        expect(await tx.revocations.count(id)).toBe(2)
      })
      expect(await stores.store.read.revocations.list(id)).toEqual(['b', 'a'])
      await stores.store.transaction((tx) => tx.revocations.clear(id))
      expect(await stores.store.read.revocations.list(id)).toEqual([])
    })
  })
}
