import { matchesOrigin } from '../origin.ts'
import { PROTOCOL_FACTS } from '../protocols.ts'
import { noOriginText } from '../refusals.ts'
import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('origin', 'the token has no allowed origins')
const PASS = pass('origin', 'the origin is allowed')
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
  const { hasOrigin, title } = PROTOCOL_FACTS[request.protocol]
  if (!hasOrigin) return withoutOrigin(title)
  if (request.origin === null) return NO_HEADER
  if (token.origins.length > 0 && !matchesOrigin(token.origins, request.origin)) return BY_PARENT
  if (narrowed && !matchesOrigin(claims.origins, request.origin)) return BY_CHILD
  return PASS
}

const withoutOrigin = (title: string): Verdict =>
  fail('origin', 'origin_not_allowed', `the token has allowed origins, and ${title} has no origin`, noOriginText(title))
