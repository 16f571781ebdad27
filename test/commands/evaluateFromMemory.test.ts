import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { authorize, evaluateFromMemory } from '../../src/commands/access/authorize.ts'
import { checkAccess, checkFromMemory } from '../../src/commands/access/checkAccess.ts'
import type { Context } from '../../src/commands/context.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import { PROTOCOLS_OF } from '../../src/core/access/protocols.ts'
import { signingParent } from '../../src/commands/tokens/signToken.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { cases } from '../support/randomCases.ts'
import { attemptOf, makeToken, publish, startTestNode, type TestNode, type Use } from '../support/testNode.ts'

let at: TestNode
beforeAll(async () => {
  at = await startTestNode({
    flags: { access: { log: { admissionRate: 1, rowsPerMinute: 100_000, totalRowsPerMinute: 100_000 } } },
  })
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

it('a publish token signs nothing, and a token is asked about by its number in its own account alone', async () => {
  const { id, token } = await makeToken(at, 'publish')
  const presented = signSubscribeToken({ token, tokenId: id, streamName: 'show' })
  const [step] = (await fromStore({ action: 'view', accountId: at.accountId, presented })).decision.trace
  expect(step).toMatchObject({ outcome: 'fail', detail: 'the parent token does not exist' })
  const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1', tokenId: id }
  expect(await checkAccess(at.ctx, at.accountId, question)).toMatchObject({ ok: true, value: { allowed: true } })
  expect(await checkAccess(at.ctx, 'zzzzzz', question)).toMatchObject({ ok: false, error: { code: 'not_found' } })
})

it('what the command line signs right after a revocation of all earlier ones is admitted', async () => {
  const { id } = await makeToken(at, 'subscribe')
  const issuedBefore = new Date(Math.floor(at.ctx.clock.now() / 1000) * 1000 + 500).toISOString()
  await at.call('POST', `/api/subscribe_token/${id}/revoke`, { issuedBefore })
  const parent = await signingParent(at.ctx, at.accountId, id)
  if (!parent.ok) throw new Error(JSON.stringify(parent.error))
  const presented = signSubscribeToken({ ...parent.value, tokenId: id, streamName: 'show' })
  expect((await fromStore({ action: 'view', accountId: at.accountId, presented })).decision).toMatchObject({
    allowed: true,
  })
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

const few = <T>(...all: readonly T[]) => fc.oneof(fc.constant<T[]>([]), fc.subarray([...all], { minLength: 1 }))
const rules = fc.record({
  isActive: fc.constantFrom(true, true, false),
  allowedOrigins: few('https://*.example.com', 'bücher.example', 'https://[2001:db8::1]:8443'),
  allowedIpAddresses: few('192.0.2.0/25', '0.0.0.0/0'),
  bindIpsOnUsage: fc.constantFrom(0, 1),
  allowedCountries: few('NZ', 'DE'),
  streams: few('a', '(?i)Room-[[:alpha:]]', '\\QA.b\\E').map((names) =>
    [...names, 'show'].map((streamName) => ({ streamName, isRegex: /[\\(]/.test(streamName) })),
  ),
})
const requests = fc.record({
  action: fc.constantFrom('publish' as const, 'publish' as const, 'view' as const),
  streamName: fc.constantFrom('show', 'show', 'A', 'rOOM-x', 'A.b'),
  ip: fc.constantFrom('192.0.2.1', '::ffff:192.0.2.200', '2001:DB8::1'),
  origin: fc.constantFrom(null, 'https://A.example.com', 'http://xn--bcher-kva.example:81', 'https://example.com.'),
  country: fc.constantFrom('NZ', 'DE', 'US'),
  protocol: fc.nat(),
})

it('the decision, its dry runs, their traces and the log agree on any token and request', async () => {
  const codes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(rules, requests, async ({ isActive, ...body }, { ip, protocol: nth, origin, ...request }) => {
      const { id, token } = await makeToken(at, 'publish', body)
      if (!isActive) await at.call('PUT', `/api/publish_token/${id}`, { isActive })
      const all = PROTOCOLS_OF[request.action]
      const protocol = all[nth % all.length] ?? 'whip'
      const question = { ...request, protocol, ip, token, ...(origin !== null && { origin }) }
      const check = await checkAccess(at.ctx, at.accountId, question)
      if (!check.ok) throw new Error(JSON.stringify(check.error))
      const { live: _, message, ...told } = check.value
      expect(checkFromMemory(at.ctx, at.accountId, question)).toEqual(check)
      const address = parseAddress(ip) ?? expect.fail()
      const accountId = request.action === 'view' ? at.accountId : null
      const { decision } = await authorize(at.ctx, {
        ...request,
        protocol,
        accountId,
        presented: token,
        address,
        origin,
      })
      const code = decision.allowed ? 'allowed' : decision.code
      expect(told).toEqual({ allowed: decision.allowed, code, trace: decision.trace })
      await at.ctx.recorder.flush()
      const rows = await at.ctx.store.read.accessLog.page({ accountId: at.accountId, tokenId: id, limit: 9 })
      const sources = rows.map(({ source }) => source).toSorted()
      expect(sources).toEqual(told.allowed ? ['admission', 'check', 'check'] : ['admission', 'check'])
      for (const row of rows) {
        expect(row).toMatchObject({ allowed: told.allowed, code: told.allowed ? null : code, message })
        expect((await at.ctx.store.read.accessLog.get(at.accountId, row.id))?.trace).toEqual(told.trace)
      }
      codes.add(code)
    }),
    cases(300),
  )
  expect(codes.size).toBeGreaterThan(2)
})
