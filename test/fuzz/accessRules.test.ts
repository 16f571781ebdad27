import { BlockList } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Result } from '../../src/base/result.ts'
import { parseAddress, parseAddressRule } from '../../src/core/access/address.ts'
import { decide } from '../../src/core/access/decide.ts'
import { parseOriginRule } from '../../src/core/access/origin.ts'
import { compileStreams } from '../../src/core/access/streamName.ts'
import type { TokenSnapshot } from '../../src/core/access/types.ts'
import { PLAIN_TOKEN } from '../support/decisions.ts'

const RUNS = 3000
const NOW_MS = 1_750_000_000_000

/** A pattern of RE2, and a RegExp of JavaScript that takes the same names. */
const PATTERNS: readonly (readonly [re2: string, same: RegExp])[] = [
  ['room-[0-9]{1,2}', /^room-[0-9]{1,2}$/u],
  ['(?i)Room-.', /^room-.$/iu],
  ['(?i)k', /^k$/iu],
  ['ro(?i:OM)-1', /^ro[oO][mM]-1$/u],
  ['a|ab', /^(?:a|ab)$/u],
  ['^a$|^B', /^(?:a|B)$/u],
  ['\\pL+', /^\p{L}+$/u],
  ['[[:alpha:]]+', /^[A-Za-z]+$/u],
  ['[^a-z]*', /^[^a-z]*$/u],
  ['\\Qa.b\\E', /^a\.b$/u],
  ['(?s).+', /^.+$/su],
]
const HOSTS = [
  'example.com',
  'a.example.com',
  'EXAMPLE.com',
  'bücher.example',
  'xn--bcher-kva.example',
  '192.0.2.1',
  '[2001:db8::1]',
]
const NEAR_HOSTS = [
  'b.a.example.com',
  'badexample.com',
  'example.com.',
  'x.bücher.example',
  '[2001:DB8:0::1]',
  'example.com.evil.test',
]
const PORTS = ['', ':80', ':443', ':8443']
const MORE_SCHEMES = ['http', 'https', 'app']
const oneOf = <T>(...all: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...all)
const few = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(fc.constant<T[]>([]), fc.array(one, { minLength: 1, maxLength: 3 }))

const originRules = few(
  fc.record({ scheme: oneOf('', ...MORE_SCHEMES), isWild: fc.boolean(), host: oneOf(...HOSTS), port: oneOf(...PORTS) }),
)
const networks = few(
  fc.record({
    base: oneOf('10.1.2.3', '10.1.0.0', '192.0.2.1', '0.0.0.0', '255.255.255.255'),
    prefix: fc.integer({ min: 0, max: 32 }),
  }),
)
const tokens = fc.record({
  kind: oneOf('publish' as const, 'subscribe' as const),
  origins: originRules,
  networks,
  names: few(oneOf('a', 'room-1', 'Ä', 'a.b')),
  patterns: fc.subarray(PATTERNS.map((_, at) => at)),
  isActive: oneOf(true, true, true, false),
  expiresInMs: oneOf(null, null, 1, 0, -1),
  bindLimit: oneOf(0, 0, 1, 2),
  bound: fc.subarray(['10.1.2.3', '2001:db8::1']),
  allowed: few(oneOf('DE', 'FR')),
  region: oneOf(null, null, 'north', 'south'),
})
const attempts = fc.record({
  protocol: oneOf('whip' as const, 'rtmp' as const, 'srt' as const, 'whep' as const, 'hls' as const),
  streamName: oneOf('a', 'A', 'ab', 'B', 'room-1', 'ROOM-12', 'room-1x', 'Ä', 'a.b', 'axb', '🎥', '\u212a', 'room-1\n'),
  ip: oneOf(
    '10.1.2.3',
    '10.1.2.4',
    '192.0.2.1',
    '::ffff:10.1.2.3',
    '0:0:0:0:0:FFFF:0a01:0203',
    '2001:db8::1',
    '2001:0DB8:0::1',
    '::1',
  ),
  scheme: oneOf('HTTPS', 'ftp', ...MORE_SCHEMES),
  host: oneOf(null, ...HOSTS, ...NEAR_HOSTS),
  port: oneOf(':0443', ...PORTS),
  country: oneOf(null, 'DE', 'US'),
  accountId: oneOf('abc123', 'abc123', 'abc123', 'zzz999'),
  policy: fc.record({ rtmpIpFilters: oneOf('refuse' as const, 'enforce' as const), region: oneOf('', 'north') }),
})
type TokenParts = typeof tokens extends fc.Arbitrary<infer T> ? T : never
type AttemptParts = typeof attempts extends fc.Arbitrary<infer T> ? T : never
type OriginParts = TokenParts['origins'][number]

const hostOf = (host: string): string => new URL(`http://${host}`).hostname
const usualPort = (scheme: string, port: string): string =>
  port === '' ? ({ http: ':80', https: ':443' }[scheme] ?? '') : port
const ruleText = ({ scheme, isWild, host, port }: OriginParts): string =>
  `${scheme === '' ? '' : `${scheme}://`}${isWild ? '*.' : ''}${host}${port}`

/** What the lists of a token say, computed in another way. */
function admits(token: TokenParts, attempt: AttemptParts): boolean {
  const { protocol, streamName, policy } = attempt
  const action = protocol === 'whep' || protocol === 'hls' ? 'view' : 'publish'
  const isFiltered = token.bindLimit > 0 || token.networks.length > 0
  const name = token.names.includes(streamName) || token.patterns.some((at) => PATTERNS[at]?.[1].test(streamName))
  const address = hexAddress(attempt.ip)
  return (
    (action === 'publish' || attempt.accountId === 'abc123') &&
    (action === 'publish') === (token.kind === 'publish') &&
    token.isActive &&
    (token.expiresInMs ?? 1) > 0 &&
    name &&
    !/\p{Cc}/u.test(streamName) &&
    (token.origins.length === 0 ||
      (protocol !== 'rtmp' && protocol !== 'srt' && token.origins.some((rule) => isOf(rule, attempt)))) &&
    (token.networks.length === 0 || isWithin(token.networks, address)) &&
    (token.allowed.length === 0 || token.allowed.some((country) => country === attempt.country)) &&
    !(protocol === 'rtmp' && isFiltered && policy.rtmpIpFilters === 'refuse') &&
    (action === 'view' || token.region === null || token.region === policy.region) &&
    (token.bindLimit === 0 || token.bound.includes(address) || token.bound.length < token.bindLimit)
  )
}

/** As the system writes it. */
function hexAddress(ip: string): string {
  const text = ip.includes(':') ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text) ?? []
  if (high === undefined || low === undefined) return text
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}

function isWithin(all: TokenParts['networks'], address: string): boolean {
  const list = new BlockList()
  for (const { base, prefix } of all) list.addSubnet(base, prefix, 'ipv4')
  return !address.includes(':') && list.check(address, 'ipv4')
}

function isOf(rule: OriginParts, { host, port, scheme: written }: AttemptParts): boolean {
  if (host === null || port === ':0443') return false
  const scheme = written.toLowerCase()
  const isWeb = scheme === 'http' || scheme === 'https'
  const isAnyPort = rule.scheme === '' && rule.port === ''
  const [own, of] = [hostOf(host), hostOf(rule.host)]
  return (
    (rule.scheme === '' ? isWeb : rule.scheme === scheme) &&
    (isAnyPort || usualPort(scheme, port) === usualPort(rule.scheme, rule.port)) &&
    (rule.isWild ? own.endsWith(`.${of}`) : own === of)
  )
}

function tokenOf(parts: TokenParts): TokenSnapshot {
  const patterns = parts.patterns.map((at) => ({ streamName: PATTERNS[at]?.[0] ?? '', isRegex: true }))
  return {
    ...PLAIN_TOKEN,
    kind: parts.kind,
    isActive: parts.isActive,
    expiresAtMs: parts.expiresInMs === null ? null : NOW_MS + parts.expiresInMs,
    streams: must(compileStreams([...parts.names.map((streamName) => ({ streamName, isRegex: false })), ...patterns])),
    origins: parts.origins.map((rule) => must(parseOriginRule(ruleText(rule)))),
    addresses: parts.networks.map(({ base, prefix }) => must(parseAddressRule(`${base}/${prefix}`))),
    bindLimit: parts.bindLimit,
    boundAddresses: new Set(parts.bound),
    allowedCountries: new Set(parts.allowed),
    originRegion: parts.kind === 'publish' ? parts.region : null,
  }
}

describe('a token', () => {
  it('admits what its lists say and nothing else, and its trace says so, too', () => {
    let admitted = 0
    fc.assert(
      fc.property(tokens, attempts, (given, attempt) => {
        // An IP address has no subdomains, and the rule of an app no wildcard.
        const parts = { ...given, origins: given.origins.filter((rule) => parseOriginRule(ruleText(rule)).ok) }
        const { protocol, policy, host, scheme, port, ip } = attempt
        const action = protocol === 'whep' || protocol === 'hls' ? 'view' : 'publish'
        const address = parseAddress(ip)
        if (address === null) throw new Error(`${ip} is no address`)
        const { streamName, country } = attempt
        const decision = decide(
          {
            action,
            protocol,
            streamName,
            country,
            address,
            streamIsSecured: true,
            accountId: action === 'publish' ? null : attempt.accountId,
            credential: { kind: 'token', token: tokenOf(parts) },
            origin: host === null ? null : `${scheme}://${host}${port}`,
          },
          policy,
          NOW_MS,
        )
        expect(decision.allowed).toBe(admits(parts, attempt))
        expect(decision.trace.every(({ outcome }) => outcome !== 'fail')).toBe(decision.allowed)
        if (decision.allowed) admitted++
      }),
      // All of them in every run: one in thirty is admitted.
      { numRuns: RUNS },
    )
    expect(admitted).toBeGreaterThan(RUNS / 200)
  })
})

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
