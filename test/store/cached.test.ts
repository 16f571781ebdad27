import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { sha256 } from '../../src/base/crypto.ts'
import { AccessCache } from '../../src/store/cached.ts'
import { openStore } from '../../src/store/open.ts'
import { type Store, StoreUnavailable, type StoredToken } from '../../src/store/store.ts'
import { insert, quiet } from '../conformance/store.samples.ts'
import { silentLog } from '../support/log.ts'

const ACCOUNT = 'abc123'
const VALUE = 'a'.repeat(64)
const SECRET = 'secret'
const STALE_MS = 60_000
const OPTIONS = { openValue: () => VALUE, maxEntries: 100, staleMs: () => STALE_MS }

let dir: string
/** The database with which each test begins: to migrate another one takes longer than a test. */
let template: string
let clock: ManualClock
let store: Store
/** Another process on the same file. */
let other: Store
let cache: AccessCache
let token: StoredToken
/** What a read of the changes waits for when it has read. */
let held: Promise<void> | null
/** How many times the changes have been read. */
let reads: number
/** What the store calls when another node may have changed something. */
let ring: (what?: 'changed' | 'second') => void

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-cache-'))
  template = join(dir, 'template.db')
  const first = await openStore({ url: template, log: quiet })
  await first.transaction((tx) => tx.accounts.insert({ id: ACCOUNT, name: 'a', createdAtMs: 1 }))
  token = await insert(first, { accountId: ACCOUNT, valueHash: sha256(VALUE) })
  const secret = { accountId: ACCOUNT, name: 's', hint: 'cret', createdAtMs: 1, refreshedAtMs: null }
  await first.transaction((tx) => tx.secrets.insert({ ...secret, hash: sha256(SECRET) }))
  await first.close()
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

beforeEach(async ({ task }) => {
  clock = new ManualClock()
  held = null
  reads = 0
  const url = join(dir, `${task.id}.db`)
  copyFileSync(template, url)
  store = await openStore({ url, log: quiet })
  other = await openStore({ url, log: quiet })
  cache = new AccessCache({ ...OPTIONS, store: watched(store), clock, log: silentLog })
  await cache.start()
})
afterEach(async () => {
  await cache.stop()
  await store.close()
  await other.close()
})

const watched = (real: Store): Store => ({
  read: real.read,
  transaction: (work) => real.transaction(work),
  watch(listener) {
    ring = (what = 'changed') => listener(what)
    return () => undefined
  },
  changedRemotely: () => real.changedRemotely(),
  async changesSince(cursor) {
    const found = await real.changesSince(cursor)
    reads += 1
    await held
    return found
  },
  due: (query) => real.due(query),
  diskSpace: () => real.diskSpace(),
  ping: () => real.ping(),
  time: () => real.time(),
  connections: () => real.connections(),
  tableSizes: () => real.tableSizes(),
  checkPages: () => real.checkPages(),
  close: () => real.close(),
})

const disable = (at: Store): Promise<unknown> =>
  at.transaction(async (tx) => {
    await tx.tokens.lock(ACCOUNT, 'publish', token.id)
    await tx.tokens.replace({ ...token, isActive: false }, token)
    await tx.changes.append({ kind: 'token', accountId: ACCOUNT, id: token.id, atMs: 1 })
  })

const isActive = async (): Promise<boolean | undefined> => (await cache.tokenByValue(VALUE))?.snapshot.isActive

test('a peek answers what was looked up before, and nothing else', async () => {
  expect([cache.peekTokenByValue(VALUE), cache.peekTokenById(token.id), cache.peekSecretByValue(SECRET)]).toEqual([
    'unknown',
    'unknown',
    'unknown',
  ])
  const found = await cache.tokenByValue(VALUE)
  const secret = await cache.secretByValue(SECRET)
  expect(found?.snapshot.id).toBe(token.id)
  expect(secret?.accountId).toBe(ACCOUNT)
  expect(cache.peekTokenByValue(VALUE)).toBe(found)
  expect(cache.peekTokenById(token.id)).toBe(found)
  expect(cache.peekSecretByValue(SECRET)).toBe(secret)
})

test('what was read since a start whose first read of the changes failed is forgotten with the next one', async () => {
  let isAway = true
  const late = new AccessCache({
    store: {
      ...watched(store),
      changedRemotely: () => false,
      changesSince: (cursor) => (isAway ? Promise.reject(new StoreUnavailable('away')) : store.changesSince(cursor)),
    },
    clock,
    log: silentLog,
    openValue: () => VALUE,
    maxEntries: 100,
    staleMs: () => STALE_MS,
  })
  await late.start()
  isAway = false
  expect((await late.tokenByValue(VALUE))?.snapshot.isActive).toBe(true)
  await disable(other)
  // After no position there is nothing that the look of a second could find.
  await late.heard(false, clock.monotonic())
  expect((await late.tokenByValue(VALUE))?.snapshot.isActive).toBe(false)
  await late.stop()
})

test('what does not exist is asked of the store each time', async () => {
  expect(await cache.tokenByValue('b'.repeat(64))).toBeUndefined()
  expect(await cache.tokenById(999)).toBeUndefined()
  expect(await cache.secretByValue('nobody')).toBeUndefined()
  expect(cache.peekTokenByValue('b'.repeat(64))).toBe('unknown')
  expect(cache.peekTokenById(999)).toBe('unknown')
  expect(cache.peekSecretByValue('nobody')).toBe('unknown')
})

test('the old value of a token is unknown from the moment on at which it is forgotten', async () => {
  await cache.tokenByValue(VALUE)
  await store.transaction(async (tx) => {
    await tx.tokens.lock(ACCOUNT, 'publish', token.id)
    await tx.tokens.replace({ ...token, valueHash: sha256('c'.repeat(64)) }, token)
  })
  cache.forgetToken(token.id)
  await cache.tokenById(token.id)
  expect(cache.peekTokenByValue(VALUE)).toBe('unknown')
  expect(await cache.tokenByValue(VALUE)).toBeUndefined()
})

test('a change of another process that a peek notices is not lost for the look-up after it', async () => {
  expect(await isActive()).toBe(true)
  await disable(other)
  clock.advance(10)
  // The store answers each change once: this peek has taken the answer.
  expect(cache.peekTokenByValue(VALUE)).toBe('unknown')
  expect(cache.peekTokenByValue(VALUE)).toBe('unknown')
  expect(await isActive()).toBe(false)
  const after = cache.peekTokenByValue(VALUE)
  expect(after === 'unknown' ? after : after.snapshot.isActive).toBe(false)
})

/** A read of the changes that has its answer, and waits until it is let go. */
async function readUnderWay(): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  held = promise
  const before = reads
  ring()
  await vi.waitUntil(() => reads > before, 30_000)
  return () => {
    held = null
    resolve()
  }
}

test('a read of the changes that began before a change does not count as having read it', async () => {
  expect(await isActive()).toBe(true)
  const release = await readUnderWay()
  await disable(other)
  clock.advance(10)
  const found = isActive()
  release()
  expect(await found).toBe(false)
})

test('a notification that comes during a read of the changes causes another read, one for any number of them', async () => {
  const changed: unknown[] = []
  cache.onChange((what) => changed.push(what))
  const release = await readUnderWay()
  const before = reads
  await disable(other)
  for (let n = 0; n < 5; n++) ring()
  release()
  await cache.stop()
  expect(changed).toMatchObject([{ kind: 'token', id: token.id }])
  expect(reads - before).toBe(1)
})

test('the store is silent from its last question on that it answered, however late the answer came', async () => {
  const release = await readUnderWay()
  clock.advance(5000)
  release()
  await cache.stop()
  expect(cache.silentMs()).toBe(5000)
  await cache.heard(false, clock.monotonic() - 1000)
  expect(cache.silentMs()).toBe(1000)
  await cache.heard(false, clock.monotonic() - 2000)
  expect(cache.silentMs()).toBe(1000)
})

test('when the store has been silent for too long, nothing is answered from memory', async () => {
  await cache.tokenByValue(VALUE)
  await cache.secretByValue(SECRET)
  clock.advance(STALE_MS)
  expect(cache.peekTokenById(token.id)).not.toBe('unknown')
  clock.advance(1)
  expect([cache.peekTokenByValue(VALUE), cache.peekTokenById(token.id), cache.peekSecretByValue(SECRET)]).toEqual([
    'unknown',
    'unknown',
    'unknown',
  ])
  await expect(cache.tokenByValue(VALUE)).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(cache.tokenById(token.id)).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(cache.secretByValue(SECRET)).rejects.toBeInstanceOf(StoreUnavailable)
})

test('a silence is logged with its reason when it begins, when clients are refused, and when it is over', async () => {
  const lines: [string, object, string][] = []
  const to = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message])
  const log = { ...silentLog, info: to('info'), warn: to('warn'), error: to('error') }
  const logged = new AccessCache({ ...OPTIONS, store, clock, log })
  await logged.start()
  const away = new StoreUnavailable('away')
  for (const ms of [1000, 1000, STALE_MS, 1000]) {
    clock.advance(ms)
    logged.unheard(away)
  }
  for (let second = 0; second < 2; second++) await logged.heard(false, clock.monotonic())
  expect(() => logged.unheard(new RangeError('ours'))).toThrow(RangeError)
  expect(lines).toEqual([
    ['warn', { silentMs: 1000, err: away }, 'the store is silent; answering from memory'],
    [
      'error',
      { silentMs: STALE_MS + 2000, err: away },
      expect.stringContaining('every client is refused until it answers'),
    ],
    ['info', { silentMs: STALE_MS + 3000 }, 'the store answers again'],
  ])
  await logged.stop()
})

test('a token is compiled with what its account says, again after each change of another process', async () => {
  const allowed = async () => (await cache.tokenByValue(VALUE))?.snapshot.allowedCountries
  expect(await allowed()).toEqual(new Set())
  const heard: unknown[] = []
  cache.onChange((changed) => heard.push(changed))
  await other.transaction(async (tx) => {
    const before = await tx.accounts.lockDefaults(ACCOUNT)
    if (before) await tx.accounts.setDefaults(ACCOUNT, { ...before, allowedCountries: ['NZ'], version: 1 })
    await tx.changes.append({ kind: 'account', accountId: ACCOUNT, id: 0, atMs: 1 })
  })
  clock.advance(10)
  expect(await allowed()).toEqual(new Set(['NZ']))
  expect((await cache.accountDefaults(ACCOUNT)).version).toBe(1)
  expect((await cache.accountDefaults('absent')).version).toBe(0)
  expect(heard).toEqual([{ kind: 'account', id: ACCOUNT, atMs: 1 }])
})

test('a token is compiled with its bound addresses, or with the children that were revoked', async () => {
  const binding = await insert(store, { accountId: ACCOUNT, bindIpsOnUsage: 1 })
  const parent = await insert(store, { accountId: ACCOUNT, kind: 'subscribe' })
  await store.transaction(async (tx) => {
    await tx.bindings.bindFirst(binding.id, ['192.0.2.1'], 1)
    await tx.revocations.add(parent.id, 'child', 1)
  })
  const snapshots = [await cache.tokenById(binding.id), await cache.tokenById(parent.id)].map((one) => one?.snapshot)
  expect(snapshots).toMatchObject([
    { boundAddresses: new Set(['192.0.2.1']), revokedJtis: new Set() },
    { boundAddresses: new Set(), revokedJtis: new Set(['child']) },
  ])
})

type Reads = Record<string, (...asked: unknown[]) => Promise<unknown>>

/** The next read of `verb` has its answer before `meanwhile` happens, and gives it afterwards. */
function answeredBefore(reads: object, verb: string, meanwhile: () => unknown): void {
  const read = (reads as Reads)[verb]?.bind(reads) ?? expect.fail(verb)
  vi.spyOn(reads as Reads, verb).mockImplementationOnce(async (...asked) => {
    const found = await read(...asked)
    await meanwhile()
    return found
  })
}

test('a token that is changed while it is read is read again, and never cached as it was', async () => {
  answeredBefore(store.read.tokens, 'findByHash', async () => {
    await disable(store)
    cache.forgetToken(token.id)
  })
  expect(await isActive()).toBe(false)
  const found = cache.peekTokenById(token.id)
  expect(found === 'unknown' ? found : found.snapshot.isActive).toBe(false)
})

test('a token that changes all the time is answered after three reads, and not cached', async () => {
  const ends: number[] = []
  const find = vi.spyOn(store.read.tokens, 'get')
  for (let n = 0; n < 5; n++) {
    find.mockImplementationOnce(async () => {
      cache.forgetToken(token.id)
      ends.push(n)
      return token
    })
  }
  expect((await cache.tokenById(token.id))?.snapshot.id).toBe(token.id)
  expect([ends, cache.peekTokenById(token.id)]).toEqual([[0, 1, 2], 'unknown'])
})

test('a secret, or what an account says, that is changed while it is read is not cached as it was', async () => {
  answeredBefore(store.read.secrets, 'findByHash', () => cache.forgetSecrets())
  expect((await cache.secretByValue(SECRET))?.accountId).toBe(ACCOUNT)
  expect(cache.peekSecretByValue(SECRET)).toBe('unknown')
  answeredBefore(store.read.accounts, 'defaults', () => cache.forgetAccount(ACCOUNT))
  await cache.accountDefaults(ACCOUNT)
  const asked = vi.spyOn(store.read.accounts, 'defaults').mockClear()
  await cache.accountDefaults(ACCOUNT)
  await cache.accountDefaults(ACCOUNT)
  expect(asked).toHaveBeenCalledTimes(1)
})

test('a secret that another process deletes is unknown, and who watches hears of sessions to end and of other feeds', async () => {
  await cache.secretByValue(SECRET)
  const heard: unknown[] = []
  cache.onChange((what) => heard.push(what))
  const change = { accountId: ACCOUNT, id: 0, atMs: 1 }
  await other.transaction(async (tx) => {
    await tx.changes.append({ ...change, kind: 'secret' })
    await tx.changes.append({ ...change, kind: 'kick' })
    await tx.changes.append({ ...change, kind: 'feed', streamName: 'show' })
    await tx.changes.append({ ...change, kind: 'recording' })
  })
  await cache.heard(true, clock.monotonic())
  expect(cache.peekSecretByValue(SECRET)).toBe('unknown')
  expect(heard).toEqual([
    { kind: 'kick', atMs: 1 },
    { kind: 'feed', stream: { accountId: ACCOUNT, streamName: 'show' } },
    { kind: 'recording', stream: null },
  ])
})

test('when the store does not know what changed since, nothing is answered from memory, and who watches hears it', async () => {
  await cache.tokenByValue(VALUE)
  const [heard, forgotten] = [[] as unknown[], vi.spyOn(cache.secured, 'forget')]
  const unwatch = cache.onChange((what) => heard.push(what))
  vi.spyOn(store, 'changesSince').mockResolvedValueOnce({ changes: [], cursor: 'new', reset: true })
  // What was asked before is not known after either.
  answeredBefore(store.read.secrets, 'findByHash', () => cache.heard(true, clock.monotonic()))
  await cache.secretByValue(SECRET)
  const asked = vi.spyOn(store.read.accounts, 'defaults').mockClear()
  await cache.accountDefaults(ACCOUNT)
  expect(asked).toHaveBeenCalledTimes(1)
  expect([cache.peekTokenByValue(VALUE), cache.peekTokenById(token.id), cache.peekSecretByValue(SECRET)]).toEqual([
    'unknown',
    'unknown',
    'unknown',
  ])
  unwatch()
  cache.forgetToken(token.id)
  expect([heard, cache.position]).toEqual([[{ kind: 'all' }], 'new'])
  expect(forgotten).toHaveBeenCalledTimes(2)
})

test('the version of the file is looked at every five milliseconds at most, and changes are not read with every second', () => {
  const looks = vi.spyOn(store, 'changedRemotely').mockClear()
  for (const ms of [0, 4, 1, 5]) {
    clock.advance(ms)
    cache.peekTokenById(token.id)
  }
  expect(looks).toHaveBeenCalledTimes(3)
  const read = vi.spyOn(store, 'changesSince').mockClear()
  ring('second')
  expect(read).not.toHaveBeenCalled()
})
