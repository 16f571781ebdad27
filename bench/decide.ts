// The cost of one access decision against the least work that any implementation must do: hash and look up, or verify
// an HMAC. Run: node bench/decide.ts. Each figure is the median of interleaved slices, so that a busy machine affects
// all of them equally.
import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { parseAddress, parseAddressRule } from '../src/core/access/address.ts'
import { decide } from '../src/core/access/decide.ts'
import { parseOriginRule } from '../src/core/access/origin.ts'
import { type ParsedJwt, parseSelfSigned } from '../src/core/access/selfSigned.ts'
import { compileStreams } from '../src/core/access/streamName.ts'
import type { AccessRequest, Credential, TokenSnapshot } from '../src/core/access/types.ts'
import type { Result } from '../src/base/result.ts'
import { PLAIN_TOKEN } from '../test/support/decisions.ts'
import { median } from './lib/report.ts'

const SLICES = 41
const CALLS_PER_SLICE = 5_000
const NOW_MS = 1_750_000_000_000
const NOW_S = NOW_MS / 1000

const value = 'a1'.repeat(32)
const key = createSecretKey(Buffer.from(value, 'ascii'))
const parent: TokenSnapshot = {
  ...PLAIN_TOKEN,
  expiresAtMs: NOW_MS + 3_600_000,
  streams: must(
    compileStreams([
      { streamName: 'lobby', isRegex: false },
      { streamName: 'room-[0-9]+', isRegex: true },
    ]),
  ),
  origins: ['https://*.example.com', 'studio.example.org'].map((text) => must(parseOriginRule(text))),
  addresses: ['10.0.0.0/8', '192.0.2.0/24', '198.51.100.7'].map((text) => must(parseAddressRule(text))),
  bindLimit: 2,
  boundAddresses: new Set(['192.0.2.9']),
  allowedCountries: new Set(['DE', 'FR', 'NL']),
  trackingId: 'customer-1',
}
const byHash = new Map([[hash('sha256', value, 'hex'), parent]])
for (let i = 0; i < 10_000; i++) byHash.set(hash('sha256', `other ${i}`, 'hex'), parent)
const byId = new Map([[parent.id, { token: parent, key }]])
const jwt = sign(key, {
  streaming: { tokenId: 7, tokenType: 'Subscribe', streamName: 'room-12', allowedOrigins: [], allowedIpAddresses: [] },
  iat: NOW_S,
  exp: NOW_S + 60,
})
const { signingInput, signature } = must(parseSelfSigned(jwt))

const tasks = {
  'floor: sha256 + Map.get': () => byHash.get(hash('sha256', value, 'hex')) !== undefined,
  'stored token: sha256 + Map.get + decide': () => allowed(storedCredential(value)),
  'decide alone': () => allowed({ kind: 'token', token: parent }),
  'floor: HMAC verify': () => verify({ signingInput, signature }, key),
  'self-signed: parse + HMAC verify + decide': () => allowed(selfSignedCredential(jwt)),
}

const medians = measure(tasks)
for (const [name, us] of Object.entries(medians)) console.log(`${us.toFixed(2).padStart(7)} us  ${name}`)
ratio('stored token: sha256 + Map.get + decide', 'floor: sha256 + Map.get')
ratio('self-signed: parse + HMAC verify + decide', 'floor: HMAC verify')

function storedCredential(presented: string): Credential {
  const token = byHash.get(hash('sha256', presented, 'hex'))
  return token === undefined ? { kind: 'unknown', why: 'no such token' } : { kind: 'token', token }
}

function selfSignedCredential(presented: string): Credential {
  const parsed = must(parseSelfSigned(presented))
  const found = byId.get(parsed.claims.tokenId)
  if (found === undefined || !verify(parsed, found.key)) return { kind: 'unknown', why: 'wrongly signed' }
  return { kind: 'selfSigned', token: found.token, claims: parsed.claims }
}

function verify(parsed: Pick<ParsedJwt, 'signingInput' | 'signature'>, secret: KeyObject): boolean {
  return timingSafeEqual(createHmac('sha256', secret).update(parsed.signingInput).digest(), parsed.signature)
}

function allowed(credential: Credential): boolean {
  const address = parseAddress('192.0.2.9')
  if (address === null) throw new Error('unreachable')
  const request: AccessRequest = {
    action: 'view',
    protocol: 'whep',
    accountId: 'abc123',
    streamName: 'room-12',
    credential,
    address,
    origin: 'https://watch.example.com',
    country: 'DE',
    streamIsSecured: true,
  }
  return decide(request, { rtmpIpFilters: 'refuse', region: '' }, NOW_MS).allowed
}

/** Microseconds per call, median of the slices. Every call must succeed; otherwise it would measure a refusal. */
function measure(tasks: Record<string, () => boolean>): Record<string, number> {
  const slices: Record<string, number[]> = {}
  for (let slice = 0; slice < SLICES; slice++) {
    for (const [name, task] of Object.entries(tasks)) (slices[name] ??= []).push(timeSlice(name, task))
  }
  return Object.fromEntries(Object.entries(slices).map(([name, times]) => [name, median(times)]))
}

function timeSlice(name: string, task: () => boolean): number {
  const start = performance.now()
  let succeeded = 0
  for (let call = 0; call < CALLS_PER_SLICE; call++) if (task()) succeeded++
  if (succeeded !== CALLS_PER_SLICE) throw new Error(`${name}: refused`)
  return ((performance.now() - start) * 1000) / CALLS_PER_SLICE
}

function ratio(name: string, floor: string): void {
  const [ours, least] = [medians[name] ?? Number.NaN, medians[floor] ?? Number.NaN]
  console.log(`${(ours / least).toFixed(2).padStart(7)} x   ${name} / ${floor}`)
}

function sign(secret: KeyObject, payload: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
