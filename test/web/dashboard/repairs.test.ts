import { expect, test } from 'vitest'
import type { TokenRecord } from '../../../web/dashboard/src/pages/tokens/operations.ts'
import { repairOf } from '../../../web/dashboard/src/pages/tokens/repairs.ts'

const LISTS = { allowedOrigins: [], allowedIpAddresses: [], allowedCountries: [], deniedCountries: [] }
const tokenOf = (over: Partial<TokenRecord> = {}): TokenRecord =>
  ({
    id: 7,
    label: 'Crew',
    isActive: true,
    streams: [{ streamName: 'show', isRegex: false }],
    ...LISTS,
    ...over,
  }) as TokenRecord
const refused = (code: string, over: object = {}) => ({ code, streamName: 'other', address: '192.0.2.7', ...over })

test.each([
  ['token_disabled', { isActive: false }, {}, 'switchOn', { isActive: true }, { isActive: false }],
  [
    'stream_name_not_allowed',
    {},
    {},
    'allow',
    { addTokenStreams: [{ streamName: 'other', isRegex: false }] },
    { removeTokenStreams: ['other'] },
  ],
  [
    'origin_not_allowed',
    { allowedOrigins: ['a.example'] },
    { origin: 'https://b.example:8443' },
    'allow',
    { allowedOrigins: ['a.example', 'b.example:8443'] },
    { allowedOrigins: ['a.example'] },
  ],
  [
    'address_not_allowed',
    { allowedIpAddresses: ['192.0.2.1'], bindIpsOnUsage: 1 },
    {},
    'allow',
    { allowedIpAddresses: ['192.0.2.1', '192.0.2.7'] },
    { allowedIpAddresses: ['192.0.2.1'] },
  ],
  ['address_not_allowed', { bindIpsOnUsage: 2 }, {}, 'bindOneMore', { bindIpsOnUsage: 3 }, { bindIpsOnUsage: 2 }],
  [
    'country_not_allowed',
    { allowedCountries: ['DE'] },
    { country: 'NZ' },
    'allow',
    { allowedCountries: ['DE', 'NZ'] },
    { allowedCountries: ['DE'] },
  ],
  [
    'country_not_allowed',
    { deniedCountries: ['NZ', 'DE'] },
    { country: 'NZ' },
    'allow',
    { deniedCountries: ['DE'] },
    { deniedCountries: ['NZ', 'DE'] },
  ],
] as const)('after %s of a token with %o one change admits the client, and another takes it back', (...row) => {
  const [code, rules, client, kind, change, undo] = row
  expect(repairOf(tokenOf(rules), refused(code, client))).toMatchObject({ kind, change, undo })
})

test.each([
  ['token_disabled', {}, {}],
  ['stream_name_not_allowed', {}, { streamName: 'show' }],
  ['origin_not_allowed', { allowedOrigins: ['b.example'] }, { origin: 'https://b.example' }],
  ['origin_not_allowed', { allowedOrigins: ['b.example'] }, { origin: 'null' }],
  ['address_not_allowed', { allowedIpAddresses: ['192.0.2.7'] }, {}],
  ['address_not_allowed', {}, {}],
  ['country_not_allowed', { allowedCountries: ['DE'] }, {}],
  ['country_not_allowed', { deniedCountries: ['DE'] }, { country: 'NZ' }],
  ['invalid_token', {}, {}],
  ['token_expired', {}, {}],
] as const)('after %s of a token with %o and a client with %o there is none', (code, rules, client) => {
  expect(repairOf(tokenOf(rules), refused(code, client))).toBeNull()
})
