import { err, ok, type Result } from '../../base/result.ts'
import { decodeBase64url } from '../validation/base64url.ts'
import { claimsOf } from './claims.ts'
import { parseJsonObject } from '../validation/strictJson.ts'
import type { SelfSignedClaims } from './types.ts'

export type SelfSignedAlgorithm = 'HS256' | 'HS384' | 'HS512'

/** A well-formed self-signed subscribe token. Trust nothing in it before the signature is verified. */
export interface ParsedJwt {
  readonly alg: SelfSignedAlgorithm
  /** What was signed: header and payload as they stand, ASCII. */
  readonly signingInput: string
  /** As long as the algorithm's digest. */
  readonly signature: Uint8Array<ArrayBuffer>
  readonly claims: SelfSignedClaims
}

const SELF_SIGNED_MAX_BYTES = 8_192

/** RFC 7518 section 3.2: the length of a signature is that of the digest. */
const SIGNATURE_BYTES: Readonly<Record<SelfSignedAlgorithm, number>> = { HS256: 32, HS384: 48, HS512: 64 }

/** Whether a credential should be parsed as a JWT rather than looked up. Our own token values contain no dots. */
export function looksLikeJwt(text: string): boolean {
  const first = text.indexOf('.')
  return first > 0 && text.indexOf('.', first + 1) > 0
}

/**
 * Parses the compact form of RFC 7515. The caller finds the parent by `claims.tokenId`, verifies the HMAC with the
 * parent's value as ASCII, and compares in constant time. Errors are for the trace and never quote the token.
 */
export function parseSelfSigned(text: string): Result<ParsedJwt, string> {
  // Base64url is ASCII, so characters are bytes. Other text fails to decode below.
  if (text.length > SELF_SIGNED_MAX_BYTES) return err(`the token is longer than ${SELF_SIGNED_MAX_BYTES} bytes`)
  const headerEnd = text.indexOf('.')
  const payloadEnd = text.indexOf('.', headerEnd + 1)
  if (headerEnd < 0 || payloadEnd < 0) return err('a JWT has three parts')
  const alg = algorithmOf(text.slice(0, headerEnd))
  if (!alg.ok) return alg
  // A fourth part, or anything else after the third, is not base64url.
  const signature = decodeBase64url(text, payloadEnd + 1)
  if (signature?.length !== SIGNATURE_BYTES[alg.value]) return err(`the signature is not one of ${alg.value}`)
  const claims = readClaims(decodeBase64url(text, headerEnd + 1, payloadEnd))
  if (!claims.ok) return claims
  return ok({ alg: alg.value, signingInput: text.slice(0, payloadEnd), signature, claims: claims.value })
}

function readClaims(bytes: Uint8Array | null): Result<SelfSignedClaims, string> {
  const payload = bytes === null ? null : parseJsonObject(bytes)
  return payload === null ? err('the payload is not base64url of one JSON object') : claimsOf(payload)
}

/**
 * A signer writes the same header again and again, so the few headers in use are cached. Parsing is pure, and only
 * valid headers enter.
 */
const cachedHeaders = new Map<string, SelfSignedAlgorithm>()
const CACHED_HEADERS_MAX = 64
const CACHED_HEADER_LENGTH_MAX = 256

function algorithmOf(encoded: string): Result<SelfSignedAlgorithm, string> {
  const cached = cachedHeaders.get(encoded)
  if (cached !== undefined) return ok(cached)
  const fresh = readHeader(encoded)
  if (fresh.ok && cachedHeaders.size < CACHED_HEADERS_MAX && encoded.length <= CACHED_HEADER_LENGTH_MAX) {
    cachedHeaders.set(encoded, fresh.value)
  }
  return fresh
}

function readHeader(encoded: string): Result<SelfSignedAlgorithm, string> {
  const bytes = decodeBase64url(encoded)
  const header = bytes === null ? null : parseJsonObject(bytes)
  if (header === null) return err('the header is not base64url of one JSON object')
  const { alg, typ } = header
  if (alg !== 'HS256' && alg !== 'HS384' && alg !== 'HS512') return err('alg must be HS256, HS384 or HS512')
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) return err('typ must be JWT')
  if ('crit' in header) return err('crit is not supported')
  return ok(alg)
}
