import { expect, test } from 'vitest'
import { ok } from '../../../src/base/result.ts'
import {
  readSignViewerToken,
  type ViewerTokenRequest,
  viewerTokenClaims,
} from '../../../src/core/channels/viewerTokenRequest.ts'

const NOW = 1_750_000_000_500
const ON = { channelId: 'ch_1', claim: 'streaming', nowMs: NOW }
const BLANK: ViewerTokenRequest = {
  expiresInSeconds: 3600,
  notBeforeMs: null,
  trackingId: null,
  countries: null,
  devices: null,
}
const FULL = { expiresInSeconds: 60, trackingId: 'guest', countries: ['NL'], devices: ['tv'] } as const

test('a token is valid for an hour from now, for the whole channel, unless the request says otherwise', () => {
  expect([readSignViewerToken({}), readSignViewerToken({ notBefore: null, trackingId: null })]).toEqual([
    ok(BLANK),
    ok(BLANK),
  ])
  const body = { ...FULL, countries: ['nl', 'NL'], notBefore: '2999-12-31T23:59:59Z' }
  expect(readSignViewerToken(body)).toEqual(ok({ ...FULL, notBeforeMs: Date.parse(body.notBefore) }))
})

test('what no token can say is refused by name', () => {
  const wrong = {
    expiresInSeconds: 0,
    notBefore: '3000-01-01T00:00:00Z',
    trackingId: 'a\0',
    countries: ['X1'],
    devices: ['watch'],
  }
  const read = readSignViewerToken(wrong)
  expect(read.ok ? [] : Object.keys(read.error).toSorted()).toEqual([
    'countries[0]',
    'devices[0]',
    'expiresInSeconds',
    'notBefore',
    'trackingId',
  ])
  expect(readSignViewerToken({ notBefore: 'soon' })).toMatchObject({ error: { notBefore: [expect.any(String)] } })
})

test('its claims count whole seconds, and the lifetime begins with the token', () => {
  const iat = 1_750_000_000
  expect(viewerTokenClaims(BLANK, ON)).toEqual({
    claims: { iat, exp: iat + 3600, streaming: { ch: ['ch_1'] } },
    expiresAtMs: (iat + 3600) * 1000,
  })
  expect(viewerTokenClaims({ ...FULL, notBeforeMs: NOW + 10_600 }, ON).claims).toEqual({
    iat,
    nbf: iat + 11,
    exp: iat + 71,
    streaming: { ch: ['ch_1'], geo: { cc: ['NL'] }, hw: ['tv'], tid: 'guest' },
  })
  expect(viewerTokenClaims({ ...BLANK, notBeforeMs: NOW - 10_000 }, ON).claims).toMatchObject({ exp: iat + 3600 })
})
