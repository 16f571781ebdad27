import { describe, expect, it, test } from 'vitest'
import { parseAddress, parseAddressRule } from '../../../src/core/access/address.ts'
import { decide } from '../../../src/core/access/decide.ts'
import { publicAnswer, REFUSALS } from '../../../src/core/access/refusals.ts'
import { sessionEndOf } from '../../../src/core/access/rules/expiry.ts'
import type { AccessRequest, Credential, SelfSignedClaims, TokenSnapshot } from '../../../src/core/access/types.ts'
import { MESSAGES, PLAIN_TOKEN } from '../../support/decisions.ts'

const NOW_MS = 1_750_000_000_000
const ANONYMOUS = { kind: 'none' } as const

const token: TokenSnapshot = {
  ...PLAIN_TOKEN,
  version: 3,
  streams: { exact: new Set(['lobby']), patterns: [] },
  bindLimit: 2,
}

const claims: SelfSignedClaims = {
  tokenId: 7,
  streamName: 'lobby',
  origins: [],
  addresses: [],
  trackingId: null,
  maxViewers: 0,
  endAtExpiry: false,
  customViewerData: null,
  jti: null,
  issuedAtMs: null,
  notBeforeMs: null,
  expiresAtMs: NOW_MS + 1,
}

function ask(changes: Partial<AccessRequest>) {
  const address = parseAddress('192.0.2.1')
  if (address === null) throw new Error('unreachable')
  const request: AccessRequest = {
    action: 'view',
    protocol: 'whep',
    accountId: 'abc123',
    streamName: 'lobby',
    credential: { kind: 'token', token },
    address,
    origin: null,
    country: null,
    streamIsSecured: true,
    ...changes,
  }
  return decide(request, { rtmpIpFilters: 'refuse', region: '' }, NOW_MS)
}

describe('decide', () => {
  it('requests a binding against the version of the decision', () => {
    expect(ask({})).toMatchObject({
      allowed: true,
      accountId: 'abc123',
      tokenId: 7,
      effects: { bind: { tokenId: 7, version: 3, address: '192.0.2.1', limit: 2 }, stamp: null },
    })
  })

  it('admits every viewer to an open stream, and says why', () => {
    expect(ask({ credential: ANONYMOUS, streamIsSecured: false })).toMatchObject({
      allowed: true,
      accountId: 'abc123',
      tokenId: null,
      effects: { bind: null, stamp: null },
      trace: [{ check: 'token', outcome: 'skip', detail: expect.stringContaining('open') as string }],
    })
  })

  it('knows no open stream without an account', () => {
    expect(ask({ credential: ANONYMOUS, streamIsSecured: false, accountId: null })).toMatchObject({ allowed: false })
  })

  it('lets no publisher in without a token, whatever account and stream are named', () => {
    const open = { credential: ANONYMOUS, action: 'publish', streamIsSecured: false } as const
    expect(ask(open)).toMatchObject({ allowed: false, code: 'token_missing' })
  })

  it('lets a pass of the dashboard see its stream, whatever its viewers need, and nothing else', () => {
    const pass = { kind: 'preview', accountId: 'abc123', streamName: 'lobby', sessionValue: 's' } as const
    const preview = { credential: pass, action: 'preview' } as const
    expect(ask(preview)).toMatchObject({ allowed: true, accountId: 'abc123', tokenId: null, effects: { bind: null } })
    const refused = [
      { action: 'publish' },
      { accountId: 'other' },
      { accountId: null },
      { streamName: 'hall' },
    ] as const
    for (const change of refused) {
      expect(ask({ ...preview, ...change })).toMatchObject({ allowed: false, code: 'invalid_token' })
    }
  })

  it('says of a token of another account that there is none, as of a token that does not exist', () => {
    const says = (credential: AccessRequest['credential']) => ask({ credential, accountId: 'other' }).trace
    expect(says({ kind: 'token', token })).toMatchObject([{ detail: 'no token has this value' }])
    expect(says({ kind: 'selfSigned', token, claims })).toMatchObject([{ detail: 'the parent token does not exist' }])
  })

  it('explains in the trace what was wrong with an unknown token', () => {
    expect(ask({ credential: { kind: 'unknown', why: 'wrongly signed' } })).toMatchObject({
      tokenId: null,
      trace: [{ check: 'token', outcome: 'fail', detail: 'wrongly signed' }],
    })
  })

  it('refuses a self-signed token that came with the wrong parent', () => {
    const credential = { kind: 'selfSigned', token, claims: { ...claims, tokenId: 8 } } as const
    expect(ask({ credential })).toMatchObject({ allowed: false, code: 'invalid_token', tokenId: 7 })
  })

  it('counts the address list of a self-signed token as an IP filter over RTMP', () => {
    const rule = parseAddressRule('192.0.2.1')
    if (!rule.ok) throw new Error(rule.error)
    const parent = { ...token, bindLimit: 0 }
    const credential = { kind: 'selfSigned', token: parent, claims: { ...claims, addresses: [rule.value] } } as const
    expect(ask({ credential, protocol: 'rtmp' })).toMatchObject({ code: 'ip_filters_not_supported' })
  })

  it('asks nothing more over RTMP of a self-signed token without address lists', () => {
    const credential = { kind: 'selfSigned', token: { ...token, bindLimit: 0 }, claims } as const
    expect(ask({ credential, protocol: 'rtmp' })).toMatchObject({ allowed: true })
  })
})

test.each([
  ['never, without an end of its token', null, null, null],
  ['with its token', NOW_MS + 5, null, NOW_MS + 5],
  ['with what was signed', NOW_MS + 5, NOW_MS + 1, NOW_MS + 1],
  ['with the parent, if that ends first', NOW_MS, NOW_MS + 1, NOW_MS],
  ['with what was signed, if the parent has no end', null, NOW_MS + 1, NOW_MS + 1],
])('a session ends %s', (_when, expiresAtMs, signedUntilMs, endsAtMs) => {
  const one = { ...token, expiresAtMs, endAtExpiry: true }
  const credential: Credential =
    signedUntilMs === null
      ? { kind: 'token', token: one }
      : { kind: 'selfSigned', token: one, claims: { ...claims, expiresAtMs: signedUntilMs } }
  expect(sessionEndOf(one, credential)).toBe(endsAtMs)
  expect(sessionEndOf({ ...one, endAtExpiry: false }, credential)).toBeNull()
})

describe('refusals', () => {
  it('have the documented texts, and status 401 unless the token itself is valid', () => {
    for (const [code, { status, text }] of Object.entries(REFUSALS)) {
      expect(text).toBe(MESSAGES[code as keyof typeof MESSAGES])
      const other = { stream_not_published: 409, region_not_allowed: 503 }
      expect(status).toBe(other[code as keyof typeof other] ?? 401)
    }
    expect(Object.keys(REFUSALS)).toEqual(Object.keys(MESSAGES))
  })

  it('of limits have the text of the limit, and where another node takes the client that of a redirect', () => {
    const step = { check: 'node', outcome: 'fail', detail: '' } as const
    const other = { code: 'redirected', text: 'Another server takes this session' }
    expect(publicAnswer({ nodeUrl: 'https://b.example', step })).toMatchObject(other)
    expect(publicAnswer({ code: 'viewer_limit' })).toEqual({ code: 'viewer_limit', text: 'Too many viewers' })
  })
})
