import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { hmacKey } from '../../src/base/crypto.ts'
import {
  headerProfile,
  webhookKeyOf,
  signatureHeaders,
  signBody,
  thumbnailHeaders,
  verifySignature,
} from '../../src/delivery/signature.ts'

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')
const BODY = Buffer.from('{"type":"feeds","event":"started","timestamp":1750000000000,"data":{"name":"caf\u00e9"}}')
const NOW = Date.now()
const profile = headerProfile()

const sign = (body: Uint8Array, timestampMs = NOW) =>
  signatureHeaders({ profile, secret: SECRET, id: 'evt_1', timestampMs, body })
const lower = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
const verify = (headers: Record<string, string | undefined>, body: Uint8Array = BODY, nowMs = NOW) =>
  verifySignature({ body, headers, secret: SECRET, nowMs })

describe('the signature of a callback', () => {
  test('matches RFC 2202 for HMAC-SHA1', () => {
    expect(signBody(Buffer.from('Hi There'), hmacKey(Buffer.alloc(20, 0x0b)))).toBe(
      'sha1=b617318655057264e28bc0b6fb378c8ef146be00',
    )
  })

  test('matches openssl for the same bytes and the decoded secret', () => {
    const hex = webhookKeyOf(SECRET).export().toString('hex')
    const args = ['dgst', '-sha1', '-mac', 'HMAC', '-macopt', `hexkey:${hex}`, '-r']
    const [digest] = execFileSync('openssl', args, { input: BODY }).toString().split(' ')
    expect(sign(BODY)['X-Service-Signature']).toBe(`sha1=${digest}`)
  })

  test('has header names that the operator chooses, including the thumbnail headers', () => {
    const other = headerProfile('X-Acme-')
    expect(
      Object.keys(signatureHeaders({ profile: other, secret: SECRET, id: 'e', timestampMs: 0, body: BODY })),
    ).toEqual(['X-Acme-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'])
    expect(thumbnailHeaders(profile, { timestampMs: 5, feedId: 'f', streamId: 'a1b2c3/s', tokenId: 7 })).toEqual({
      'X-Service-Timestamp': '5',
      'X-Service-Feed-Id': 'f',
      'X-Service-Stream-Id': 'a1b2c3/s',
      'X-Service-Token-Id': '7',
    })
  })

  test.each(['a1b2c3/Stage 1 ', 'a1b2c3/h\u00e9', 'a1b2c3/\u30b9\u30bf\u30b8\u30aa', 'a1b2c3/\u{1f600}/100%'])(
    'names the stream %s of a thumbnail in a header that can be sent, and that says all of it',
    (streamId) => {
      const headers = thumbnailHeaders(profile, { timestampMs: 5, feedId: 'f', streamId, tokenId: 7 })
      const sent = headers['X-Service-Stream-Id'] ?? ''
      expect(sent).toMatch(/^[!-~]+$/)
      expect(decodeURI(sent)).toBe(streamId)
    },
  )

  test('satisfies the published Standard Webhooks library, for text and for an image', () => {
    const library = new Webhook(SECRET)
    expect(library.verify(BODY, sign(BODY))).toEqual(JSON.parse(BODY.toString()))
    expect(() => library.verify(Buffer.concat([BODY, Buffer.from(' ')]), sign(BODY))).toThrow('No matching signature')
    const text = '{"a":"\u20ac"}'
    expect(sign(Buffer.from(text))['webhook-signature']).toBe(library.sign('evt_1', new Date(NOW), text))
  })
})

test('the header of channel webhooks is in lower case, whatever the prefix', () => {
  expect(headerProfile('X-Other-')).toMatchObject({
    signature: 'X-Other-Signature',
    streamingSignature: 'x-other-streaming-signature',
  })
})

describe('a receiver', () => {
  test('accepts a signed callback, with either signature', () => {
    const headers = lower(sign(BODY))
    expect(verify(headers)).toEqual({ ok: true, value: { id: 'evt_1' } })
    expect(verify({ 'x-service-signature': headers['x-service-signature'] })).toEqual({ ok: true, value: { id: null } })
    expect(verify({})).toEqual({ ok: false, error: 'missing_signature' })
  })

  test('accepts the signature of the published library, also beside one with another secret', () => {
    const mine = new Webhook(SECRET).sign('evt_1', new Date(NOW), BODY.toString())
    const other = new Webhook(Buffer.from('another secret').toString('base64')).sign(
      'evt_1',
      new Date(NOW),
      BODY.toString(),
    )
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(NOW / 1000)) }
    expect(verify({ ...headers, 'webhook-signature': `${other} ${mine}` })).toMatchObject({ ok: true })
    expect(verify({ ...headers, 'webhook-signature': other })).toEqual({ ok: false, error: 'wrong_signature' })
  })

  test('refuses an old callback, one from the future, and a changed time', () => {
    const headers = lower(sign(BODY))
    expect(verify(headers, BODY, NOW + 299_000)).toMatchObject({ ok: true })
    expect(verify(headers, BODY, NOW + 302_000)).toEqual({ ok: false, error: 'too_old' })
    expect(verify(headers, BODY, NOW - 302_000)).toEqual({ ok: false, error: 'too_new' })
    const moved = { ...headers, 'webhook-timestamp': String(Math.floor(NOW / 1000) + 60) }
    expect(verify(moved)).toEqual({ ok: false, error: 'wrong_signature' })
    expect(verify({ ...headers, 'webhook-timestamp': '1e9' })).toEqual({ ok: false, error: 'wrong_signature' })
    expect(verify({ ...headers, 'webhook-id': 'evt_2' })).toEqual({ ok: false, error: 'wrong_signature' })
  })

  test('allows five minutes to the millisecond, and trusts no other spelling of a time', () => {
    const headers = lower(sign(BODY))
    const signedAtMs = Math.floor(NOW / 1000) * 1000
    const at = (ms: number) => {
      const verified = verify(headers, BODY, signedAtMs + ms)
      return verified.ok ? 'fine' : verified.error
    }
    expect([300_000, 300_001, -300_000, -300_001].map(at)).toEqual(['fine', 'too_old', 'fine', 'too_new'])
    const stamp = headers['webhook-timestamp'] ?? ''
    for (const spelt of [` ${stamp}`, `${stamp}.0`, `+${stamp}`, ''])
      expect(verify({ ...headers, 'webhook-timestamp': spelt })).toEqual({ ok: false, error: 'wrong_signature' })
  })

  test('falls back to the plain signature when one of the three headers is missing', () => {
    const { 'x-service-signature': plain, ...standard } = lower(sign(BODY))
    for (const name of Object.keys(standard)) {
      const some = { ...standard, [name]: undefined }
      expect(verify(some)).toEqual({ ok: false, error: 'missing_signature' })
      expect(verify({ ...some, 'x-service-signature': plain })).toEqual({ ok: true, value: { id: null } })
    }
  })

  test('takes the first value of a header that was sent several times', () => {
    const headers = lower(sign(BODY))
    const twice = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value, 'another']]))
    expect(verify(twice as unknown as Parameters<typeof verify>[0])).toEqual({ ok: true, value: { id: 'evt_1' } })
    expect(verify({ 'x-service-signature': [] } as unknown as Parameters<typeof verify>[0])).toEqual({
      ok: false,
      error: 'missing_signature',
    })
  })

  test('detects every changed bit in the body, and every other signature', () => {
    const headers = lower(sign(BODY))
    const plain = { 'x-service-signature': headers['x-service-signature'] }
    for (const sent of [headers, plain]) {
      fc.assert(
        fc.property(fc.nat(BODY.length - 1), fc.nat(7), (at, bit) => {
          const changed = Buffer.from(BODY)
          changed[at] = changed.readUInt8(at) ^ (1 << bit)
          expect(verify(sent, changed)).toEqual({ ok: false, error: 'wrong_signature' })
        }),
      )
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(verify({ 'x-service-signature': text }).ok).toBe(false)
      }),
    )
  })
})
