import { describe, expect, test } from 'vitest'
import type { Result } from '../../../src/base/result.ts'
import { parseAddress, parseAddressRule } from '../../../src/core/access/address.ts'
import { parseOriginRule } from '../../../src/core/access/origin.ts'
import { checkAddress } from '../../../src/core/access/rules/address.ts'
import { checkCountry } from '../../../src/core/access/rules/country.ts'
import { checkExpiry } from '../../../src/core/access/rules/expiry.ts'
import { checkOrigin } from '../../../src/core/access/rules/origin.ts'
import { checkRegion } from '../../../src/core/access/rules/region.ts'
import { checkRtmpIpFilters } from '../../../src/core/access/rules/rtmpIpFilters.ts'
import { checkToken } from '../../../src/core/access/rules/token.ts'
import type { Question } from '../../../src/core/access/rules/verdict.ts'
import type { AccessRequest, SelfSignedClaims, TokenSnapshot } from '../../../src/core/access/types.ts'

const NOW = 1_750_000_000_000

/** As much of a question as one rule looks at. */
function asked(given: {
  country?: string | null
  region?: string
  request?: Partial<AccessRequest>
  token?: Partial<TokenSnapshot>
  claims?: Partial<SelfSignedClaims>
}): Question {
  const token = {
    id: 7,
    kind: 'subscribe',
    expiresAtMs: null,
    revokedBeforeMs: null,
    revokedJtis: new Set(),
    trackingId: null,
  }
  const lists = { allowedCountries: new Set<string>(), deniedCountries: new Set<string>(), origins: [], addresses: [] }
  const said = {
    origins: [],
    addresses: [],
    tokenId: 7,
    jti: null,
    issuedAtMs: null,
    notBeforeMs: null,
    trackingId: null,
  }
  return {
    request: { action: 'view', protocol: 'whep', accountId: null, country: given.country ?? null, ...given.request },
    policy: { rtmpIpFilters: 'refuse', region: given.region ?? '' },
    token: { ...token, ...lists, bindLimit: 0, ...given.token },
    claims: given.claims ? { ...said, ...given.claims } : null,
    nowMs: NOW,
  } as unknown as Question
}
const seen = (verdict: { step: { outcome: string; detail: string } }): string =>
  `${verdict.step.outcome}: ${verdict.step.detail}`

describe('the trace of a decision says', () => {
  const lists = { allowed: { allowedCountries: new Set(['DE']) }, denied: { deniedCountries: new Set(['DE']) } }
  test.each([
    [{}, 'FR', 'skip: neither the token nor its account has country rules'],
    [{}, null, 'skip: neither the token nor its account has country rules'],
    [
      { ...lists.allowed, countrySource: 'account' as const },
      'FR',
      'fail: FR is not in the list of allowed countries of the account',
    ],
    [
      { ...lists.denied, countrySource: 'account' as const },
      'DE',
      'fail: DE is in the list of denied countries of the account',
    ],
    [lists.allowed, 'DE', 'pass: the country is allowed'],
    [lists.allowed, 'FR', 'fail: FR is not in the list of allowed countries'],
    [lists.allowed, null, 'fail: the country is not known, and only listed countries are allowed'],
    [lists.denied, 'FR', 'pass: the country is not denied'],
    [lists.denied, 'DE', 'fail: DE is in the list of denied countries'],
    [lists.denied, null, 'pass: the country is not known, and a list of denied countries lets it through'],
  ])('of the country, %#', (token, country, expected) => {
    expect(seen(checkCountry(asked({ token, country })))).toBe(expected)
  })

  test.each([
    [null, 'publish' as const, 'north', 'skip: the token is good in every region'],
    ['south', 'view' as const, 'north', 'skip: the token is good in every region'],
    ['south', 'publish' as const, 'south', 'pass: this node is in the region of the token'],
    [
      'south',
      'publish' as const,
      'north',
      'fail: the token takes publishers in the region south, and this node is in north',
    ],
    ['south', 'publish' as const, '', 'fail: the token takes publishers in the region south, and this node has none'],
  ])('of the region, %#', (originRegion, action, region, expected) => {
    expect(seen(checkRegion(asked({ token: { originRegion }, request: { action }, region })))).toBe(expected)
  })

  test.each([
    [null, null, 'skip: the token never expires'],
    [1, null, 'pass: the token has not expired'],
    [0, null, 'fail: the token expired 0 s ago'],
    [-1999, null, 'fail: the token expired 1 s ago'],
    [-1000, -1000, 'fail: the token expired 1 s ago'],
    [5000, -2000, 'fail: the self-signed token (exp) expired 2 s ago'],
    [null, 1, 'pass: the token has not expired'],
  ])('of an expiry in %j ms, of a self-signed one in %j ms', (parent, own, expected) => {
    const token = { expiresAtMs: parent === null ? null : NOW + parent }
    const claims = own === null ? {} : { claims: { expiresAtMs: NOW + own } }
    expect(seen(checkExpiry(asked({ token, ...claims })))).toBe(expected)
  })

  test.each([
    ['without iat', {}, 'fail: older self-signed tokens were revoked and this one has no iat'],
    ['too old', { issuedAtMs: NOW - 6 }, 'fail: self-signed tokens issued before a later time were revoked'],
    ['new', { issuedAtMs: NOW - 5 }, 'pass: the token was signed with the value of a known subscribe token'],
  ])('of a self-signed token after others were revoked: %s', (_, claims, expected) => {
    expect(seen(checkToken(asked({ token: { revokedBeforeMs: NOW - 5 }, claims })))).toBe(expected)
  })

  const network = valueOf(parseAddressRule('10.0.0.0/8'))
  test.each([
    [{}, '10.0.0.1', 'skip: the token has no allowed addresses'],
    [{ addresses: [network] }, '10.0.0.1', 'pass: the address is allowed'],
    [{ addresses: [network] }, '192.0.2.1', 'fail: 192.0.2.1 is in none of the allowed networks of the token'],
    [
      { addresses: [network] },
      '2001:db8::1',
      'fail: 2001:db8::1 is in none of the allowed networks of the token (address lists are IPv4 only)',
    ],
  ])('of the address, %#', (token, ip, expected) => {
    const address = parseAddress(ip) ?? undefined
    expect(seen(checkAddress(asked({ token, request: { ...(address && { address }) } })))).toBe(expected)
  })

  const site = valueOf(parseOriginRule('a.example'))
  test.each([
    [{}, null, 'skip: the token has no allowed origins'],
    [{ origins: [site] }, 'https://a.example', 'pass: the origin is allowed'],
    [{ origins: [site] }, null, 'fail: the token has allowed origins and the request has no Origin header'],
    [{ origins: [site] }, 'null', 'fail: the origin matches none of the allowed origins of the token'],
  ])('of the origin, %#', (token, origin, expected) => {
    expect(seen(checkOrigin(asked({ token, request: { origin } })))).toBe(expected)
  })

  test.each([
    ['whip', 1, 'skip: the connection is not RTMP'],
    ['rtmp', 0, 'skip: the token has no IP filters'],
    ['rtmp', 1, 'fail: the token has IP filters, which RTMP does not support'],
  ] as const)('of IP filters over %s with %d bound addresses', (protocol, bindLimit, expected) => {
    expect(seen(checkRtmpIpFilters(asked({ token: { bindLimit }, request: { protocol } })))).toBe(expected)
  })

  test.each([
    [{ notBeforeMs: NOW + 60_000, issuedAtMs: NOW + 60_000 }, expect.stringMatching(/^pass/)],
    [{ notBeforeMs: NOW + 60_001 }, 'fail: nbf lies more than 60 s in the future'],
    [{ issuedAtMs: NOW + 60_001 }, 'fail: iat lies more than 60 s in the future'],
  ])('of a signer whose clock runs ahead: %j', (claims, expected) => {
    expect(seen(checkToken(asked({ claims })))).toEqual(expected)
  })
})

function valueOf<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error)
  return result.value
}
