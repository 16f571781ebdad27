import { expect, test } from 'vitest'
import { readCheck } from '../../../src/core/access/checkBody.ts'

const least = { action: 'view', protocol: 'whep', streamName: 'stage', ip: '192.0.2.1' }
const errorsOf = (body: unknown) => {
  const read = readCheck(body)
  return read.ok ? {} : read.error
}
const TOO_LONG = 'must be a string of at most 16384 characters'

test('a question is read with all that it may say', () => {
  const all = { accountId: 'abc123', token: 'x'.repeat(16_384), origin: 'https://a.example', country: 'de' }
  expect(readCheck({ ...least, ...all, at: '2026-01-31T12:00:00Z' })).toMatchObject({
    ok: true,
    value: { ...all, country: 'DE', action: 'view', protocol: 'whep', streamName: 'stage', atMs: 1_769_860_800_000 },
  })
})

test.each([undefined, null])('what is %s was not said', (nothing) => {
  const rest = { accountId: nothing, token: nothing, origin: nothing, country: nothing, at: nothing }
  const read = readCheck({ ...least, ...rest })
  const absent = { accountId: null, token: null, origin: null, country: undefined, atMs: undefined }
  expect(read).toMatchObject({ ok: true, value: { ...absent, address: { text: '192.0.2.1' } } })
})

test.each([
  ['publish', ['whip', 'rtmp', 'srt', 'pull']],
  ['view', ['whep', 'hls']],
])('%s is over %s', (action, protocols) => {
  for (const protocol of ['whip', 'whep', 'rtmp', 'hls']) {
    expect(readCheck({ ...least, action, protocol }).ok).toBe(protocols.includes(protocol))
  }
})

test.each([null, [], 'text', 5])('%j is no question', (body) => {
  expect(errorsOf(body)).toEqual({ body: ['must be a JSON object'] })
})

test('every error of every field is named at once', () => {
  const wrong = { action: 'look', protocol: 'ftp', ip: 'here', country: 'Germany', at: 'now', token: 5 }
  const errors = errorsOf({ ...wrong, accountId: 'x'.repeat(16_385), ['y'.repeat(81)]: 1 })
  expect(errors).toEqual({
    [`${'y'.repeat(63)}…`]: [expect.stringMatching(/^is not a field of this request; allowed: action, accountId, /)],
    action: ['must be one of publish, view'],
    protocol: ['must be one of whip, rtmp, srt, pull, whep, hls'],
    streamName: ['is required'],
    ip: ['must be an IPv4 or IPv6 address'],
    accountId: [TOO_LONG],
    token: [TOO_LONG],
    country: [expect.any(String)],
    at: [expect.stringContaining('ISO 8601')],
  })
})

test('two unknown fields that begin alike are both named', () => {
  const alike = 'y'.repeat(80)
  expect(errorsOf({ ...least, [`${alike}1`]: 1, [`${alike}2`]: 1 })[`${'y'.repeat(63)}…`]).toHaveLength(2)
})

test.each(['constructor', 'toString', 'hasOwnProperty'])('an unknown field may be called %s', (name) => {
  expect(errorsOf({ ...least, [name]: 1 })[name]).toEqual([expect.stringMatching(/^is not a field/)])
})

test('a protocol of the other action is named with those that fit', () => {
  expect(errorsOf({ ...least, protocol: 'whip' })).toEqual({ protocol: ['must be one of whep, hls'] })
})

test.each([
  ['streamName', ''],
  ['streamName', 7],
  ['ip', 7],
  ['ip', '192.0.2.1 '],
  ['at', '2026-13-31T12:00:00Z'],
  ['at', '2026'],
  ['at', 'x 2026-01-31T12:00:00Z'],
  // Without a zone it would mean another time at each server.
  ['at', '2026-01-31T12:00:00'],
  ['at', '2026-02-30T12:00:00Z'],
  ['accountId', 'a\0b'],
  ['country', 'DEU'],
])('%s cannot be %j', (field, value) => {
  expect(Object.keys(errorsOf({ ...least, [field]: value }))).toEqual([field])
})

test('a token is named by its value or by its id, not by both', () => {
  expect(readCheck({ ...least, tokenId: 1 })).toMatchObject({ ok: true, value: { tokenId: 1 } })
  expect(readCheck({ ...least, tokenId: null, token: 'x' })).toMatchObject({ ok: true, value: { token: 'x' } })
  for (const tokenId of [0, 1.5, '1', 2 ** 53]) {
    expect(errorsOf({ ...least, tokenId })).toEqual({
      tokenId: ['must be the id of a token, a whole number from 1 on'],
    })
  }
  expect(errorsOf({ ...least, tokenId: 1, token: 'x' })).toEqual({
    tokenId: [expect.stringContaining('must not be sent beside token')],
  })
})
