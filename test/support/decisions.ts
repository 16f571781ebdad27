import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Protocol } from '../../src/core/access/protocols.ts'
import type { StreamEntry } from '../../src/core/access/streamName.ts'
import type { Action, CheckName, RefusalCode, TokenSnapshot } from '../../src/core/access/types.ts'
import type { TokenKind } from '../../src/core/tokens/types.ts'

/** A subscribe token as decisions see it, without a rule. */
export const PLAIN_TOKEN: TokenSnapshot = {
  id: 7,
  kind: 'subscribe',
  accountId: 'abc123',
  version: 1,
  isActive: true,
  expiresAtMs: null,
  streams: { exact: new Set(), patterns: [] },
  origins: [],
  addresses: [],
  bindLimit: 0,
  boundAddresses: new Set(),
  allowedCountries: new Set(),
  deniedCountries: new Set(),
  countrySource: 'token',
  accountVersion: 0,
  originRegion: null,
  mediaRegions: null,
  subscribeRequiresAuth: false,
  trackingId: null,
  maxViewers: 0,
  revokedBeforeMs: null,
  multisource: true,
  priority: null,
  record: false,
  enableThumbnails: false,
  enableUTCInsertion: false,
  transcode: false,
  hlsRenditions: [],
  hlsCodecs: 'h264',
  endSessionsOnUpdate: true,
  endAtExpiry: false,
  revokedJtis: new Set(),
}

/**
 * One case of test/decisions/*.yaml with every default filled in. The format is described in the README beside them.
 */
export interface DecisionCase {
  file: string
  name: string
  token: DecisionToken
  selfSigned: DecisionSelfSigned | null
  revoked: { jtis: string[]; issuedBeforeInSeconds: number | null }
  policy: 'refuse' | 'enforce'
  request: {
    action: Action
    protocol: Protocol
    streamName: string
    ip: string
    origin: string | null
    country: string | null
    accountId: 'own' | 'foreign' | 'omitted'
    present: 'token' | 'selfSigned' | 'none' | 'garbage' | 'unknown'
    secured: boolean
  }
  want: {
    allowed: boolean
    code?: RefusalCode
    message?: string
    failedCheck?: CheckName
    trackingId?: string | null
    bind?: string | null
    stamp?: string | null
  }
}

export interface DecisionToken {
  kind: TokenKind
  streams: StreamEntry[]
  isActive: boolean
  expiresInSeconds: number | null
  allowedOrigins: string[]
  allowedIpAddresses: string[]
  bindIpsOnUsage: number
  bound: string[]
  allowedCountries: string[]
  deniedCountries: string[]
  subscribeRequiresAuth: boolean
  tracking: { trackingId: string } | null
}

export interface DecisionSelfSigned {
  alg?: string
  typ?: string | null
  tokenId?: 'own' | 'unknown' | 'text'
  expInSeconds?: number
  iatInSeconds?: number
  nbfInSeconds?: number
  jti?: string
  /** Claims beside `streaming`, unchanged. */
  claims?: Record<string, unknown>
  /** Unknown members of `streaming`, unchanged. */
  extra?: Record<string, unknown>
  /** Claims, or members of `streaming`, to leave out. */
  omit?: string[]
  break?: Damage
  [streamingMember: string]: unknown
}

export type Damage =
  | 'signature'
  | 'otherKey'
  | 'hexKey'
  | 'unsigned'
  | 'payload'
  | 'algMismatch'
  | 'truncated'
  | 'padded'
  | 'fourParts'
  | 'duplicateAlg'
  | 'duplicateClaim'
  | 'crit'
  | 'notJson'
  | 'array'
  | 'tooLong'

/** The texts that clients see. They are repeated here, so that a test notices a change of the product's table. */
export const MESSAGES: Readonly<Record<RefusalCode, string>> = {
  token_missing: 'Unauthorized: Invalid token',
  invalid_token: 'Unauthorized: Invalid token',
  token_revoked: 'Unauthorized: Invalid token',
  token_disabled: 'Unauthorized: Token disabled',
  token_expired: 'Unauthorized: Token expired',
  stream_name_not_allowed: 'Unauthorized: StreamName is not valid for token',
  origin_not_allowed: 'Unauthorized: Origin not allowed',
  address_not_allowed: 'Unauthorized: IP Address not allowed',
  country_not_allowed: 'Unauthorized: Country not allowed',
  ip_filters_not_supported: 'Unauthorized: IP filters are not supported with RTMP',
  region_not_allowed: 'This token publishes only at servers of another region',
  stream_not_published: 'Stream not being published',
}

const FOLDER = new URL('../decisions/', import.meta.url)

/** A case as the file has it. */
interface RawCase {
  name: string
  token?: Partial<DecisionToken>
  selfSigned?: DecisionSelfSigned
  revoked?: Partial<DecisionCase['revoked']>
  policy?: DecisionCase['policy']
  request?: Partial<DecisionCase['request']>
  want: DecisionCase['want']
}

/** Every case of every file, in the order of the files' names. */
export function loadDecisions(): DecisionCase[] {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
  return files.flatMap((file) => {
    const cases = parse(readFileSync(new URL(file, FOLDER), 'utf8')) as RawCase[]
    return cases.map((raw) => complete(file.replace('.yaml', ''), raw))
  })
}

function complete(file: string, raw: RawCase): DecisionCase {
  const token: DecisionToken = { ...defaultToken(), ...raw.token }
  token.streams = token.streams.map(({ streamName, isRegex }) => ({ streamName, isRegex: isRegex ?? false }))
  const action = raw.request?.action ?? ACTIONS[token.kind]
  const selfSigned = raw.selfSigned ?? null
  const present = selfSigned === null ? 'token' : 'selfSigned'
  return {
    file,
    name: raw.name,
    token,
    selfSigned,
    revoked: { jtis: [], issuedBeforeInSeconds: null, ...raw.revoked },
    policy: raw.policy ?? 'refuse',
    request: { ...defaultRequest(action), present, ...raw.request },
    want: raw.want,
  }
}

const ACTIONS = { publish: 'publish', subscribe: 'view' } as const

const defaultToken = (): DecisionToken => ({
  kind: 'publish',
  streams: [{ streamName: '.*', isRegex: true }],
  isActive: true,
  expiresInSeconds: null,
  allowedOrigins: [],
  allowedIpAddresses: [],
  bindIpsOnUsage: 0,
  bound: [],
  allowedCountries: [],
  deniedCountries: [],
  subscribeRequiresAuth: false,
  tracking: null,
})

const defaultRequest = (action: Action): DecisionCase['request'] => ({
  action,
  protocol: action === 'publish' ? 'whip' : 'whep',
  streamName: 'lobby',
  ip: '192.0.2.1',
  origin: null,
  country: null,
  accountId: action === 'publish' ? 'omitted' : 'own',
  present: 'token',
  secured: true,
})

/**
 * The self-signed token of a case, signed with the parent's value and damaged as the case asks. `nowMs` is the time of
 * the decision, from which the times of the case count.
 */
export function signSelfSigned(test: DecisionCase, parent: { id: number; value: string }, nowMs: number): string {
  const self = test.selfSigned ?? {}
  const alg = self.alg ?? 'HS256'
  const header = encode(headerText(self, alg))
  const payload = encode(payloadText(self, test, parent.id, Math.floor(nowMs / 1000)))
  const key = self.break === 'hexKey' ? Buffer.from(parent.value, 'hex') : Buffer.from(parent.value, 'ascii')
  const signature = createHmac(
    digestOf(self.break === 'algMismatch' ? 'HS256' : alg),
    self.break === 'otherKey' ? 'x' : key,
  )
    .update(`${header}.${payload}`)
    .digest()
  return damage({ header, payload, signature }, self.break)
}

function headerText({ typ, ...self }: DecisionSelfSigned, alg: string): string {
  const type = typ === null ? {} : { typ: typ ?? 'JWT' }
  const text = JSON.stringify({ alg: self.break === 'algMismatch' ? 'HS512' : alg, ...type })
  if (self.break === 'duplicateAlg') return `{"alg":"none",${text.slice(1)}`
  if (self.break === 'crit') return `{"crit":["exp"],${text.slice(1)}`
  return text
}

function payloadText(self: DecisionSelfSigned, test: DecisionCase, parentId: number, nowS: number): string {
  if (self.break === 'notJson') return 'exp=1'
  const payload = {
    streaming: without(streamingClaim(self, test, parentId), self.omit),
    exp: nowS + (self.expInSeconds ?? 60),
    ...(self.iatInSeconds === undefined ? {} : { iat: nowS + self.iatInSeconds }),
    ...(self.nbfInSeconds === undefined ? {} : { nbf: nowS + self.nbfInSeconds }),
    ...(self.jti === undefined ? {} : { jti: self.jti }),
    ...(self.break === 'tooLong' ? { sub: 'x'.repeat(8192) } : {}),
    ...self.claims,
  }
  const text = JSON.stringify(without(payload, self.omit))
  if (self.break === 'array') return `[${text}]`
  return self.break === 'duplicateClaim' ? `{"exp":${nowS + 86_400},${text.slice(1)}` : text
}

const STREAMING_MEMBERS = [
  'tokenType',
  'streamName',
  'allowedOrigins',
  'allowedIpAddresses',
  'tracking',
  'customViewerData',
  'originCluster',
]

function streamingClaim(self: DecisionSelfSigned, test: DecisionCase, parentId: number): Record<string, unknown> {
  const ids = { own: parentId, unknown: 2_000_000_000, text: String(parentId) }
  const given = Object.fromEntries(STREAMING_MEMBERS.filter((key) => key in self).map((key) => [key, self[key]]))
  return {
    tokenId: ids[self.tokenId ?? 'own'],
    tokenType: 'Subscribe',
    streamName: test.request.streamName,
    ...given,
    ...self.extra,
  }
}

const without = (object: Record<string, unknown>, keys: string[] = []): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))

const encode = (text: string): string => Buffer.from(text).toString('base64url')

const digestOf = (alg: string): string => ({ HS384: 'sha384', HS512: 'sha512' })[alg] ?? 'sha256'

function damage(parts: { header: string; payload: string; signature: Buffer }, how: Damage | undefined): string {
  const { header, payload, signature } = parts
  if (how === 'signature') signature.writeUInt8(signature.readUInt8(0) ^ 1, 0)
  const whole = `${header}.${payload}.${signature.toString('base64url')}`
  if (how === 'unsigned') return `${header}.${payload}.`
  if (how === 'truncated') return whole.slice(0, -1)
  if (how === 'padded') return `${whole}=`
  if (how === 'fourParts') return `${whole}.e30`
  return how === 'payload' ? whole.replace(payload, changed(payload)) : whole
}

/** The same claims, valid for one more hour. */
function changed(payload: string): string {
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp: number }
  return encode(JSON.stringify({ ...claims, exp: claims.exp + 3600 }))
}
