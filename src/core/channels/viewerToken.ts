import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { CLOCK_SKEW_MS } from '../../base/time.ts'
import { type JsonObject, parseJsonObject } from '../validation/strictJson.ts'
import { decodeBase64url } from '../validation/base64url.ts'
import { shown } from '../validation/problems.ts'
import { plainTextProblem } from '../validation/text.ts'
import { deviceOf } from './device.ts'

/** Tokens (RFC 7519) that channel owners sign for viewers. */

export type ViewerAlgorithm = 'HS256' | 'HS512' | 'RS256' | 'RS512'

/** A well-formed token. Trust nothing in it before its signature is verified. */
export interface ViewerToken {
  readonly alg: ViewerAlgorithm
  /** The signed text: header and payload as sent, ASCII. */
  readonly signingInput: string
  readonly signature: Uint8Array
  readonly claims: ViewerClaims
}

/** The claims of a token. Null: no such restriction. */
export interface ViewerClaims {
  readonly expMs: number
  readonly nbfMs: number | null
  readonly iatMs: number | null
  readonly channels: readonly string[] | null
  /** Upper case. Empty: allowed nowhere. */
  readonly countries: readonly string[] | null
  readonly devices: readonly string[] | null
  /** Views with the same tracking id are counted together. */
  readonly trackingId: string | null
}

const TOKEN_MAX = 8192
export const TRACKING_ID_MAX = 128
const VIEWER_DATA_MAX = 1024
const ALGORITHMS: readonly ViewerAlgorithm[] = ['HS256', 'HS512', 'RS256', 'RS512']
const GEO_MEMBERS = ['cc', 'rgn', 'dma']
const RESTRICTIONS = ['ch', 'geo', 'hw', ...GEO_MEMBERS]
const MEMBERS = [...RESTRICTIONS, 'tid', 'cvd']

/**
 * The claim in which signers for hosted services with this API put restrictions. They restrict here as they do
 * there.
 */
const HOSTED_CLAIM = 'optiview'

/**
 * Parses the compact form of RFC 7515.
 * @param claim the configured name of the claim with the restrictions; the name of hosted services is read too
 */
export function parseViewerToken(text: string, claim: string): Result<ViewerToken, string> {
  const parts = text.length > TOKEN_MAX ? [] : text.split('.')
  const [header, payload, signature] = parts.map((part) => (part === '' ? null : decodeBase64url(part)))
  if (parts.length !== 3 || !header || !payload || !signature) return err('it is not a JWT')
  const alg = readHeader(parseJsonObject(header))
  if (!alg.ok) return alg
  const claims = readClaims(parseJsonObject(payload), claim)
  if (!claims.ok) return claims
  return ok({ alg: alg.value, signingInput: `${parts[0]}.${parts[1]}`, signature, claims: claims.value })
}

function readHeader(header: JsonObject | null): Result<ViewerAlgorithm, string> {
  const alg = ALGORITHMS.find((supported) => supported === header?.['alg'])
  if (header === null || alg === undefined) return err(`alg must be one of ${ALGORITHMS.join(', ')}`)
  return 'crit' in header ? err('crit is not supported') : ok(alg)
}

function readClaims(payload: JsonObject | null, claim: string): Result<ViewerClaims, string> {
  if (payload === null) return err('the payload is not one JSON object')
  const times = [payload['exp'], payload['nbf'], payload['iat']].map(readTime)
  const [exp, nbf, iat] = times
  if (typeof exp !== 'number') return err('exp is required, in seconds')
  if (times.includes(undefined)) return err('nbf and iat must be seconds')
  const own = ownClaim(payload, [...new Set([claim, HOSTED_CLAIM])])
  if (!own.ok) return own
  const restrictions = readRestrictions(own.value)
  return restrictions.ok
    ? ok({ expMs: exp, nbfMs: nbf ?? null, iatMs: iat ?? null, ...restrictions.value })
    : restrictions
}

/**
 * The claim that holds the restrictions. A restriction in any other claim would not be enforced, so such a token is
 * refused.
 */
function ownClaim(payload: JsonObject, names: readonly string[]): Result<JsonObject, string> {
  const stray = Object.entries(payload).find(([name, value]) => !names.includes(name) && restricts(name, value, names))
  if (stray) return err(`${shown(stray[0])} is not read; restrictions stand under ${names.join(' or ')}`)
  const [name = '', second] = names.filter((each) => payload[each] !== undefined && payload[each] !== null)
  if (second !== undefined) return err(`restrictions stand under ${name} and ${second}; only one of them may be there`)
  const own = payload[name] ?? {}
  return isObject(own) ? ok(own) : err(`${name} must be an object`)
}

/**
 * Whether an unknown claim is meant to restrict: its name is almost ours, or is that of a restriction, or its value
 * holds one.
 */
function restricts(name: string, value: unknown, names: readonly string[]): boolean {
  const isAlmostOurs = names.some((each) => each.toLowerCase() === name.toLowerCase())
  return isAlmostOurs || RESTRICTIONS.includes(name) || (isObject(value) && Object.keys(value).some(isRestriction))
}

const isRestriction = (name: string): boolean => RESTRICTIONS.includes(name.toLowerCase())

/** Epoch milliseconds; null when absent, undefined when invalid. */
function readTime(value: unknown): number | null | undefined {
  if (value === undefined) return null
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e11 ? value * 1000 : undefined
}

type Restrictions = Pick<ViewerClaims, 'channels' | 'countries' | 'devices' | 'trackingId'>

/** Signers that fill in every member write null for none. */
const withoutNulls = (own: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null))

/** An unknown restriction is refused, never ignored. */
function unknownIn(own: JsonObject, members: readonly string[]): string | undefined {
  const unknown = Object.keys(own).find((name) => !members.includes(name))
  return unknown === undefined ? undefined : `${unknown.slice(0, 32)} is not known`
}

function readRestrictions(own: JsonObject): Result<Restrictions, string> {
  const unknown = unknownIn(own, MEMBERS)
  if (unknown !== undefined) return err(unknown)
  const { ch, hw, tid, cvd } = withoutNulls(own)
  const [channels, devices] = [readTexts(ch), readTexts(hw)]
  if (channels === undefined || devices === undefined) return err('ch and hw must be lists of text')
  if (!isText(tid, TRACKING_ID_MAX)) return err(`tid must be text of at most ${TRACKING_ID_MAX} characters`)
  const problem = tid === undefined ? null : plainTextProblem(tid)
  // The bytes of all viewers are written together, and a database refuses a NUL.
  if (problem !== null) return err(`tid ${problem}`)
  if (!isText(cvd, VIEWER_DATA_MAX)) return err(`cvd must be text of at most ${VIEWER_DATA_MAX} characters`)
  const countries = readGeo(own)
  return countries.ok ? ok({ channels, devices, countries: countries.value, trackingId: tid ?? null }) : countries
}

/**
 * The countries where viewers may be. No country database contains regions or market areas, so no viewer is ever
 * known to be in one. In `geo` any one of the listed places is enough. The older spelling has its lists outside of
 * `geo`, and each of them must match; it is ignored beside the newer one.
 */
function readGeo(own: JsonObject): Result<string[] | null, string> {
  const { geo } = withoutNulls(own)
  if (geo !== undefined && !isObject(geo)) return err('geo must be an object')
  const unknown = unknownIn(geo ?? {}, GEO_MEMBERS)
  if (unknown !== undefined) return err(`geo.${unknown}`)
  const { cc, rgn, dma } = withoutNulls(geo ?? own)
  const [countries, regions, areas] = [readTexts(cc), readTexts(rgn), readCodes(dma)]
  if (countries === undefined || regions === undefined) return err('cc and rgn must be lists of text')
  if (areas === undefined) return err('dma must be a list of numbers')
  const hasOtherAreas = regions !== null || areas !== null
  if (countries === null) return ok(hasOtherAreas ? [] : null)
  return ok(hasOtherAreas && geo === undefined ? [] : countries.map((code) => code.toUpperCase()))
}

const readTexts = (value: unknown): string[] | null | undefined => {
  if (value === undefined) return null
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined
}

/** Market areas are numbers, which some signers write as text. */
const readCodes = (value: unknown): readonly unknown[] | null | undefined => {
  if (value === undefined) return null
  const isCode = (item: unknown): boolean => typeof item === 'number' || typeof item === 'string'
  return Array.isArray(value) && value.every(isCode) ? value : undefined
}

const isText = (value: unknown, max: number): value is string | undefined =>
  value === undefined || (typeof value === 'string' && value.length <= max && value.isWellFormed())

/** Why a token is refused. */
export type ClaimProblem =
  | 'token_expired'
  | 'invalid_token'
  | 'channel_not_allowed'
  | 'country_not_allowed'
  | 'device_not_allowed'

/** The restrictions of a viewer token for as long as its holder watches. Null: no such restriction. */
export type ViewerRestrictions = Pick<ViewerClaims, 'countries' | 'devices'>

/** The restriction that this viewer violates; null: none. */
export function problemOfRestrictions(
  { countries, devices }: ViewerRestrictions,
  viewer: { country: string | null; userAgent: string | undefined },
): 'country_not_allowed' | 'device_not_allowed' | null {
  if (countries && (viewer.country === null || !countries.includes(viewer.country))) return 'country_not_allowed'
  return devices && !devices.includes(deviceOf(viewer.userAgent)) ? 'device_not_allowed' : null
}

/** The first claim that fails, of a token whose signature was verified; null: none. */
export function problemOfClaims(
  claims: ViewerClaims,
  viewer: { channelId: string; country: string | null; userAgent: string | undefined; nowMs: number },
): ClaimProblem | null {
  const latestMs = viewer.nowMs + CLOCK_SKEW_MS
  if (viewer.nowMs >= claims.expMs) return 'token_expired'
  if ((claims.nbfMs ?? 0) > latestMs || (claims.iatMs ?? 0) > latestMs) return 'invalid_token'
  if (claims.channels && !claims.channels.includes(viewer.channelId)) return 'channel_not_allowed'
  return problemOfRestrictions(claims, viewer)
}
