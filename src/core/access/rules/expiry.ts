import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('expiry', 'the token never expires')
const PASS = pass('expiry', 'the token has not expired')

/** A token is valid until, not at, its expiry. A self-signed one expires with its parent at the latest. */
export function checkExpiry({ token, claims, nowMs }: Question): Verdict {
  const parentMs = token.expiresAtMs ?? Number.POSITIVE_INFINITY
  const expiresAtMs = Math.min(parentMs, claims?.expiresAtMs ?? Number.POSITIVE_INFINITY)
  if (expiresAtMs === Number.POSITIVE_INFINITY) return SKIP
  if (nowMs < expiresAtMs) return PASS
  const whose = expiresAtMs === parentMs ? 'the token' : 'the self-signed token (exp)'
  return fail('expiry', 'token_expired', `${whose} expired ${Math.floor((nowMs - expiresAtMs) / 1000)} s ago`)
}
