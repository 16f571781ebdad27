import { REFUSALS } from './refusals.ts'
import { checkActive } from './rules/active.ts'
import { checkAddress } from './rules/address.ts'
import { bindingEffects, checkBinding } from './rules/binding.ts'
import { checkCountry } from './rules/country.ts'
import { checkExpiry } from './rules/expiry.ts'
import { checkOrigin } from './rules/origin.ts'
import { checkRegion } from './rules/region.ts'
import { checkRtmpIpFilters } from './rules/rtmpIpFilters.ts'
import { checkStreamNameRule } from './rules/streamName.ts'
import { checkToken } from './rules/token.ts'
import type { Question, Rule } from './rules/verdict.ts'
import type { AccessPolicy, AccessRequest, Credential, Decision, TraceStep } from './types.ts'

/** Cheap rules first, the rule with an effect last. The first failure decides which refusal the client receives. */
const RULES: readonly Rule[] = [
  checkToken,
  checkActive,
  checkExpiry,
  checkStreamNameRule,
  checkOrigin,
  checkAddress,
  checkCountry,
  checkRtmpIpFilters,
  checkRegion,
  checkBinding,
]

/**
 * Decides whether this request is admitted at `nowMs` (epoch milliseconds), why, and what to write if it is.
 * Pure: the caller looks the token up, verifies its signature, and carries out the effects.
 */
export function decide(request: AccessRequest, policy: AccessPolicy, nowMs: number): Decision {
  const { credential } = request
  switch (credential.kind) {
    case 'none':
      return decideAnonymous(request)
    case 'unknown':
      return invalidToken(credential.why)
    case 'preview':
      return decidePreview(request, credential)
    case 'token':
      return ask({ request, policy, nowMs, token: credential.token, claims: null })
    case 'selfSigned':
      return ask({ request, policy, nowMs, token: credential.token, claims: credential.claims })
  }
}

function ask(question: Question): Decision {
  const trace: TraceStep[] = []
  for (const rule of RULES) {
    const { step, refusal } = rule(question)
    trace.push(step)
    if (refusal !== null) {
      return { allowed: false, code: refusal.code, message: refusal.message, tokenId: question.token.id, trace }
    }
  }
  return admit(question, trace)
}

function admit(question: Question, trace: readonly TraceStep[]): Decision {
  const { token, claims } = question
  return {
    allowed: true,
    accountId: token.accountId,
    tokenId: token.id,
    trackingId: claims?.trackingId ?? token.trackingId,
    effects: bindingEffects(question),
    trace,
  }
}

/** Every viewer may watch an open stream. A path without an account names no stream, so none is open there. */
function decideAnonymous({ action, accountId, streamIsSecured }: AccessRequest): Decision {
  if (action === 'publish') return noToken('no token was presented, and publishing needs one')
  if (accountId === null) return noToken('no token was presented, and no account was named')
  if (streamIsSecured) return noToken('no token was presented, and the stream is secured')
  return withoutToken(accountId, OPEN_STREAM)
}

/** A user of the account may see its streams, whatever the rules for its viewers are. */
function decidePreview(request: AccessRequest, pass: Extract<Credential, { kind: 'preview' }>): Decision {
  const { accountId, streamName } = pass
  if (request.action === 'publish') return invalidToken('the pass of a preview does not publish')
  if (request.accountId !== accountId || request.streamName !== streamName)
    return invalidToken('the pass of a preview is for another stream')
  return withoutToken(accountId, PREVIEW)
}

const OPEN_STREAM: TraceStep = { check: 'token', outcome: 'skip', detail: 'the stream is open: viewers need no token' }
const PREVIEW: TraceStep = {
  check: 'token',
  outcome: 'pass',
  detail: 'a user of the account sees the stream in the dashboard',
}

const withoutToken = (accountId: string, step: TraceStep): Decision => ({
  allowed: true,
  accountId,
  tokenId: null,
  trackingId: null,
  effects: { bind: null, stamp: null },
  trace: [step],
})

const refuse =
  (code: 'invalid_token' | 'token_missing') =>
  (detail: string): Decision => ({
    allowed: false,
    code,
    message: REFUSALS[code].text,
    tokenId: null,
    trace: [{ check: 'token', outcome: 'fail', detail }],
  })

const invalidToken = refuse('invalid_token')
/** Clients get the same answer; the log says which of the two it was. */
const noToken = refuse('token_missing')
