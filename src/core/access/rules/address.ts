import { matchesAddress } from '../address.ts'
import { fail, pass, refusesIpFilters, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('address', 'the token has no allowed addresses')
const SKIP_RTMP = skip('address', 'IP filters are not checked over RTMP, see rtmpIpFilters')
const PASS = pass('address', 'the address is allowed')

/** Each non-empty list, of parent and child, must contain the address. */
export function checkAddress(question: Question): Verdict {
  const { request, token, claims } = question
  const narrowed = claims !== null && claims.addresses.length > 0
  if (token.addresses.length === 0 && !narrowed) return SKIP
  if (refusesIpFilters(question)) return SKIP_RTMP
  if (token.addresses.length > 0 && !matchesAddress(token.addresses, request.address)) {
    return refuse(question, 'is in none of the allowed networks of the token')
  }
  if (narrowed && !matchesAddress(claims.addresses, request.address)) {
    return refuse(question, 'is in none that the self-signed token allows')
  }
  return PASS
}

function refuse({ request }: Question, why: string): Verdict {
  const ipv6 = request.address.family === 6 ? ' (address lists are IPv4 only)' : ''
  return fail('address', 'address_not_allowed', `${request.address.text} ${why}${ipv6}`)
}
