import { expect, test } from 'vitest'
import { parseAddressRule } from '../../../src/core/access/address.ts'
import { parseOriginRule } from '../../../src/core/access/origin.ts'
import { originKey, type RequestOrigin } from '../../../src/core/access/requestOrigin.ts'
import { NO_DEFAULTS } from '../../../src/core/tokens/accountDefaults.ts'
import { compileSnapshot } from '../../../src/core/tokens/snapshot.ts'
import type { Credential, SelfSignedClaims, TokenSnapshot } from '../../../src/core/access/types.ts'
import type { Token } from '../../../src/core/tokens/types.ts'
import { newToken } from '../../conformance/store.samples.ts'

const stored: Token = { ...newToken(), id: 7, version: 3 }
const snapshotOf = (over: Partial<Token>, account = NO_DEFAULTS): TokenSnapshot =>
  compileSnapshot({ ...stored, ...over }, [], [], account)
const from: RequestOrigin = {
  address: { family: 4, value: 0xc0000201, text: '192.0.2.1' },
  origin: 'https://a.example',
}
const keyFor = (over: Partial<Token>): string => originKey({ kind: 'token', token: snapshotOf(over) }, from)

test.each([
  ['no rules', {}, ' '],
  ['a binding', { bindIpsOnUsage: 1 }, '192.0.2.1 '],
  ['addresses', { allowedIpAddresses: ['10.0.0.0/8'] }, '192.0.2.1 '],
  ['countries that may', { allowedCountries: ['DE'] }, '192.0.2.1 '],
  ['countries that may not', { deniedCountries: ['DE'] }, '192.0.2.1 '],
  ['origins', { allowedOrigins: ['https://b.example'] }, ' https://a.example'],
  ['both', { bindIpsOnUsage: 1, allowedOrigins: ['https://b.example'] }, '192.0.2.1 https://a.example'],
] as const)('a token with %s sees that much of a request', (_, over, key) => {
  expect(keyFor(over as Partial<Token>)).toBe(key)
})

test('a token without country rules sees a request by those of its account', () => {
  const account = { ...NO_DEFAULTS, deniedCountries: ['DE'], version: 4 }
  expect(originKey({ kind: 'token', token: snapshotOf({}, account) }, from)).toBe('192.0.2.1 ')
  expect(snapshotOf({}, account)).toMatchObject({
    deniedCountries: new Set(['DE']),
    countrySource: 'account',
    accountVersion: 4,
  })
  const own = snapshotOf({ allowedCountries: ['NL'] }, account)
  expect(own).toMatchObject({
    allowedCountries: new Set(['NL']),
    deniedCountries: new Set(),
    countrySource: 'token',
    accountVersion: 4,
  })
})

test('a self-signed token has rules of its own', () => {
  const [origin, address] = [parseOriginRule('https://b.example'), parseAddressRule('10.0.0.0/8')]
  if (!origin.ok || !address.ok) throw new Error('these are rules')
  const keyOf = (claims: Partial<SelfSignedClaims>): string =>
    originKey(
      {
        kind: 'selfSigned',
        token: snapshotOf({}),
        claims: { origins: [], addresses: [], ...claims } as unknown as SelfSignedClaims,
      },
      from,
    )
  expect(keyOf({})).toBe(' ')
  expect(keyOf({ origins: [origin.value] })).toBe(' https://a.example')
  expect(keyOf({ addresses: [address.value] })).toBe('192.0.2.1 ')
})

test('without a token no rule sees a request, and a missing origin is none', () => {
  const nobody: Credential[] = [{ kind: 'none' }, { kind: 'unknown', why: 'x' }]
  expect(nobody.map((credential) => originKey(credential, from))).toEqual(['', ''])
  const token = snapshotOf({ allowedOrigins: ['https://b.example'] })
  expect(originKey({ kind: 'token', token }, { ...from, origin: null })).toBe(' ')
})

test('a stored token is compiled with all of its rules, and a damaged one admits no client', () => {
  const said = { expiresAtMs: 5, trackingId: 't', revokedBeforeMs: 6, record: true, deniedCountries: ['DE'] }
  expect(compileSnapshot({ ...stored, ...said }, ['192.0.2.1'], ['j'], NO_DEFAULTS)).toMatchObject({
    ...said,
    id: 7,
    version: 3,
    boundAddresses: new Set(['192.0.2.1']),
    revokedJtis: new Set(['j']),
    deniedCountries: new Set(['DE']),
  })
  expect(() => snapshotOf({ allowedOrigins: ['not an origin at all'] })).toThrow('a stored rule does not compile')
})
