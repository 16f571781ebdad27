import { PROTOCOL_FACTS } from '../protocols.ts'
import { fail, hasIpFilters, pass, refusesIpFilters, skip, type Question, type Verdict } from './verdict.ts'

const SKIP_PROTOCOL = skip('rtmpIpFilters', 'the connection is not RTMP')
const SKIP_NO_FILTERS = skip('rtmpIpFilters', 'the token has no IP filters')
const PASS = pass('rtmpIpFilters', 'the configuration has IP filters checked over RTMP')
const FAIL = fail('rtmpIpFilters', 'ip_filters_not_supported', 'the token has IP filters, which RTMP does not support')

/** By default RTMP refuses a token with IP filters: that is safer than enforcing only some of them. */
export function checkRtmpIpFilters(question: Question): Verdict {
  if (PROTOCOL_FACTS[question.request.protocol].ipFilters === 'checked') return SKIP_PROTOCOL
  if (!hasIpFilters(question)) return SKIP_NO_FILTERS
  return refusesIpFilters(question) ? FAIL : PASS
}
