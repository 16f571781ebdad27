/**
 * Signs subscribe tokens where the parent's value is kept, for example in the backend of a web site. No dependencies,
 * no network: what it makes is a JWT (RFC 7519) in compact form (RFC 7515).
 */
import { createHmac } from 'node:crypto'

export type Algorithm = 'HS256' | 'HS384' | 'HS512'

export const ALGORITHMS = ['HS256', 'HS384', 'HS512'] as const satisfies readonly Algorithm[]

export interface SignOptions {
  /** The value of the parent subscribe token: 64 lower-case hexadecimal characters. */
  token: string
  /** The id of the parent subscribe token. */
  tokenId: number
  /** The one stream that the holder may view; the parent must cover it. */
  streamName: string
  /** How long it is valid, in seconds from now. The parent's expiry wins when it is earlier. Default 60. */
  expiresInSeconds?: number
  /** Must pass as well as the parent's: `host`, `*.host`, optionally with scheme and port. */
  allowedOrigins?: readonly string[]
  /** Must pass as well as the parent's: IPv4 addresses and CIDR blocks. */
  allowedIpAddresses?: readonly string[]
  /** The id under which the viewer's bytes are counted, 1 to 128 characters; the parent's when it has one. */
  tracking?: { trackingId: string }
  /** The most concurrent viewers with this tracking id, 1 to 1,000,000. It needs `tracking`. */
  maxViewers?: number
  /** The session ends when the token expires, or its parent. Without it the parent decides. */
  endAtExpiry?: boolean
  /** At most 1024 characters, without NUL. */
  customViewerData?: string
  /** A name of 1 to 128 characters by which this one token can be revoked. */
  jti?: string
  /** Not valid before this time. */
  notBefore?: Date
  /** Default HS256. */
  algorithm?: Algorithm
  /** The time of issue, for tests. Default: now. */
  now?: Date
}

/** A misspelt restriction must not be lost. */
const OPTIONS: ReadonlySet<string> = new Set(
  (
    'token tokenId streamName expiresInSeconds allowedOrigins allowedIpAddresses tracking maxViewers endAtExpiry ' +
    'customViewerData jti notBefore algorithm now'
  ).split(' '),
)

/** A service refuses longer ones unread. */
const MAX_LENGTH = 8192
const MAX_SECONDS = 2_147_483_647
const MAX_VIEWERS = 1_000_000
const NAME_RULE = 'must have 1 to 128 characters and no control characters'

/**
 * Makes a self-signed subscribe token: a JWT that a viewer presents wherever a subscribe token goes.
 * It can narrow its parent, never widen it.
 * @throws TypeError that names the option which is wrong, and what it may be
 */
export function signSubscribeToken(options: SignOptions): string {
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name))
  demand(unknown === undefined, unknown ?? '', 'is not an option')
  const algorithm = options.algorithm ?? 'HS256'
  demand(ALGORITHMS.includes(algorithm), 'algorithm', `must be ${ALGORITHMS.join(', ')}`)
  demand(
    /^[0-9a-f]{64}$/.test(options.token),
    'token',
    'must be the 64 lower-case hexadecimal characters of the parent',
  )
  const signingInput = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(payloadOf(options))}`
  // The key is the value as it stands, as ASCII: it is not decoded from hexadecimal.
  const key = Buffer.from(options.token, 'ascii')
  const signature = createHmac(algorithm.replace('HS', 'sha'), key).update(signingInput).digest('base64url')
  const jwt = `${signingInput}.${signature}`
  demand(jwt.length <= MAX_LENGTH, 'token', `would be ${jwt.length} characters long; ${MAX_LENGTH} is the most`)
  return jwt
}

function payloadOf(options: SignOptions): object {
  const { expiresInSeconds = 60, jti, notBefore, now = new Date() } = options
  demand(isWhole(expiresInSeconds, MAX_SECONDS), 'expiresInSeconds', `must be a whole number from 1 to ${MAX_SECONDS}`)
  demand(jti === undefined || isName(jti), 'jti', NAME_RULE)
  demand(isDate(now), 'now', 'must be a valid Date')
  demand(notBefore === undefined || isDate(notBefore), 'notBefore', 'must be a valid Date')
  const issuedAt = toSeconds(now)
  return {
    streaming: streamingOf(options),
    iat: issuedAt,
    exp: issuedAt + expiresInSeconds,
    ...(notBefore === undefined ? {} : { nbf: toSeconds(notBefore) }),
    ...(jti === undefined ? {} : { jti }),
  }
}

function streamingOf(options: SignOptions): object {
  const { tokenId, streamName, allowedOrigins, allowedIpAddresses, tracking, maxViewers, endAtExpiry } = options
  demand(isWhole(tokenId, Number.MAX_SAFE_INTEGER), 'tokenId', 'must be the whole number that is the id of the parent')
  demand(isName(streamName), 'streamName', NAME_RULE)
  demand(isListOfText(allowedOrigins), 'allowedOrigins', 'must be a list of texts')
  demand(isListOfText(allowedIpAddresses), 'allowedIpAddresses', 'must be a list of texts')
  demand(tracking === undefined || isName(tracking.trackingId), 'tracking.trackingId', NAME_RULE)
  demand(
    maxViewers === undefined || (tracking !== undefined && isWhole(maxViewers, MAX_VIEWERS)),
    'maxViewers',
    `must be a whole number from 1 to ${MAX_VIEWERS}, beside tracking`,
  )
  demand(endAtExpiry === undefined || typeof endAtExpiry === 'boolean', 'endAtExpiry', 'must be true or false')
  const data = options.customViewerData
  const isStorable = data === undefined || (isText(data, 0, 1024) && !data.includes('\0'))
  demand(isStorable, 'customViewerData', 'must have at most 1024 characters, without NUL')
  return {
    tokenId,
    tokenType: 'Subscribe',
    streamName,
    ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
    ...(allowedIpAddresses === undefined ? {} : { allowedIpAddresses }),
    ...(tracking === undefined ? {} : { tracking: { trackingId: tracking.trackingId } }),
    ...(maxViewers === undefined ? {} : { maxViewers }),
    ...(endAtExpiry === undefined ? {} : { endAtExpiry }),
    ...(data === undefined ? {} : { customViewerData: data }),
  }
}

function demand(holds: boolean, option: string, rule: string): void {
  if (!holds) throw new TypeError(`signSubscribeToken: ${option} ${rule}`)
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part), 'utf8').toString('base64url')

/** NumericDate of RFC 7519 section 2. */
const toSeconds = (date: Date): number => Math.floor(date.getTime() / 1000)

// Callers of a library may not use its types, so what arrives is not believed.
const isWhole = (value: unknown, max: number): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max
const isDate = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime())
const isText = (value: unknown, min: number, max: number): value is string =>
  typeof value === 'string' && value.length >= min && value.length <= max && value.isWellFormed()
/** Characters of a name are code points, as the service counts them. */
const isName = (value: unknown): boolean =>
  isText(value, 1, 256) && Array.from(value).length <= 128 && !/\p{Cc}/u.test(value)
const isListOfText = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((item) => isText(item, 1, 255)))
