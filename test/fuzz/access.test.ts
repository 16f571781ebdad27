import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Result } from '../../src/base/result.ts'
import { matchesAddress, parseAddress, parseAddressRule } from '../../src/core/access/address.ts'
import { decide } from '../../src/core/access/decide.ts'
import { matchesOrigin, parseOriginRule } from '../../src/core/access/origin.ts'
import { looksLikeJwt, parseSelfSigned } from '../../src/core/access/selfSigned.ts'
import { compilePattern, compileStreams, covers } from '../../src/core/access/streamName.ts'
import type { AccessRequest, Credential, TokenSnapshot } from '../../src/core/access/types.ts'
import { PLAIN_TOKEN } from '../support/decisions.ts'
import { cases } from '../support/randomCases.ts'

type Crashers = Record<'patterns' | 'origins' | 'addresses' | 'jwts', string[]>
const crashers = JSON.parse(readFileSync(new URL('crashers/access.json', import.meta.url), 'utf8')) as Crashers

const RUNS = 300

/** Processor time, of which a text needs milliseconds: this detects a hang. */
const HANG_MS = 2_000

/** Texts of the alphabet, arbitrary Unicode, and saved texts with a small change. */
function texts(kept: string[], alphabet: string): fc.Arbitrary<string> {
  const unit = fc.oneof(
    fc.constantFrom(...Array.from(alphabet)),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  const spliced = fc
    .tuple(fc.constantFrom(...kept), fc.nat(), unit)
    .map(([text, at, extra]) => text.slice(0, at % (text.length + 1)) + extra + text.slice(at % (text.length + 1)))
  return fc.oneof(
    fc.string({ unit: fc.constantFrom(...Array.from(alphabet)), maxLength: 40, size: 'max' }),
    fc.string({ unit: 'binary' }),
    spliced,
  )
}

/** Every saved text, then generated ones. */
function forAll(kept: string[], alphabet: string, check: (text: string) => void): void {
  for (const text of kept) check(text)
  fc.assert(
    fc.property(texts(kept, alphabet), (text) => {
      const start = process.threadCpuUsage()
      check(text)
      if (process.threadCpuUsage(start).user > HANG_MS * 1000) throw new Error('took too long')
    }),
    cases(RUNS),
  )
}

describe('whatever is sent', () => {
  it('patterns never throw, and match names in bounded time', () => {
    forAll(crashers.patterns, 'ab()|*+?{}[]^$.\\Qd,01:<>=!i', (text) => {
      const pattern = compilePattern(text)
      if (!pattern.ok) return expect(pattern.error).not.toBe('')
      for (const name of ['a', 'a'.repeat(128), `${'ab'.repeat(60)}!`, '🎥']) pattern.value.matches(name)
    })
  })

  it('an accepted address rule is a fixed point, and contains its own first and last address', () => {
    const kept = [...crashers.addresses, '192.0.2.1', '192.0.2.0/24', '0.0.0.0/0']
    forAll(kept, '0123456789./:abf%-*', (text) => {
      const rule = parseAddressRule(text)
      if (!rule.ok) return
      expect(parseAddressRule(rule.value.text)).toEqual(rule)
      expect(rule.value.first).toBeLessThanOrEqual(rule.value.last)
      expect(matchesAddress([rule.value], { family: 4, value: rule.value.last, text: '' })).toBe(true)
    })
  })

  it('an accepted address is a fixed point', () => {
    forAll(crashers.addresses, '0123456789.:abf%', (text) => {
      const address = parseAddress(text)
      if (address !== null) expect(parseAddress(address.text)).toEqual(address)
    })
  })

  it('an accepted origin rule is a fixed point, and matches only headers with one origin', () => {
    forAll(crashers.origins, 'ab.*:/@[]0123xn-%_\u00ad。ßé', (text) => {
      const rule = parseOriginRule(text)
      if (rule.ok) expect(parseOriginRule(rule.value.text)).toEqual(rule)
      for (const header of [text, `https://${text}`, `http://${text}/`]) {
        if (rule.ok && matchesOrigin([rule.value], header))
          expect(header).toMatch(/^[a-z][a-z0-9+.-]*:\/\/[^/\s,@?#]+$/i)
      }
    })
  })

  it('a rule made of an origin matches that origin', () => {
    forAll(crashers.origins, 'ab.:0123xn-_', (text) => {
      const rule = parseOriginRule(`https://${text}`)
      if (rule.ok && !rule.value.subdomains) expect(matchesOrigin([rule.value], rule.value.text)).toBe(true)
    })
  })

  it('self-signed tokens never throw, and errors never quote them', () => {
    forAll(crashers.jwts, 'eyJhbGciOiUzI1NiJ9.AQ_-=', (text) => {
      looksLikeJwt(text)
      const parsed = parseSelfSigned(text)
      if (!parsed.ok && text.length > 20) expect(parsed.error).not.toContain(text)
    })
  })

  it('payloads of every shape never throw', () => {
    const member = fc.constantFrom(
      'tokenId',
      'tokenType',
      'streamName',
      'allowedOrigins',
      'allowedIpAddresses',
      'tracking',
    )
    const streaming = fc.oneof(fc.dictionary(member, fc.jsonValue()), fc.jsonValue())
    const payload = fc.record({ streaming, exp: fc.jsonValue(), jti: fc.jsonValue() }, { requiredKeys: [] })
    fc.assert(
      fc.property(payload, (claims) => {
        expect(() => parseSelfSigned(sign(claims))).not.toThrow()
      }),
      cases(RUNS),
    )
  })
})

const NOW_MS = 1_750_000_000_000
const names = fc.constantFrom('a', 'b', 'room-1', 'room-2')
const mostlyNone = (all: string[]) => fc.oneof(fc.constant<string[]>([]), fc.subarray(all))
const origins = mostlyNone(['a.example.com', '*.example.com', 'http://b.example.com', 'example.com'])
const addresses = mostlyNone(['10.0.0.0/8', '10.1.0.0/16', '192.0.2.1', '0.0.0.0/0'])
const rules = fc.record({ origins, addresses, trackingId: fc.constantFrom(null, 't', 'u') })
const parents = fc.record({
  rules,
  streams: fc.subarray(['a', 'b', 'room-.*', '.*'], { minLength: 1 }),
  isActive: fc.constantFrom(true, true, true, false),
  expiresInMs: fc.constantFrom(null, 60_000, 60_000, 1, 0, -1),
  bindLimit: fc.constantFrom(0, 1, 2),
  bound: fc.subarray(['10.0.0.1', '192.0.2.1']),
  allowed: mostlyNone(['DE', 'FR']),
})
const requests = fc.record({
  streamName: names,
  protocol: fc.constantFrom('whep' as const, 'hls' as const, 'rtmp' as const),
  ip: fc.constantFrom('10.0.0.1', '10.1.0.1', '192.0.2.1', '::ffff:10.1.0.1', '2001:db8::1'),
  origin: fc.constantFrom(null, 'https://a.example.com', 'http://b.example.com', 'https://example.com', 'null'),
  country: fc.constantFrom(null, 'DE', 'US'),
  accountId: fc.constantFrom('abc123', 'abc123', 'abc123', 'zzz999'),
})

describe('a self-signed token', () => {
  it('that is admitted has a parent that would be admitted from the same address', () => {
    let admitted = 0
    fc.assert(
      fc.property(
        parents,
        rules,
        requests,
        names,
        fc.integer({ min: 0, max: 90 }),
        (parent, child, request, otherName, ttl) => {
          const token = snapshot(parent)
          const claims = must(parseSelfSigned(sign(childClaims(child, otherName ?? request.streamName, ttl)))).claims
          const asChild = ask(request, { kind: 'selfSigned', token, claims })
          if (!asChild.allowed) return
          admitted++
          const asParent = ask(request, { kind: 'token', token })
          expect(asParent).toMatchObject({ allowed: true, effects: asChild.effects })
          expect(claims.streamName).toBe(request.streamName)
          expect(covers(token.streams, request.streamName)).toBe(true)
          if (token.trackingId !== null) expect(asChild.trackingId).toBe(token.trackingId)
        },
      ),
      // All of them in every run: one in a hundred is admitted.
      { numRuns: RUNS * 12 },
    )
    expect(admitted).toBeGreaterThan(RUNS / 20)
  })
})

function ask(request: RequestParts, credential: Credential) {
  const { ip, ...parts } = request
  const address = parseAddress(ip)
  if (address === null) throw new Error(`${ip} is no address`)
  const full: AccessRequest = { action: 'view', ...parts, credential, address, streamIsSecured: true }
  return decide(full, { rtmpIpFilters: 'refuse', region: '' }, NOW_MS)
}

type RequestParts = typeof requests extends fc.Arbitrary<infer T> ? T : never
type ParentParts = typeof parents extends fc.Arbitrary<infer T> ? T : never
type RuleParts = typeof rules extends fc.Arbitrary<infer T> ? T : never

function snapshot(parent: ParentParts): TokenSnapshot {
  const { expiresInMs, bound, allowed } = parent
  return {
    ...PLAIN_TOKEN,
    isActive: parent.isActive,
    expiresAtMs: expiresInMs === null ? null : NOW_MS + expiresInMs,
    streams: must(
      compileStreams(parent.streams.map((streamName) => ({ streamName, isRegex: streamName.includes('*') }))),
    ),
    origins: parent.rules.origins.map((text) => must(parseOriginRule(text))),
    addresses: parent.rules.addresses.map((text) => must(parseAddressRule(text))),
    bindLimit: parent.bindLimit,
    boundAddresses: new Set(bound),
    allowedCountries: new Set(allowed),
    trackingId: parent.rules.trackingId,
  }
}

function childClaims(child: RuleParts, streamName: string, ttl: number): object {
  const tracking = child.trackingId === null ? null : { trackingId: child.trackingId }
  const lists = { allowedOrigins: child.origins, allowedIpAddresses: child.addresses }
  return { streaming: { tokenId: 7, tokenType: 'Subscribe', streamName, tracking, ...lists }, exp: NOW_MS / 1000 + ttl }
}

function sign(payload: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'HS256' })}.${encode(payload)}`
  return `${input}.${createHmac('sha256', 'key').update(input).digest('base64url')}`
}

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
