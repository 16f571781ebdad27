import { createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBase64url } from '../../../src/core/validation/base64url.ts'
import { looksLikeJwt, parseSelfSigned } from '../../../src/core/access/selfSigned.ts'
import { parseJsonObject } from '../../../src/core/validation/strictJson.ts'

const STREAMING = { tokenId: 7, tokenType: 'Subscribe', streamName: 'lobby' }
const GOOD = { streaming: STREAMING, exp: 1_750_000_060 }
const encode = (part: unknown): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

function jwt(payload: unknown, header: unknown = { alg: 'HS256', typ: 'JWT' }, bytes = 32): string {
  return `${encode(header)}.${encode(payload)}.${Buffer.alloc(bytes, 7).toString('base64url')}`
}

const errorOf = (text: string): string => {
  const parsed = parseSelfSigned(text)
  return parsed.ok ? '' : parsed.error
}

describe('parseSelfSigned', () => {
  it('returns compiled claims, with times in milliseconds', () => {
    const streaming = {
      ...STREAMING,
      allowedOrigins: ['EXAMPLE.com'],
      allowedIpAddresses: ['10.1.2.3/8'],
      tracking: { trackingId: 't' },
      maxViewers: 2,
      customViewerData: 'seat 5',
      originCluster: 'auto',
    }
    const parsed = parseSelfSigned(jwt({ streaming, exp: 2, iat: 1.5, nbf: 0, jti: 'j', aud: 'x' }))
    expect(parsed).toMatchObject({
      ok: true,
      value: {
        alg: 'HS256',
        claims: {
          tokenId: 7,
          streamName: 'lobby',
          origins: [{ text: 'example.com' }],
          addresses: [{ text: '10.0.0.0/8' }],
          trackingId: 't',
          maxViewers: 2,
          customViewerData: 'seat 5',
          jti: 'j',
          issuedAtMs: 1500,
          notBeforeMs: 0,
          expiresAtMs: 2000,
        },
      },
    })
  })

  it('returns exactly the signed text, so that the signature can be verified', () => {
    const input = `${encode({ alg: 'HS512' })}.${encode(GOOD)}`
    const signature = createHmac('sha512', 'key').update(input).digest()
    const parsed = parseSelfSigned(`${input}.${signature.toString('base64url')}`)
    if (!parsed.ok) throw new Error(parsed.error)
    expect(parsed.value.signingInput).toBe(input)
    expect(Buffer.from(parsed.value.signature).equals(signature)).toBe(true)
  })

  it.each([
    [jwt(GOOD, { alg: 'none' }), /alg must be/],
    [jwt(GOOD, { alg: 'RS256' }), /alg must be/],
    [jwt(GOOD, { alg: ['HS256'] }), /alg must be/],
    [jwt(GOOD, {}), /alg must be/],
    [jwt(GOOD, '{"alg":"HS256","alg":"none"}'), /header is not/],
    [jwt(GOOD, '{"alg":"HS256","\\u0061lg":"HS256"}'), /header is not/],
    [jwt(GOOD, '{"alg":"none","__proto__":{"alg":"HS256"}}'), /alg must be/],
    [jwt(GOOD, '{"__proto__":{"alg":"HS256"}}'), /alg must be/],
    [jwt(GOOD, { alg: 'HS256', crit: [] }), /crit/],
    [jwt(GOOD, { alg: 'HS256', typ: 'at+jwt' }), /typ/],
    [jwt(GOOD, { alg: 'HS256', typ: null }), /typ/],
    [jwt(GOOD, { alg: 'HS384' }, 32), /signature/],
    [jwt(GOOD, { alg: 'HS256' }, 0), /signature/],
    [`${jwt(GOOD)}=`, /signature/],
    [`${jwt(GOOD)}.x`, /signature/],
    [`${jwt(GOOD)}\n`, /signature/],
    [jwt(GOOD).slice(0, -2), /signature/],
    ['a.b', /three parts/],
    ['', /three parts/],
    [jwt({ ...GOOD, sub: 'x'.repeat(8192) }), /longer than 8192/],
    [jwt('[]'), /payload is not/],
    [jwt('null'), /payload is not/],
    [jwt('{"exp":1,"exp":2}'), /payload is not/],
    [jwt(`\ufeff${JSON.stringify(GOOD)}`), /payload is not/],
    [jwt({ exp: 1 }), /streaming must be an object/],
    [jwt({ ...GOOD, streaming: [] }), /streaming must be an object/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, allowedOrigin: [] } }), /streaming.allowedOrigin is not known/],
    [jwt(`{"exp":1,"streaming":{"__proto__":{}}}`), /streaming.__proto__ is not known/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tokenId: '7' } }), /tokenId/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tokenId: 7.5 } }), /tokenId/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tokenId: 0 } }), /tokenId/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tokenType: 'Publish' } }), /tokenType/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, streamName: '' } }), /streamName must have/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, allowedOrigins: ['x', 'a/b'] } }), /allowedOrigins\[1\]: a path/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, allowedOrigins: [1] } }), /allowedOrigins\[0\]: must be a string/],
    [
      jwt({ ...GOOD, streaming: { ...STREAMING, allowedIpAddresses: '10.0.0.1' } }),
      /allowedIpAddresses must be a list/,
    ],
    [jwt({ ...GOOD, streaming: { ...STREAMING, allowedIpAddresses: ['::1'] } }), /allowedIpAddresses\[0\]: IPv6/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tracking: 't' } }), /tracking must be an object/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, tracking: { trackingId: '' } } }), /trackingId must have/],
    [jwt({ ...GOOD, streaming: { ...STREAMING, customViewerData: 5 } }), /customViewerData/],
    [jwt({ streaming: STREAMING }), /exp is required/],
    [jwt({ ...GOOD, exp: '1' }), /exp is required/],
    [jwt({ ...GOOD, exp: -1 }), /exp is required/],
    [jwt('{"exp":1e999,"streaming":{"tokenId":7,"tokenType":"Subscribe","streamName":"lobby"}}'), /exp is required/],
    [jwt({ ...GOOD, iat: null }), /iat/],
    [jwt({ ...GOOD, nbf: 'x' }), /nbf/],
    [jwt({ ...GOOD, jti: '' }), /jti must have 1 to 128/],
    [jwt({ ...GOOD, jti: 'a\0b' }), /jti must not contain control/],
  ])('refuses %s and says why', (text, why) => expect(errorOf(text)).toMatch(why))

  it('accepts its own JWT, and no text that differs in a single character of the signature', () => {
    expect(errorOf(jwt(GOOD))).toBe('')
    expect(errorOf(`${jwt(GOOD).slice(0, -1)}d`)).toMatch(/signature/)
  })
})

describe('looksLikeJwt', () => {
  it('distinguishes a JWT from the value of a token', () => {
    expect(looksLikeJwt(jwt(GOOD))).toBe(true)
    expect(looksLikeJwt('a1'.repeat(32))).toBe(false)
    expect(looksLikeJwt('a.b')).toBe(false)
    expect(looksLikeJwt('')).toBe(false)
  })
})

describe('decodeBase64url', () => {
  it('decodes the output of other encoders, and only one text per value', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50, size: 'max' }), (bytes) => {
        expect(decodeBase64url(Buffer.from(bytes).toString('base64url'))).toEqual(bytes)
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('AZaz09-_+/= é')) }), (text) => {
        const bytes = decodeBase64url(text)
        if (bytes !== null) expect(Buffer.from(bytes).toString('base64url')).toBe(text)
      }),
    )
  })
})

describe('parseJsonObject', () => {
  const read = (text: string): unknown => parseJsonObject(Buffer.from(text))

  it('reads every object that has each member once', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), fc.nat(3), (object, indent) => {
        expect(read(JSON.stringify(object, null, indent))).toEqual(JSON.parse(JSON.stringify(object)))
      }),
    )
  })

  it.each(['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"x":{"b":[{"c":1 , "c" : 2}]}}', '{"a":"\\"","a":1}'])(
    'refuses %s: a member is repeated',
    (text) => expect(read(text)).toBeNull(),
  )

  it.each(['{"a":{"a":1},"b":{"a":2}}', '{"a":"a","b":"a"}', '{"a":["a","a"]}', '{"a":"\\",\\"a\\":"}'])(
    'reads %s: the same text in different positions',
    (text) => expect(read(text)).toEqual(JSON.parse(text)),
  )

  it('refuses deep nesting and bytes that are not UTF-8', () => {
    expect(read(`{"a":${'['.repeat(16)}${']'.repeat(16)}}`)).toBeNull()
    expect(read(`{"a":${'['.repeat(15)}${']'.repeat(15)}}`)).not.toBeNull()
    expect(parseJsonObject(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))).toBeNull()
  })
})
