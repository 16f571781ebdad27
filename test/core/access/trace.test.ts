import { describe, expect, test } from 'vitest'
import { checkCountry } from '../../../src/core/access/rules/country.ts'
import { checkExpiry } from '../../../src/core/access/rules/expiry.ts'
import { checkToken } from '../../../src/core/access/rules/token.ts'
import type { Question } from '../../../src/core/access/rules/verdict.ts'
import type { SelfSignedClaims, TokenSnapshot } from '../../../src/core/access/types.ts'

const NOW = 1_750_000_000_000

/** As much of a question as one rule looks at. */
function asked(given: {
  country?: string | null
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
  const lists = { allowedCountries: new Set<string>(), deniedCountries: new Set<string>() }
  const said = { tokenId: 7, jti: null, issuedAtMs: null, notBeforeMs: null, trackingId: null }
  return {
    request: { action: 'view', accountId: null, country: given.country ?? null },
    token: { ...token, ...lists, ...given.token },
    claims: given.claims ? { ...said, ...given.claims } : null,
    nowMs: NOW,
  } as unknown as Question
}
const seen = (verdict: { step: { outcome: string; detail: string } }): string =>
  `${verdict.step.outcome}: ${verdict.step.detail}`

describe('the trace of a decision says', () => {
  const lists = { allowed: { allowedCountries: new Set(['DE']) }, denied: { deniedCountries: new Set(['DE']) } }
  test.each([
    [{}, 'FR', 'skip: the token has no country rules'],
    [{}, null, 'skip: the token has no country rules'],
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
})
