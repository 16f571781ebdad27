import { CLOCK_SKEW_MS } from '../../../base/time.ts'
import type { SelfSignedClaims, TokenSnapshot } from '../types.ts'
import { fail, pass, type Question, type Verdict } from './verdict.ts'

const PASS_TOKEN = pass('token', 'the token is known')
const PASS_SELF_SIGNED = pass('token', 'the token was signed with the value of a known subscribe token')
const WRONG_KIND_PUBLISH = fail('token', 'invalid_token', 'a subscribe token cannot publish')
const WRONG_KIND_VIEW = fail('token', 'invalid_token', 'a publish token cannot view')
// As for tokens that do not exist: it is not for one account to know which ones another has.
const FOREIGN = fail('token', 'invalid_token', 'no token has this value')
const FOREIGN_PARENT = fail('token', 'invalid_token', 'the parent token does not exist')
const OTHER_PARENT = fail('token', 'invalid_token', 'the self-signed token names another parent')
const REVOKED_JTI = fail('token', 'token_revoked', 'this self-signed token (jti) was revoked')
const REVOKED_ISSUE = fail('token', 'token_revoked', 'self-signed tokens issued before a later time were revoked')
const REVOKED_UNDATED = fail('token', 'token_revoked', 'older self-signed tokens were revoked and this one has no iat')
const OTHER_TRACKING = fail('token', 'invalid_token', 'the tracking id is not that of the parent')
const NOT_YET = fail('token', 'invalid_token', 'nbf lies more than 60 s in the future')
const FROM_THE_FUTURE = fail('token', 'invalid_token', 'iat lies more than 60 s in the future')

/**
 * Checks that the token is of the right kind and account, and that the parent of a self-signed token still vouches
 * for it.
 */
export function checkToken({ request, token, claims, nowMs }: Question): Verdict {
  if (request.accountId !== null && request.accountId !== token.accountId) {
    return claims === null ? FOREIGN : FOREIGN_PARENT
  }
  if (request.action === 'publish' && token.kind !== 'publish') return WRONG_KIND_PUBLISH
  if (request.action === 'view' && token.kind !== 'subscribe') return WRONG_KIND_VIEW
  return claims === null ? PASS_TOKEN : checkClaims(token, claims, nowMs)
}

function checkClaims(token: TokenSnapshot, claims: SelfSignedClaims, nowMs: number): Verdict {
  if (claims.tokenId !== token.id) return OTHER_PARENT
  if (claims.jti !== null && token.revokedJtis.has(claims.jti)) return REVOKED_JTI
  if (token.revokedBeforeMs !== null) {
    if (claims.issuedAtMs === null) return REVOKED_UNDATED
    if (claims.issuedAtMs < token.revokedBeforeMs) return REVOKED_ISSUE
  }
  if (token.trackingId !== null && claims.trackingId !== null && claims.trackingId !== token.trackingId) {
    return OTHER_TRACKING
  }
  // The signer's clock may run ahead of ours. `exp` has no such allowance.
  const latest = nowMs + CLOCK_SKEW_MS
  if (claims.notBeforeMs !== null && claims.notBeforeMs > latest) return NOT_YET
  if (claims.issuedAtMs !== null && claims.issuedAtMs > latest) return FROM_THE_FUTURE
  return PASS_SELF_SIGNED
}
