import { constantTimeEqual, hmac } from '../../base/crypto.ts'
import type { Address } from '../../core/access/address.ts'
import { decide } from '../../core/access/decide.ts'
import { REFUSALS } from '../../core/access/refusals.ts'
import { looksLikeJwt, parseSelfSigned } from '../../core/access/selfSigned.ts'
import { SESSION_LIMITS, type SessionLimitCode } from '../../core/sessions/slots.ts'
import type { AccessRequest, Action, Credential, Decision, Protocol } from '../../core/access/types.ts'
import { checkStreamName } from '../../core/access/streamName.ts'
import type { AccessLogRow } from '../../store/store.ts'
import type { Noted } from '../../services/accessRecorder.ts'
import type { Context } from '../context.ts'
import { onAir } from '../sessions/revoke.ts'
import { streamWouldBeSecured } from '../tokens/readTokens.ts'

/** What an edge knows of somebody who wants to publish or to view. */
export interface AccessAttempt {
  action: Action
  protocol: Protocol
  /** The account named in the path; null when publishing. */
  accountId: string | null
  streamName: string
  /** The token as presented, or null when there was none. */
  presented: string | null
  address: Address
  origin: string | null
  /** Overrides the look-up, for dry runs; undefined: look it up. */
  country?: string | undefined
}

/** A decision with what was looked up for it. */
export interface Evaluation {
  request: AccessRequest
  decision: Decision
}

/** A decision that was carried out. */
interface Authorized extends Evaluation {
  /** The limit that keeps them out, although they have access. */
  limit: SessionLimitCode | null
}

/** Null: a slot was reserved for the session. */
export type ReserveSlot = (evaluation: Evaluation) => SessionLimitCode | null

const BIND_ATTEMPTS = 3

/**
 * May they? Decides, reserves a slot, writes the effects (a bound address) before anybody is told, and records the
 * decision. If a limit is reached, no address is bound.
 * @throws StoreUnavailable when it cannot be decided or the effects cannot be written: nobody is admitted then
 */
export function authorize(
  ctx: Context,
  attempt: AccessAttempt,
  reserveSlot: ReserveSlot = () => null,
): Promise<Authorized> {
  return authorizeAs(ctx, attempt, () => resolveCredential(ctx, attempt.presented), reserveSlot)
}

/** Finds what somebody has proved. Called again when the token changes under the decision. */
type Proof = () => Credential | Promise<Credential>

/** As `authorize`, for somebody whose token was presented before. @throws StoreUnavailable as there */
export async function authorizeAs(
  ctx: Context,
  attempt: AccessAttempt,
  proof: Proof,
  reserveSlot: ReserveSlot = () => null,
): Promise<Authorized> {
  for (let tries = 1; ; tries++) {
    const evaluation = await evaluate(ctx, attempt, proof, ctx.clock.now())
    const limit = evaluation.decision.allowed ? reserveSlot(evaluation) : null
    if (limit !== null) {
      record(ctx, 'live', evaluation, limit)
      return { ...evaluation, limit }
    }
    const settled = await carryOut(ctx, evaluation)
    if (!settled && tries < BIND_ATTEMPTS) continue
    const final = settled ?? { ...evaluation, decision: refuseBinding(evaluation.decision) }
    record(ctx, 'live', final)
    return { ...final, limit: null }
  }
}

/**
 * What `authorize` would decide now, for protocols whose first request only says where the media is. Binds nothing, and
 * only a refusal is recorded: what is allowed is decided again with the request for the media.
 */
export async function preview(ctx: Context, attempt: AccessAttempt): Promise<Evaluation> {
  const evaluation = await evaluate(ctx, attempt, () => resolveCredential(ctx, attempt.presented), ctx.clock.now())
  if (!evaluation.decision.allowed) record(ctx, 'live', evaluation)
  return evaluation
}

/** Records that a limit was reached before anything was decided. Without an account in the path there is no record. */
export function recordLimit(ctx: Context, attempt: AccessAttempt, limit: SessionLimitCode): void {
  const { action, protocol, accountId, streamName, address, origin } = attempt
  if (accountId === null || !ctx.recorder.wants(false)) return
  const noted: Noted = {
    accountId,
    source: 'live',
    action,
    protocol,
    streamName: printable(streamName),
    tokenId: null,
    jti: null,
    address: address.text,
    origin: origin === null ? null : printable(origin),
    country: null,
    allowed: false,
    code: limit,
    message: SESSION_LIMITS[limit].text,
  }
  ctx.recorder.note(noted, false)
}

/** What would `authorize` answer at `atMs`? Writes and binds nothing; the question is recorded as a check. */
export function dryRun(ctx: Context, attempt: AccessAttempt, atMs: number): Evaluation | Promise<Evaluation> {
  const finish = (evaluation: Evaluation): Evaluation => {
    record(ctx, 'check', evaluation)
    return evaluation
  }
  const evaluation = evaluate(ctx, attempt, () => resolveCredential(ctx, attempt.presented), atMs)
  return evaluation instanceof Promise ? evaluation.then(finish) : finish(evaluation)
}

/** Synchronous when everything that is asked about is in memory, which is the usual case and the fast one. */
function evaluate(ctx: Context, attempt: AccessAttempt, proof: Proof, nowMs: number): Evaluation | Promise<Evaluation> {
  const credential = proof()
  if (credential instanceof Promise) return credential.then((found) => evaluateAs(ctx, attempt, found, nowMs))
  return evaluateAs(ctx, attempt, credential, nowMs)
}

function evaluateAs(
  ctx: Context,
  attempt: AccessAttempt,
  credential: Credential,
  nowMs: number,
): Evaluation | Promise<Evaluation> {
  const secured = isSecured(ctx, attempt, credential)
  if (secured instanceof Promise) return secured.then((found) => evaluation(ctx, attempt, credential, found, nowMs))
  return evaluation(ctx, attempt, credential, secured, nowMs)
}

function evaluation(
  ctx: Context,
  attempt: AccessAttempt,
  credential: Credential,
  streamIsSecured: boolean,
  nowMs: number,
): Evaluation {
  const request: AccessRequest = {
    action: attempt.action,
    protocol: attempt.protocol,
    accountId: attempt.accountId,
    streamName: attempt.streamName,
    credential,
    address: attempt.address,
    origin: attempt.origin,
    country: attempt.country === undefined ? ctx.countryOf(attempt.address) : attempt.country,
    streamIsSecured,
  }
  return { request, decision: decide(request, ctx.policy, nowMs) }
}

/** Asked only for viewers without a token: for all others the token decides. */
function isSecured(ctx: Context, attempt: AccessAttempt, credential: Credential): boolean | Promise<boolean> {
  const { action, accountId, streamName } = attempt
  if (action !== 'view' || credential.kind !== 'none' || accountId === null) return true
  if (checkStreamName(streamName) !== null) return true
  const live = onAir(ctx, accountId, streamName)
  const judge = (found: Awaited<typeof live>) =>
    found ? found.secured : streamWouldBeSecured(ctx, accountId, streamName)
  return live instanceof Promise ? live.then(judge) : judge(live)
}

/** From what was presented to what it proves. Synchronous when the token is in memory. */
function resolveCredential(ctx: Context, presented: string | null): Credential | Promise<Credential> {
  if (presented === null || presented === '') return { kind: 'none' }
  if (isTokenValue(presented)) {
    const found = ctx.cache.tokenByValue(presented)
    return found instanceof Promise ? found.then(asToken) : asToken(found)
  }
  if (looksLikeJwt(presented)) return resolveSelfSigned(ctx, presented)
  return { kind: 'unknown', why: 'a token is 64 lower-case hex characters or a JWT' }
}

/** `/^[0-9a-f]{64}$/`, in half of the time. */
function isTokenValue(text: string): boolean {
  if (text.length !== 64) return false
  for (let i = 0; i < 64; i++) {
    const code = text.charCodeAt(i)
    const isDigit = code >= 0x30 && code <= 0x39
    if (!isDigit && (code < 0x61 || code > 0x66)) return false
  }
  return true
}

const asToken = (found: { snapshot: AccessTokenSnapshot } | undefined): Credential =>
  found ? { kind: 'token', token: found.snapshot } : { kind: 'unknown', why: 'no token has this value' }

/** RFC 7518 section 3.2. */
const DIGESTS = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const

type AccessTokenSnapshot = Extract<Credential, { kind: 'token' }>['token']

function resolveSelfSigned(ctx: Context, presented: string): Credential | Promise<Credential> {
  const parsed = parseSelfSigned(presented)
  if (!parsed.ok) return { kind: 'unknown', why: parsed.error }
  const { alg, signingInput, signature, claims } = parsed.value
  const verify = (parent: Awaited<ReturnType<typeof ctx.cache.tokenById>>): Credential => {
    if (!parent || parent.snapshot.kind !== 'subscribe')
      return { kind: 'unknown', why: 'the parent token does not exist' }
    const digest = hmac(DIGESTS[alg], parent.signingKey(), signingInput)
    if (!constantTimeEqual(digest, signature))
      return { kind: 'unknown', why: 'the signature is not made with the parent token' }
    return { kind: 'selfSigned', token: parent.snapshot, claims }
  }
  const parent = ctx.cache.tokenById(claims.tokenId)
  return parent instanceof Promise ? parent.then(verify) : verify(parent)
}

/** Writes a decision's effects. Null: the token changed under the decision, so it must be made again. */
async function carryOut(ctx: Context, evaluation: Evaluation): Promise<Evaluation | null> {
  const { decision } = evaluation
  if (!decision.allowed) return evaluation
  const { bind, stamp } = decision.effects
  if (stamp) ctx.lastUses.note(stamp.tokenId, stamp.address, ctx.clock.now())
  if (!bind) return evaluation
  const outcome = await ctx.store.transaction((tx) => tx.bindings.bind({ ...bind, atMs: ctx.clock.now() }))
  ctx.cache.forgetToken(bind.tokenId)
  if (outcome === 'changed') return null
  return outcome === 'full' ? { ...evaluation, decision: refuseBinding(decision) } : evaluation
}

/** The race for the last free place was lost (or could not be won in three attempts): refused as any other stranger. */
function refuseBinding(decision: Decision): Decision {
  const { text } = REFUSALS.address_not_allowed
  const trace = decision.trace.map((step) =>
    step.check === 'binding'
      ? { check: step.check, outcome: 'fail' as const, detail: 'all places were bound by others meanwhile' }
      : step,
  )
  return { allowed: false, code: 'address_not_allowed', message: text, tokenId: decision.tokenId, trace }
}

function record(
  ctx: Context,
  source: 'live' | 'check',
  { request, decision }: Evaluation,
  limit: SessionLimitCode | null = null,
): void {
  const outcome = outcomeOf(decision, limit)
  if (!ctx.recorder.wants(outcome.allowed)) return
  const { credential } = request
  const holder = credential.kind === 'token' || credential.kind === 'selfSigned' ? credential.token : undefined
  const accountId = request.accountId ?? holder?.accountId
  // A publisher whose token is unknown belongs to nobody's log.
  if (accountId === undefined) return
  const noted: Noted = {
    accountId,
    source,
    action: request.action,
    protocol: request.protocol,
    streamName: printable(request.streamName),
    tokenId: decision.tokenId,
    jti: credential.kind === 'selfSigned' ? credential.claims.jti : null,
    address: request.address.text,
    origin: request.origin === null ? null : printable(request.origin),
    country: request.country,
    ...outcome,
  }
  ctx.recorder.note(noted, holder !== undefined || source === 'check')
}

function outcomeOf(
  decision: Decision,
  limit: SessionLimitCode | null,
): Pick<AccessLogRow, 'allowed' | 'code' | 'message'> {
  if (limit !== null) return { allowed: false, code: limit, message: SESSION_LIMITS[limit].text }
  if (decision.allowed) return { allowed: true, code: null, message: 'Allowed' }
  return { allowed: false, code: decision.code, message: decision.message }
}

/** What a stranger sent, safe to store and to show: bounded, and control characters made visible. */
const printable = (text: string): string => text.slice(0, 255).replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD')
