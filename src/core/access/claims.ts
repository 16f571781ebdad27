import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type AddressRule, parseAddressRule } from './address.ts'
import { type OriginRule, parseOriginRule } from './origin.ts'
import { type JsonObject } from '../validation/strictJson.ts'
import { nameProblem } from '../validation/text.ts'
import { checkStreamName } from './streamName.ts'
import type { SelfSignedClaims } from './types.ts'

/** Bounds that the rules of a self-signed token share with those of its parent. */
export const RULE_LIMITS = { originsMax: 256, addressesMax: 1000, trackingIdMax: 128, viewersMax: 1_000_000 } as const

/** UTF-16 units. */
export const CUSTOM_VIEWER_DATA_MAX = 1_024

/**
 * The largest number of seconds that a date can hold (ECMA-262 section 21.4.1.1). Beyond it milliseconds lose their
 * precision.
 */
const SECONDS_MAX = 8.64e12

/** Any other member is refused: a misspelt restriction must not be ignored. */
const STREAMING_KEYS: ReadonlySet<string> = new Set([
  'tokenId',
  'tokenType',
  'streamName',
  'allowedOrigins',
  'allowedIpAddresses',
  'tracking',
  'maxViewers',
  'endAtExpiry',
  'customViewerData',
  'originCluster',
])

/** Validates and compiles the payload of a self-signed subscribe token. Unknown top-level claims are ignored. */
export function claimsOf(payload: JsonObject): Result<SelfSignedClaims, string> {
  const { streaming } = payload
  if (!isObject(streaming)) return err('the claim streaming must be an object')
  const unknown = Object.keys(streaming).find((key) => !STREAMING_KEYS.has(key))
  if (unknown !== undefined) return err(`streaming.${unknown.slice(0, 64)} is not known`)
  const subject = readSubject(streaming)
  if (!subject.ok) return subject
  const restrictions = readRestrictions(streaming)
  if (!restrictions.ok) return restrictions
  const viewer = readViewer(streaming)
  if (!viewer.ok) return viewer
  const registered = readRegistered(payload)
  if (!registered.ok) return registered
  return ok({ ...subject.value, ...restrictions.value, ...viewer.value, ...registered.value })
}

type Part<K extends keyof SelfSignedClaims> = Result<Pick<SelfSignedClaims, K>, string>

function readSubject({ tokenId, tokenType, streamName }: JsonObject): Part<'tokenId' | 'streamName'> {
  if (typeof tokenId !== 'number' || !Number.isSafeInteger(tokenId) || tokenId < 1) {
    return err('streaming.tokenId must be the integer id of the parent token')
  }
  if (tokenType !== 'Subscribe') return err('streaming.tokenType must be "Subscribe"')
  if (typeof streamName !== 'string') return err('streaming.streamName must be a string')
  const invalid = checkStreamName(streamName)
  return invalid === null ? ok({ tokenId, streamName }) : err(`streaming.streamName ${invalid}`)
}

function readRestrictions(streaming: JsonObject): Part<'origins' | 'addresses'> {
  const origins = readRules<OriginRule>('allowedOrigins', streaming, RULE_LIMITS.originsMax, parseOriginRule)
  if (!origins.ok) return origins
  const addresses = readRules<AddressRule>('allowedIpAddresses', streaming, RULE_LIMITS.addressesMax, parseAddressRule)
  return addresses.ok ? ok({ origins: origins.value, addresses: addresses.value }) : addresses
}

function readRules<T>(
  key: string,
  streaming: JsonObject,
  max: number,
  parse: (text: string) => Result<T, string>,
): Result<readonly T[], string> {
  const list = streaming[key] ?? []
  if (!Array.isArray(list) || list.length > max) return err(`streaming.${key} must be a list of at most ${max}`)
  const rules: T[] = []
  for (const [index, item] of (list as unknown[]).entries()) {
    const rule = typeof item === 'string' ? parse(item) : err('must be a string')
    if (!rule.ok) return err(`streaming.${key}[${index}]: ${rule.error}`)
    rules.push(rule.value)
  }
  return ok(rules)
}

type Viewer = 'trackingId' | 'maxViewers' | 'endAtExpiry' | 'customViewerData'

function readViewer(streaming: JsonObject): Part<Viewer> {
  const { tracking, maxViewers, endAtExpiry, customViewerData } = streaming
  const trackingId = readTracking(tracking ?? null)
  if (!trackingId.ok) return trackingId
  const most = readMaxViewers(maxViewers ?? null, trackingId.value)
  if (!most.ok) return most
  const ends = endAtExpiry ?? false
  if (typeof ends !== 'boolean') return err('streaming.endAtExpiry must be true or false')
  const data = customViewerData ?? null
  if (data !== null && !isText(data, CUSTOM_VIEWER_DATA_MAX)) {
    return err(
      `streaming.customViewerData must be a string of at most ${CUSTOM_VIEWER_DATA_MAX} characters without NUL`,
    )
  }
  return ok({ trackingId: trackingId.value, maxViewers: most.value, endAtExpiry: ends, customViewerData: data })
}

function readTracking(tracking: unknown): Result<string | null, string> {
  if (tracking === null) return ok(null)
  if (!isObject(tracking) || Object.keys(tracking).some((key) => key !== 'trackingId')) {
    return err('streaming.tracking must be an object with nothing but trackingId')
  }
  const { trackingId = null } = tracking
  // Signers that fill in every field write it so.
  if (trackingId === null) return ok(null)
  if (typeof trackingId !== 'string') return err('streaming.tracking.trackingId must be a string')
  const problem = nameProblem(trackingId)
  return problem === null ? ok(trackingId) : err(`streaming.tracking.trackingId ${problem}`)
}

/** 0: no limit. Without a tracking id of its own there would be nothing that it limits. */
function readMaxViewers(most: unknown, trackingId: string | null): Result<number, string> {
  if (most === null || most === 0) return ok(0)
  if (trackingId === null) return err('streaming.maxViewers needs streaming.tracking.trackingId')
  const isInRange =
    typeof most === 'number' && Number.isSafeInteger(most) && most >= 1 && most <= RULE_LIMITS.viewersMax
  return isInRange ? ok(most) : err(`streaming.maxViewers must be an integer from 0 to ${RULE_LIMITS.viewersMax}`)
}

type Registered = 'expiresAtMs' | 'issuedAtMs' | 'notBeforeMs' | 'jti'

/**
 * Reads the registered claims of RFC 7519 section 4.1 that Sluice enforces. Dates are seconds, with or without a
 * fraction.
 */
function readRegistered({ exp, iat, nbf, jti }: JsonObject): Part<Registered> {
  if (!isNumericDate(exp)) return err('exp is required, in seconds since 1970')
  if (iat !== undefined && !isNumericDate(iat)) return err('iat must be a number of seconds since 1970')
  if (nbf !== undefined && !isNumericDate(nbf)) return err('nbf must be a number of seconds since 1970')
  if (jti !== undefined && typeof jti !== 'string') return err('jti must be a string')
  // One that a revocation cannot name could not be taken back.
  const problem = jti === undefined ? null : nameProblem(jti)
  if (problem !== null) return err(`jti ${problem}`)
  return ok({
    expiresAtMs: toMs(exp),
    issuedAtMs: iat === undefined ? null : toMs(iat),
    notBeforeMs: nbf === undefined ? null : toMs(nbf),
    jti: jti ?? null,
  })
}

/** Rounded down, so that a fraction of a millisecond never extends a token. */
const toMs = (seconds: number): number => Math.floor(seconds * 1000)

const isNumericDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= SECONDS_MAX

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length <= max && value.isWellFormed() && !value.includes('\0')
