import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Result } from '../../src/base/result.ts'
import { type Actor, cliActor, type Context } from '../../src/commands/context.ts'
import { clearBoundIps, listBoundIps } from '../../src/commands/tokens/boundAddresses.ts'
import { createToken } from '../../src/commands/tokens/createToken.ts'
import { deleteToken } from '../../src/commands/tokens/deleteToken.ts'
import { switchTokens } from '../../src/commands/tokens/switchTokens.ts'
import { revokeSelfSigned } from '../../src/commands/tokens/revokeSelfSigned.ts'
import { signToken } from '../../src/commands/tokens/signToken.ts'
import { updateToken } from '../../src/commands/tokens/updateToken.ts'
import type { TokenKind } from '../../src/core/tokens/types.ts'
import { overriding } from '../../src/store/nouns.ts'
import { type Store, StoreUnavailable, type Tx } from '../../src/store/store.ts'
import { makeToken, publish, startTestNode, type TestNode, tryToView } from '../support/testNode.ts'
import { readSources } from '../tidy/source.ts'

type Change = (ctx: Context, actor: Actor, id: number) => Promise<Result<unknown, unknown>>

const OFF = { kind: 'publish', isActive: false } as const

/** Every verb that changes a stored token, by the file that it is in. */
const VERBS: readonly [file: string, action: string, kind: TokenKind, change: Change][] = [
  ['deleteToken', 'publish_token.delete', 'publish', (ctx, actor, id) => deleteToken(ctx, actor, 'publish', id)],
  ['deleteToken', 'subscribe_token.delete', 'subscribe', (ctx, actor, id) => deleteToken(ctx, actor, 'subscribe', id)],
  ['updateToken', 'publish_token.update', 'publish', update('publish', { label: 'b' })],
  ['updateToken', 'subscribe_token.update', 'subscribe', update('subscribe', { isActive: false })],
  ['bindUsers', 'publish_token.update', 'publish', update('publish', { bindIpsOnUsage: 1 })],
  ['updateToken', 'subscribe_token.update', 'subscribe', update('subscribe', { refreshToken: true })],
  [
    'switchTokens',
    'publish_token.disable',
    'publish',
    (ctx, actor, id) => switchTokens(ctx, actor, OFF, { tokenIds: [id] }),
  ],
  [
    'switchTokens',
    'subscribe_token.disable',
    'subscribe',
    (ctx, actor, id) => switchTokens(ctx, actor, { ...OFF, kind: 'subscribe' }, { tokenIds: [id] }),
  ],
  [
    'boundAddresses',
    'publish_token.clear_bound_ips',
    'publish',
    (ctx, actor, id) => clearBoundIps(ctx, actor, 'publish', id),
  ],
  [
    'revokeSelfSigned',
    'subscribe_token.revoke',
    'subscribe',
    (ctx, actor, id) => revokeSelfSigned(ctx, actor, id, { jti: 'a' }),
  ],
]

function update(kind: TokenKind, body: object): Change {
  return (ctx, actor, id) => updateToken(ctx, actor, { kind, id }, body)
}

let at: TestNode
let actor: Actor
beforeAll(async () => {
  at = await startTestNode()
  actor = cliActor(at.accountId)
})
afterAll(() => at.close())

/** As `at.ctx`, with the calls of each transaction written down; `fails`: the transaction commits and then fails. */
function recorded({ fails = false } = {}) {
  const transactions: string[][] = []
  const transaction: Store['transaction'] = async (work) => {
    const done = await at.ctx.store.transaction((tx) => {
      const calls: string[] = []
      transactions.push(calls)
      return work(noting(tx, calls))
    })
    if (fails) throw new StoreUnavailable('the answer to the commit was lost')
    return done
  }
  const store: Store = Object.create(at.ctx.store, { transaction: { value: transaction } })
  return { ctx: { ...at.ctx, store }, transactions }
}

const noting = (tx: Tx, calls: string[]): Tx =>
  new Proxy(tx, {
    get: (_, table: keyof Tx) =>
      new Proxy(tx[table], {
        get(verbs, verb: string) {
          const value: unknown = Reflect.get(verbs, verb)
          if (typeof value === 'function') calls.push(`${table}.${verb}`)
          return value
        },
      }),
  })

const auditOf = async (id: number) =>
  (await at.ctx.store.read.audit.recent(at.accountId, 1000)).filter(({ subject }) => subject === String(id))

/** A token that memory holds. */
async function cachedToken(kind: TokenKind): Promise<number> {
  const { id, token } = await makeToken(at, kind, { bindIpsOnUsage: 2 })
  await at.ctx.cache.tokenByValue(token)
  expect(at.ctx.cache.peekTokenById(id)).not.toBe('unknown')
  return id
}

describe.each(VERBS)('%s: %s %s %#', (_file, action, kind, change) => {
  it('locks the row, changes it, informs other nodes and writes the audit row in one transaction', async () => {
    const id = await cachedToken(kind)
    const { ctx, transactions } = recorded()
    const { cursor } = await ctx.store.changesSince(null)
    const before = await auditOf(id)
    expect(await change(ctx, actor, id)).toMatchObject({ ok: true })
    expect(transactions.map((calls) => [calls[0], ...calls.slice(-2)])).toEqual([
      ['tokens.lock', 'changes.append', 'audit.append'],
    ])
    const { changes } = await ctx.store.changesSince(cursor)
    expect(changes).toEqual([{ kind: 'token', accountId: at.accountId, id, atMs: expect.any(Number) }])
    const [row, ...older] = await auditOf(id)
    expect(row).toMatchObject({ action, actor: { kind: 'cli' }, accountId: at.accountId })
    expect(older).toEqual(before)
  })

  it('lets this node forget the token, even if the answer to the commit is lost', async () => {
    const id = await cachedToken(kind)
    await change(at.ctx, actor, id)
    expect(at.ctx.cache.peekTokenById(id)).toBe('unknown')
    const other = await cachedToken(kind)
    await expect(change(recorded({ fails: true }).ctx, actor, other)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(at.ctx.cache.peekTokenById(other)).toBe('unknown')
  })

  it('changes nothing of another account', async () => {
    const id = await cachedToken(kind)
    const stored = await at.ctx.store.read.tokens.get(id)
    const before = await auditOf(id)
    await change(at.ctx, { ...actor, accountId: 'nobody' }, id)
    expect(await at.ctx.store.read.tokens.get(id)).toEqual(stored)
    expect(await auditOf(id)).toEqual(before)
  })
})

describe('a revocation of self-signed tokens', () => {
  const revoke = (ctx: Context, id: number, body: object) => revokeSelfSigned(ctx, actor, id, body)

  it('is taken back by no later one, whether that names a token or an earlier time', async () => {
    const { id } = await makeToken(at, 'subscribe')
    const before = async () => (await at.ctx.store.read.tokens.get(id))?.revokedBeforeMs
    await revoke(at.ctx, id, { jti: 'one' })
    expect(await before()).toBeNull()
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z']
    for (const body of [{ issuedBefore: late }, { issuedBefore: early }, { jti: 'two' }]) {
      await revoke(at.ctx, id, body)
      expect(await before()).toBe(Date.parse(late))
    }
    expect(await at.ctx.store.read.revocations.list(id)).toEqual(['one', 'two'])
  })

  it('is forgotten with the value that signed', async () => {
    const { id } = await makeToken(at, 'subscribe')
    await revoke(at.ctx, id, { jti: 'one' })
    await updateToken(at.ctx, actor, { kind: 'subscribe', id }, { label: 'b' })
    expect(await at.ctx.store.read.revocations.list(id)).toEqual(['one'])
    await updateToken(at.ctx, actor, { kind: 'subscribe', id }, { refreshToken: true })
    expect(await at.ctx.store.read.revocations.list(id)).toEqual([])
  })

  it('names one of 10,000 at most, and all before a time beyond that', async () => {
    const { id } = await makeToken(at, 'subscribe')
    /** As if so many were on record. */
    const withRevoked = (count: number): Context => {
      const counted = (tx: Tx) => overriding(tx.revocations, { count: () => Promise.resolve(count) })
      const transaction: Store['transaction'] = (work) =>
        at.ctx.store.transaction((tx) => work(overriding(tx, { revocations: counted(tx) })))
      return { ...at.ctx, store: Object.create(at.ctx.store, { transaction: { value: transaction } }) as Store }
    }
    expect(await revoke(withRevoked(9_999), id, { jti: 'last' })).toMatchObject({ ok: true })
    const refused = await revoke(withRevoked(10_000), id, { jti: 'more' })
    expect(refused).toMatchObject({ error: { data: { message: expect.stringContaining('10000 revoked jtis') } } })
    expect(await revoke(withRevoked(10_000), id, { issuedBefore: '2026-01-01T00:00:00Z' })).toMatchObject({ ok: true })
    expect(await at.ctx.store.read.revocations.list(id)).toEqual(['last'])
  })
})

describe('a change of a token', () => {
  const CHANGES = /\.(tokens\.(replace|delete)|bindings\.(clear|keepEarliest|bindFirst)|revocations\.(add|clear))\(/
  const sources = readSources(['src'], /\.ts$/).filter(({ path }) => !path.startsWith('src/store/'))

  it('is made only in files whose verbs are tried here', () => {
    const files = new Set(VERBS.map(([file]) => `src/commands/tokens/${file}.ts`))
    expect(sources.filter(({ text }) => CHANGES.test(text)).map(({ path }) => path)).toEqual([...files].sort())
  })

  it('has no transaction of its own', () => {
    const own = sources.filter(({ text }) => CHANGES.test(text) && /\.transaction\(/.test(text))
    expect(own.map(({ path }) => path)).toEqual([])
    const locking = sources.filter(({ text }) => text.includes('.tokens.lock('))
    // Targets are read with their keys, which a change would part.
    const reading = 'src/app/restream.ts'
    // Files are compared with the token in the transaction that then changes it by the verbs above.
    const comparing = 'src/commands/provisioning/tokens.ts'
    // The stream of a pull is compared with those of its token in the transaction that stores it.
    const covering = 'src/commands/pulls/pulls.ts'
    const changing = 'src/commands/tokens/changeToken.ts'
    expect(locking.map(({ path }) => path)).toEqual([reading, comparing, covering, changing])
  })

  it('that is none, because the token is switched off already, is not recorded', async () => {
    const id = await cachedToken('publish')
    await switchTokens(at.ctx, actor, OFF, { tokenIds: [id] })
    const before = await auditOf(id)
    const { ctx, transactions } = recorded()
    expect(await switchTokens(ctx, actor, OFF, { tokenIds: [id] })).toMatchObject({ value: { successfulTokens: [id] } })
    expect([transactions, await auditOf(id)]).toEqual([[['tokens.lock']], before])
  })
})

describe('a publish token', () => {
  it('gets no target in a network that is not allowed, at its making and later', async () => {
    const restream = [{ url: 'rtmp://10.0.0.1/live', key: 'a-key' }]
    const refused = { ok: false, error: { data: { errors: { 'restream[0].url': [expect.any(String)] } } } }
    const body = { streams: [{ streamName: 'a' }], label: 'a', restream }
    expect(await createToken(at.ctx, actor, 'publish', body)).toMatchObject(refused)
    const { id } = await makeToken(at, 'publish')
    expect(await updateToken(at.ctx, actor, { kind: 'publish', id }, { restream })).toMatchObject(refused)
  })

  it('secures the streams of its patterns from the answer on', async () => {
    const look = () => tryToView(at, { streamName: 'secured-1' })
    expect(await look()).toMatchObject({ status: 409 })
    await makeToken(at, 'publish', {
      streams: [{ streamName: 'secured-.*', isRegex: true }],
      subscribeRequiresAuth: true,
    })
    expect(await look()).toMatchObject({ status: 401 })
  })
})

describe('a token', () => {
  const none = { ok: false, error: { code: 'not_found' } }

  it('signs for its own account, until the millisecond of its expiry', async () => {
    const { id } = await makeToken(at, 'subscribe', { expires: 60 })
    const expiresAtMs = (await at.ctx.store.read.tokens.get(id))?.expiresAtMs ?? 0
    const sign = (by: Actor, nowMs: number) => {
      const clock = { ...at.ctx.clock, now: () => nowMs }
      return signToken({ ...at.ctx, clock }, by, id, { streamName: 'show', expiresInSeconds: 60 })
    }
    expect(await sign(actor, expiresAtMs - 1)).toMatchObject({ ok: true })
    expect(await sign(actor, expiresAtMs)).toMatchObject({ ok: false, error: { code: 'conflict' } })
    expect(await sign({ ...actor, accountId: 'nobody' }, expiresAtMs - 1)).toMatchObject(none)
  })

  it('shows its own account the addresses with their last use, and no other account', async () => {
    const { id, token } = await makeToken(at, 'publish', { bindIpsOnUsage: 1 })
    const { session } = await publish(at, { presented: token })
    const list = (accountId: string) => listBoundIps(at.ctx, accountId, 'publish', id)
    const usedAtMs = session.startedAtMs + 3_600_000
    at.ctx.lastUses.note(id, session.address, usedAtMs)
    const lastUsedOn = new Date(usedAtMs).toISOString()
    expect(await list(at.accountId)).toMatchObject({ value: [{ address: session.address, lastUsedOn }] })
    expect(await list('nobody')).toMatchObject(none)
  })

  it('binds none of those whom a new value ends', async () => {
    const { id, token } = await makeToken(at, 'publish')
    await publish(at, { presented: token, streamName: 'ended' })
    await updateToken(at.ctx, actor, { kind: 'publish', id }, { refreshToken: true, bindIpsOnUsage: 1 })
    expect(await at.ctx.store.read.bindings.list(id)).toEqual([])
  })
})
