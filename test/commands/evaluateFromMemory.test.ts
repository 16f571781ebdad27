import { afterAll, beforeAll, expect, it } from 'vitest'
import { authorize, evaluateFromMemory } from '../../src/commands/access/authorize.ts'
import { checkAccess, checkFromMemory } from '../../src/commands/access/checkAccess.ts'
import type { Context } from '../../src/commands/context.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { attemptOf, makeToken, publish, startTestNode, type TestNode, type Use } from '../support/testNode.ts'

let at: TestNode
beforeAll(async () => {
  at = await startTestNode({ flags: { access: { log: { admissionRate: 1 } } } })
})
afterAll(() => at.close())

const fromMemory = (use: Use, ctx = at.ctx) => evaluateFromMemory(ctx, attemptOf(use), ctx.clock.now())

/** The same, with the store's help; what it looks up is in memory afterwards. */
const fromStore = async (use: Use) => {
  const { request, decision } = await authorize(at.ctx, attemptOf(use))
  return { request, decision }
}

it('a token has to be looked up once; then memory decides as the store does', async () => {
  const { token } = await makeToken(at, 'publish')
  for (const use of [{ presented: token }, { presented: token, streamName: '' }]) {
    const first = fromMemory(use)
    const asked = await fromStore(use)
    expect([first === null, asked.decision.allowed]).toEqual([
      use.streamName === undefined,
      use.streamName === undefined,
    ])
    expect(fromMemory(use)).toEqual(asked)
  }
})

it('the parent of a self-signed token has to be looked up once; then memory verifies the signature', async () => {
  const { id, token } = await makeToken(at, 'subscribe')
  const signed = signSubscribeToken({ token, tokenId: id, streamName: 'show' })
  const forged = signSubscribeToken({ token: 'f'.repeat(64), tokenId: id, streamName: 'show' })
  const use = { action: 'view', accountId: at.accountId, presented: signed } as const
  expect(fromMemory(use)).toBeNull()
  const asked = await fromStore(use)
  expect([asked.decision.allowed, fromMemory(use)]).toEqual([true, asked])
  expect(fromMemory({ ...use, presented: forged })?.decision).toMatchObject({ code: 'invalid_token' })
})

it('a value that no token has is asked of the store each time', async () => {
  const use = { presented: 'e'.repeat(64) }
  expect((await fromStore(use)).decision).toMatchObject({ code: 'invalid_token' })
  expect(fromMemory(use)).toBeNull()
})

it('what is no token, and a publisher without one, need no store', async () => {
  for (const presented of ['nonsense', 'a.b.c', null]) {
    const found = fromMemory({ presented })
    expect(found?.decision.allowed).toBe(false)
    expect(found).toEqual(await fromStore({ presented }))
  }
})

it('a viewer without a token is decided from memory if the stream is on the air', async () => {
  for (const subscribeRequiresAuth of [true, false]) {
    const use = { action: 'view', accountId: at.accountId, streamName: `open-${!subscribeRequiresAuth}` } as const
    expect(fromMemory(use)).toBeNull()
    const { token } = await makeToken(at, 'publish', {
      subscribeRequiresAuth,
      streams: [{ streamName: use.streamName }],
    })
    await publish(at, { presented: token, streamName: use.streamName })
    const found = fromMemory(use)
    expect(found?.decision.allowed).toBe(!subscribeRequiresAuth)
    expect(found).toEqual(await fromStore(use))
  }
})

const rowsOf = async (streamName: string): Promise<number> => {
  await at.ctx.recorder.flush()
  const rows = await at.ctx.store.read.accessLog.page({ accountId: at.accountId, streamName, limit: 100 })
  return rows.reduce((sum, { count }) => sum + count, 0)
}

it('a check that memory cannot answer is recorded once, by the one that asks the store', async () => {
  const { token } = await makeToken(at, 'publish')
  const question = (streamName: string) => ({ action: 'publish', protocol: 'whip', streamName, ip: '192.0.2.1', token })
  expect(checkFromMemory(at.ctx, at.accountId, question('once'))).toBeNull()
  expect(await rowsOf('once')).toBe(0)
  const asked = await checkAccess(at.ctx, at.accountId, question('once'))
  expect(await rowsOf('once')).toBe(1)
  expect(checkFromMemory(at.ctx, at.accountId, question('twice'))).toEqual(asked)
  expect(await rowsOf('twice')).toBe(1)
})

it('a check asks the store, and records nothing before, if memory does not hold all feeds', async () => {
  const { token } = await makeToken(at, 'publish')
  const question = { action: 'publish', protocol: 'whip', streamName: 'elsewhere', ip: '192.0.2.1', token }
  await checkAccess(at.ctx, at.accountId, { ...question, streamName: 'other' })
  const feeds = Object.create(at.ctx.sessions.feeds, { knowsAll: { value: false } })
  const sessions = Object.create(at.ctx.sessions, { feeds: { value: feeds } })
  const ctx: Context = { ...at.ctx, sessions }
  expect(checkFromMemory(ctx, at.accountId, question)).toBeNull()
  expect(await rowsOf('elsewhere')).toBe(0)
  expect(fromMemory({ action: 'view', accountId: at.accountId, streamName: 'elsewhere' }, ctx)).toBeNull()
})
