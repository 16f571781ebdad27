import type { Credential, SelfSignedClaims, TokenSnapshot } from '../types.ts'
import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('expiry', 'the token never expires')
const PASS = pass('expiry', 'the token has not expired')

/** A token is valid until, not at, its expiry. */
export function checkExpiry({ token, claims, nowMs }: Question): Verdict {
  const expiresAtMs = expiryOf(token, claims)
  if (expiresAtMs === null) return SKIP
  if (nowMs < expiresAtMs) return PASS
  const whose = expiresAtMs === token.expiresAtMs ? 'the token' : 'the self-signed token (exp)'
  return fail('expiry', 'token_expired', `${whose} expired ${Math.floor((nowMs - expiresAtMs) / 1000)} s ago`)
}

/**
 * When a session ends because what it was admitted with expires, epoch milliseconds; null: never.
 * @param token the current version of the token, or of the parent of a self-signed one
 */
export function sessionEndOf(token: TokenSnapshot, credential: Credential): number | null {
  const claims = credential.kind === 'selfSigned' ? credential.claims : null
  return token.endAtExpiry || claims?.endAtExpiry === true ? expiryOf(token, claims) : null
}

/** A self-signed token expires with its parent at the latest. Null: never. */
function expiryOf(token: TokenSnapshot, claims: SelfSignedClaims | null): number | null {
  const { expiresAtMs } = token
  if (claims === null) return expiresAtMs
  return Math.min(claims.expiresAtMs, expiresAtMs ?? Number.POSITIVE_INFINITY)
}
