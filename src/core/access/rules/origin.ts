import { matchesOrigin } from '../origin.ts'
import { RTMP_HAS_NO_ORIGIN } from '../refusals.ts'
import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('origin', 'the token has no allowed origins')
const PASS = pass('origin', 'the origin is allowed')
const OVER_RTMP = fail(
  'origin',
  'origin_not_allowed',
  'the token has allowed origins, and RTMP has no origin',
  RTMP_HAS_NO_ORIGIN,
)
const NO_HEADER = fail(
  'origin',
  'origin_not_allowed',
  'the token has allowed origins and the request has no Origin header',
)
const BY_PARENT = fail('origin', 'origin_not_allowed', 'the origin matches none of the allowed origins of the token')
const BY_CHILD = fail('origin', 'origin_not_allowed', 'the origin matches none that the self-signed token allows')

/** Each non-empty list, of parent and child, must contain the origin. */
export function checkOrigin({ request, token, claims }: Question): Verdict {
  const narrowed = claims !== null && claims.origins.length > 0
  if (token.origins.length === 0 && !narrowed) return SKIP
  if (request.protocol === 'rtmp') return OVER_RTMP
  if (request.origin === null) return NO_HEADER
  if (token.origins.length > 0 && !matchesOrigin(token.origins, request.origin)) return BY_PARENT
  if (narrowed && !matchesOrigin(claims.origins, request.origin)) return BY_CHILD
  return PASS
}
