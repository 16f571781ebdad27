import { createHmac, timingSafeEqual } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSelfSigned } from '../../src/core/access/selfSigned.ts'
import { ALGORITHMS, signSubscribeToken, type SignOptions } from '../../src/sign.ts'

const token = '0123456789abcdef'.repeat(4)
const basics: SignOptions = { token, tokenId: 8, streamName: 'studio-1' }
const now = new Date('2026-01-31T12:00:00.900Z')

/** `basics` at `now`, made with Python's hmac and base64 modules. */
const KNOWN = [
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9',
  [
    'eyJzdHJlYW1pbmciOnsidG9rZW5JZCI6OCwidG9rZW5UeXBlIjoiU3Vic2NyaWJlIiwic3RyZWFtTmFtZSI6InN0dW',
    'Rpby0xIn0sImlhdCI6MTc2OTg2MDgwMCwiZXhwIjoxNzY5ODYwODYwfQ',
  ].join(''),
  'NQc3P6HL1B41Oi8kmHy57KTe3VyBgx6GXNOZoam07wM',
].join('.')

/** As any other JWT library does: split, verify the bytes as they stand, decode. */
function verify(jwt: string, key: string): { header: unknown; payload: unknown } {
  const [header = '', payload = '', signature = '', ...rest] = jwt.split('.')
  expect(rest).toEqual([])
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as { alg: string }
  const digest = createHmac(decode(header).alg.replace('HS', 'sha'), key).update(`${header}.${payload}`).digest()
  expect(timingSafeEqual(digest, Buffer.from(signature, 'base64url'))).toBe(true)
  return { header: decode(header), payload: decode(payload) }
}

describe('signSubscribeToken', () => {
  it('makes the compact form that other libraries expect: three parts of base64url without padding', () => {
    const jwt = signSubscribeToken({ ...basics, now })
    expect(jwt).toMatch(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/)
    const issued = Math.floor(now.getTime() / 1000)
    expect(verify(jwt, token)).toEqual({
      header: { alg: 'HS256', typ: 'JWT' },
      payload: {
        streaming: { tokenId: 8, tokenType: 'Subscribe', streamName: 'studio-1' },
        iat: issued,
        exp: issued + 60,
      },
    })
  })

  it('makes, byte for byte, the token that Python computes (HMAC-SHA-256 with the value as ASCII)', () => {
    const jwt = signSubscribeToken({ ...basics, now })
    expect(jwt).toBe(KNOWN)
  })

  it.each(ALGORITHMS)('is accepted by the parser of the service and verifies with %s and all options', (algorithm) => {
    const jwt = signSubscribeToken({
      ...basics,
      now,
      algorithm,
      expiresInSeconds: 300,
      allowedOrigins: ['*.example.com'],
      allowedIpAddresses: ['192.0.2.0/24'],
      tracking: { trackingId: 'campaign 7' },
      maxViewers: 3,
      endAtExpiry: true,
      customViewerData: 'seat 12 ü',
      jti: 'viewer-4711',
      notBefore: new Date('2026-01-31T12:01:00Z'),
    })
    verify(jwt, token)
    const parsed = parseSelfSigned(jwt)
    const issuedAtMs = Math.floor(now.getTime() / 1000) * 1000
    expect(parsed).toMatchObject({
      ok: true,
      value: {
        alg: algorithm,
        claims: {
          tokenId: 8,
          streamName: 'studio-1',
          trackingId: 'campaign 7',
          maxViewers: 3,
          endAtExpiry: true,
          customViewerData: 'seat 12 ü',
          jti: 'viewer-4711',
          issuedAtMs,
          notBeforeMs: Date.parse('2026-01-31T12:01:00Z'),
          expiresAtMs: issuedAtMs + 300_000,
        },
      },
    })
    if (!parsed.ok) return
    expect(parsed.value.claims.origins).toHaveLength(1)
    expect(parsed.value.claims.addresses).toHaveLength(1)
  })

  it('signs every stream name that a token may have, and the parser reads it back', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }).filter((s) => !/\p{Cc}/u.test(s))
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (streamName, tokenId) => {
        const parsed = parseSelfSigned(signSubscribeToken({ token, tokenId, streamName }))
        expect(parsed).toMatchObject({ ok: true, value: { claims: { streamName, tokenId } } })
      }),
      { numRuns: 200 },
    )
  })

  it.each<[string, Record<string, unknown>]>([
    ['allowedIpAdresses', { allowedIpAdresses: ['192.0.2.1'] }],
    ['token', { token: token.toUpperCase() }],
    ['token', { token: `${token}00` }],
    ['tokenId', { tokenId: '8' }],
    ['tokenId', { tokenId: 0 }],
    ['streamName', { streamName: '' }],
    ['streamName', { streamName: 'x'.repeat(129) }],
    ['streamName', { streamName: 'a\nb' }],
    ['expiresInSeconds', { expiresInSeconds: 0 }],
    ['expiresInSeconds', { expiresInSeconds: 1.5 }],
    ['allowedOrigins', { allowedOrigins: 'example.com' }],
    ['allowedIpAddresses', { allowedIpAddresses: [7] }],
    ['tracking.trackingId', { tracking: { trackingId: '' } }],
    ['maxViewers', { maxViewers: 2 }],
    ['maxViewers', { maxViewers: 1.5, tracking: { trackingId: 'a' } }],
    ['customViewerData', { customViewerData: 'x'.repeat(1025) }],
    ['jti', { jti: '' }],
    ['notBefore', { notBefore: new Date(Number.NaN) }],
    ['now', { now: 1_700_000_000 }],
    ['algorithm', { algorithm: 'none' }],
    ['token', { allowedOrigins: Array.from({ length: 40 }, () => 'x'.repeat(250)) }],
  ])('names %s when it is wrong: %j', (option, wrong) => {
    const sign = () => signSubscribeToken({ ...basics, ...wrong })
    expect(sign).toThrow(TypeError)
    expect(sign).toThrow(`signSubscribeToken: ${option} `)
  })
})

it('has a package entry that any Node from 20 on can import, without types to strip', async () => {
  const entry = import.meta.resolve('sluice/sign')
  expect(entry).toMatch(/\/dist\/sign\.js$/)
  const built = (await import(entry)) as typeof import('../../src/sign.ts')
  expect(built.signSubscribeToken({ ...basics, now })).toBe(KNOWN)
})
