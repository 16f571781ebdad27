import { PROTOCOL_FACTS } from '../protocols.ts'
import { REFUSALS } from '../refusals.ts'
import type {
  AccessPolicy,
  AccessRequest,
  CheckName,
  RefusalCode,
  SelfSignedClaims,
  TokenSnapshot,
  TraceStep,
} from '../types.ts'

/** The input of every rule: may the bearer of this token do what the request says, at this time? */
export interface Question {
  readonly request: AccessRequest
  readonly policy: AccessPolicy
  readonly nowMs: number
  /** The presented token, or the parent of the self-signed one. */
  readonly token: TokenSnapshot
  /** Set when the token is self-signed. Its rules apply in addition to those of the parent, never instead of them. */
  readonly claims: SelfSignedClaims | null
}

/** The result of one rule: a line of the trace and, on failure, the refusal. */
export interface Verdict {
  readonly step: TraceStep
  readonly refusal: { readonly code: RefusalCode; readonly message: string } | null
}

export type Rule = (question: Question) => Verdict

export const pass = (check: CheckName, detail: string): Verdict => ({
  step: { check, outcome: 'pass', detail },
  refusal: null,
})

/** The token has no such rule, or the rule does not apply to this request. */
export const skip = (check: CheckName, detail: string): Verdict => ({
  step: { check, outcome: 'skip', detail },
  refusal: null,
})

export const fail = (check: CheckName, code: RefusalCode, detail: string, message = REFUSALS[code].text): Verdict => ({
  step: { check, outcome: 'fail', detail },
  refusal: { code, message },
})

/** Address lists of parent or child, and binding: the rules that RTMP cannot guarantee by default. */
export const hasIpFilters = ({ token, claims }: Question): boolean =>
  token.bindLimit > 0 || token.addresses.length > 0 || (claims !== null && claims.addresses.length > 0)

/** IP filters over RTMP are refused as a whole, so the single IP rules are skipped. */
export const refusesIpFilters = (question: Question): boolean =>
  PROTOCOL_FACTS[question.request.protocol].ipFilters === 'configured' &&
  question.policy.rtmpIpFilters === 'refuse' &&
  hasIpFilters(question)
