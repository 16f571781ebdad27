import type { StreamRef } from '../../core/streams/streamId.ts'
import type { Address } from '../../core/access/address.ts'
import { decide } from '../../core/access/decide.ts'
import type { LogSource } from '../../core/access/logQuery.ts'
import type { Protocol } from '../../core/access/protocols.ts'
import {
  ENCRYPTION_REFUSALS,
  type EncryptionRefusal,
  publicAnswer,
  REFUSALS,
  INVALID_MEDIA,
  INVALID_PARAMETER,
  TICKET_SHARED,
  type TracedLimit,
  type TurnedAway,
} from '../../core/access/refusals.ts'
import {
  type AccessRequest,
  type Action,
  type Credential,
  type Decision,
  type Evaluation,
  type TokenSnapshot,
  tokenOf,
  type TraceStep,
} from '../../core/access/types.ts'
import type { Session } from '../../core/sessions/types.ts'
import { checkStreamName } from '../../core/access/streamName.ts'
import { type AccessLogRow, isUnavailable } from '../../store/store.ts'
import type { Noted } from '../../services/accessRecorder.ts'
import type { AccessContext } from '../context.ts'
import { streamWouldBeSecured } from '../tokens/readTokens.ts'
import { credentialFromMemory, resolveCredential } from './credential.ts'
import { onAir, peekOnAir } from './onAir.ts'
import { loadReached } from './loadReached.ts'
import { countViewers, hasViewerLimits } from './viewerLimits.ts'

/** What an edge knows of a client that wants to publish or to view. */
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

/** A decision that was carried out. */
interface Authorized<D> extends Evaluation {
  /** Null: the decision holds. */
  turnedAway: TurnedAway | null
  /** What the caller answers, although the client has access; null: it is admitted, or refused by the decision. */
  declined: D | null
}

/** What a client would get now. */
export interface DryRun extends Evaluation {
  /** A limit that is reached, with what the trace says of it after the checks of the decision; null: none is. */
  readonly reached: TracedLimit | null
}

/** What the caller of `authorize` does itself. */
interface AuthorizeOptions<D> {
  /** Of a client with access. Null: a slot was reserved for the session, and no other limit is reached. */
  readonly reserve?: (evaluation: Evaluation) => Promise<TurnedAway | null>
  /** Of a client without access here. Null: no other node takes it. */
  readonly redirect?: (refused: Evaluation) => Promise<TurnedAway | null>
  /** Null: the client gets what it wants, such as a stream that is on the air. */
  readonly decline?: (evaluation: Evaluation) => Promise<D | null>
  /** Finds what an earlier token proves. Called again if the token changes during the decision. */
  readonly prove?: () => Promise<Credential>
}

const BIND_ATTEMPTS = 3

/**
 * Decides an attempt and applies the decision: reserves a slot, writes the effects (a bound address) before the client
 * gets its answer, and records the decision. For a client that is turned away or declined, it binds no address.
 * @throws StoreUnavailable if it cannot decide or cannot write the effects: then it admits no client
 */
export async function authorize<D = never>(
  ctx: AccessContext,
  attempt: AccessAttempt,
  { reserve, redirect, decline, prove }: AuthorizeOptions<D> = {},
): Promise<Authorized<D>> {
  for (let tries = 1; ; tries++) {
    const evaluation = await evaluate(ctx, attempt, ctx.clock.now(), prove)
    const { allowed: hasAccess } = evaluation.decision
    const turn = hasAccess ? reserve : redirect
    const turnedAway = (await turn?.(evaluation)) ?? null
    if (turnedAway !== null) {
      recordTurnedAway(ctx, evaluation, turnedAway)
      return { ...evaluation, turnedAway, declined: null }
    }
    const declined = hasAccess && decline ? await decline(evaluation) : null
    if (declined !== null) return { ...evaluation, turnedAway: null, declined }
    const settled = await carryOut(ctx, evaluation)
    if (!settled && tries < BIND_ATTEMPTS) continue
    const final = settled ?? { ...evaluation, decision: refuseBinding(evaluation.decision) }
    const { allowed, tokenId } = final.decision
    if (allowed && tokenId !== null) ctx.lastUses.noteToken(tokenId, ctx.clock.now())
    record(ctx, 'admission', final, null, await isWanted(ctx, final.decision))
    return { ...final, turnedAway: null, declined: null }
  }
}

/**
 * What `authorize` would decide now, for protocols whose first request only returns the location of the media. Binds
 * nothing and records only refusals, because the request for the media is decided again.
 */
export async function preview(ctx: AccessContext, attempt: AccessAttempt): Promise<Evaluation> {
  const evaluation = await evaluate(ctx, attempt, ctx.clock.now())
  if (!evaluation.decision.allowed) record(ctx, 'admission', evaluation)
  return evaluation
}

/** Records that a client is turned away after the decision. */
export const recordTurnedAway = (ctx: AccessContext, evaluation: Evaluation, why: TurnedAway): void =>
  record(ctx, 'admission', evaluation, why)

/** Records that a client is turned away before the decision. Without an account in the path there is no record. */
export function recordUndecided(ctx: AccessContext, attempt: AccessAttempt, turnedAway: TurnedAway): void {
  const { accountId } = attempt
  const { code, text: message } = publicAnswer(turnedAway)
  const why = { code, message, trace: turnedAway.step === undefined ? null : [turnedAway.step] }
  if (accountId !== null) noteRefusal(ctx, { ...attempt, accountId, tokenId: null, jti: null }, why)
}

/** Records that a session is refused because several players use its ticket, and from where the last request came. */
export function recordShared(
  ctx: AccessContext,
  session: Session,
  from: Pick<AccessAttempt, 'address' | 'origin'>,
): void {
  noteRefusal(ctx, { ...session, ...from }, { code: TICKET_SHARED.code, message: TICKET_SHARED.text, trace: null })
}

export const recordEncryption = (ctx: AccessContext, attempt: AccessAttempt, code: EncryptionRefusal): Promise<void> =>
  recordPublisher(ctx, attempt, { code, message: ENCRYPTION_REFUSALS[code] })

/** @param message names the parameter of its address that is refused */
export const recordParameter = (ctx: AccessContext, attempt: AccessAttempt, message: string): Promise<void> =>
  recordPublisher(ctx, attempt, { code: INVALID_PARAMETER, message })

/** Records that a publisher is refused before the decision. Its token names the account; without one there is no record. */
async function recordPublisher(
  ctx: AccessContext,
  attempt: AccessAttempt,
  why: Pick<Noted, 'code' | 'message'>,
): Promise<void> {
  const credential = await resolveCredential(ctx, attempt.presented)
  if (credential.kind !== 'token') return
  const { accountId, id: tokenId } = credential.token
  noteRefusal(ctx, { ...attempt, accountId, tokenId, jti: null }, { ...why, trace: null })
}

/** Records that an admitted client is refused for the media. @param message what came, or is on the air, and what to do instead */
export function recordInvalidMedia(
  ctx: AccessContext,
  session: Session,
  { address, origin }: AccessAttempt,
  message: string,
): void {
  noteRefusal(ctx, { ...session, address, origin }, { code: INVALID_MEDIA, message, trace: null })
}

type Refused = Omit<AccessAttempt, 'presented' | 'accountId' | 'country'> & Pick<Noted, 'accountId' | 'tokenId' | 'jti'>

/** Records a refusal without a decision. */
function noteRefusal(ctx: AccessContext, refused: Refused, why: Pick<Noted, 'code' | 'message' | 'trace'>): void {
  if (!ctx.recorder.wants(false)) return
  const { accountId, action, protocol, streamName, tokenId, jti, address, origin } = refused
  const noted: Noted = {
    accountId,
    source: 'admission',
    action,
    protocol,
    streamName: printable(streamName),
    tokenId,
    jti,
    address: address.text,
    origin: origin === null ? null : printable(origin),
    country: null,
    allowed: false,
    ...why,
  }
  ctx.recorder.note(noted, false)
}

/**
 * What `authorize` would answer at `atMs`. Writes and binds nothing; and records a check.
 *
 * @param atMs null: now, with the load of this node
 * @param prove finds what the client would prove, instead of what it presents
 */
export async function dryRun(
  ctx: AccessContext,
  attempt: AccessAttempt,
  atMs: number | null,
  prove?: () => Promise<Credential>,
): Promise<DryRun> {
  const timeMs = atMs ?? ctx.clock.now()
  const cached = prove ? null : evaluateFromMemory(ctx, attempt, timeMs)
  const evaluated = cached ?? (await evaluate(ctx, attempt, timeMs, prove))
  const load = atMs === null ? loadOf(ctx, evaluated) : null
  if (load !== null) return checkedReached(ctx, evaluated, load)
  const step = await countViewers(ctx, evaluated)
  if (step?.outcome === 'fail') return checkedReached(ctx, evaluated, { code: 'viewer_limit', step })
  const evaluation = step === null ? evaluated : withStep(evaluated, step)
  record(ctx, 'check', evaluation)
  return { ...evaluation, reached: null }
}

const loadOf = (ctx: AccessContext, { request, decision }: Evaluation): DryRun['reached'] =>
  decision.allowed ? loadReached(ctx, { ...request, accountId: decision.accountId }) : null

function checkedReached(ctx: AccessContext, evaluated: Evaluation, reached: DryRun['reached']): DryRun {
  record(ctx, 'check', evaluated, reached)
  return { ...evaluated, reached }
}

const withStep = ({ request, decision }: Evaluation, step: TraceStep): Evaluation => ({
  request,
  decision: { ...decision, trace: [...decision.trace, step] },
})

/** As `dryRun`, from memory alone. Null: it needs the store, and recorded nothing. */
export function dryRunFromMemory(ctx: AccessContext, attempt: AccessAttempt, atMs: number | null): DryRun | null {
  const evaluation = evaluateFromMemory(ctx, attempt, atMs ?? ctx.clock.now())
  if (evaluation === null || hasViewerLimits(ctx, evaluation)) return null
  const load = atMs === null ? loadOf(ctx, evaluation) : null
  if (load !== null) return checkedReached(ctx, evaluation, load)
  record(ctx, 'check', evaluation)
  return { ...evaluation, reached: null }
}

/** What `authorize` would decide, from memory alone. Null: it needs the store. Writes and records nothing. */
export function evaluateFromMemory(ctx: AccessContext, attempt: AccessAttempt, nowMs: number): Evaluation | null {
  const credential = credentialFromMemory(ctx.cache, attempt.presented)
  if (credential === null) return null
  const stream = streamThatDecides(attempt, credential)
  if (stream === null) return evaluateWith(ctx, attempt, credential, true, nowMs)
  const feed = peekOnAir(ctx, stream.accountId, stream.streamName)
  // Without a feed the publish tokens of the stream decide, and those are in the store.
  if (feed === undefined || feed === 'unknown') return null
  return evaluateWith(ctx, attempt, credential, feed.secured, nowMs)
}

/** What `authorize` would decide, from memory and from the store. Writes nothing and records nothing. */
export async function evaluate(
  ctx: AccessContext,
  attempt: AccessAttempt,
  nowMs: number,
  prove = () => resolveCredential(ctx, attempt.presented),
): Promise<Evaluation> {
  const credential = await prove()
  const stream = streamThatDecides(attempt, credential)
  const streamIsSecured = stream === null || (await isSecured(ctx, stream))
  return evaluateWith(ctx, attempt, credential, streamIsSecured, nowMs)
}

function evaluateWith(
  ctx: AccessContext,
  attempt: AccessAttempt,
  credential: Credential,
  streamIsSecured: boolean,
  nowMs: number,
): Evaluation {
  const request: AccessRequest = {
    action: credential.kind === 'preview' && attempt.action === 'view' ? 'preview' : attempt.action,
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

/** The stream whose security decides: that of a viewer without a token. Null: the token decides, or the name is invalid. */
function streamThatDecides({ action, accountId, streamName }: AccessAttempt, credential: Credential): StreamRef | null {
  if (action !== 'view' || credential.kind !== 'none' || accountId === null) return null
  return checkStreamName(streamName) === null ? { accountId, streamName } : null
}

async function isSecured(ctx: AccessContext, { accountId, streamName }: StreamRef): Promise<boolean> {
  const feed = await onAir(ctx, accountId, streamName)
  return feed ? feed.secured : streamWouldBeSecured(ctx, accountId, streamName)
}

/** Writes the effects of a decision. Null: the token changed meanwhile, so the decision must be made again. */
async function carryOut(ctx: AccessContext, evaluation: Evaluation): Promise<Evaluation | null> {
  const { decision } = evaluation
  if (!decision.allowed) return evaluation
  const { bind, stamp } = decision.effects
  const { credential } = evaluation.request
  if (stamp) ctx.lastUses.note(stamp.tokenId, stamp.address, ctx.clock.now())
  if (!bind) return evaluation
  const outcome = await ctx.store.transaction((tx) => tx.bindings.bind({ ...bind, atMs: ctx.clock.now() }))
  if (outcome === 'bound' || outcome === 'known') {
    if ('token' in credential) noteBound(ctx, credential.token, bind.address)
    return evaluation
  }
  ctx.cache.forgetToken(bind.tokenId)
  return outcome === 'full' ? { ...evaluation, decision: refuseBinding(decision) } : null
}

/** To read all that are bound again would cost more with each. A snapshot that was read since may have forgotten this one. */
function noteBound({ cache }: AccessContext, token: TokenSnapshot, address: string): void {
  const cached = cache.peekTokenById(token.id)
  if (cached !== 'unknown' && cached.snapshot === token) token.boundAddresses.add(address)
}

/** Another address took the last free binding, or three attempts failed: refuses like any other unbound address. */
function refuseBinding(decision: Decision): Decision {
  const { text } = REFUSALS.address_not_allowed
  const trace = decision.trace.map((step) =>
    step.check === 'binding'
      ? { check: step.check, outcome: 'fail' as const, detail: 'all places were bound by others meanwhile' }
      : step,
  )
  return { allowed: false, code: 'address_not_allowed', message: text, tokenId: decision.tokenId, trace }
}

/** Whether the account wants this admission in its log. A store that does not answer keeps no client out. */
async function isWanted({ cache }: AccessContext, decision: Decision): Promise<boolean> {
  if (!decision.allowed) return false
  try {
    return await cache.logsAdmissions(decision.accountId)
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return false
  }
}

function record(
  ctx: AccessContext,
  source: LogSource,
  { request, decision }: Evaluation,
  turnedAway: TurnedAway | null = null,
  isForced = false,
): void {
  const outcome = outcomeOf(decision, turnedAway)
  if (!isForced && !ctx.recorder.wants(outcome.allowed)) return
  const { credential } = request
  const token = tokenOf(credential)
  const accountId = request.accountId ?? token?.accountId
  // An unknown token names no account, so there is no log to write to.
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
    trace: turnedAway?.step === undefined ? decision.trace : [...decision.trace, turnedAway.step],
  }
  ctx.recorder.note(noted, token !== null || source === 'check')
}

function outcomeOf(
  decision: Decision,
  turnedAway: TurnedAway | null,
): Pick<AccessLogRow, 'allowed' | 'code' | 'message'> {
  if (turnedAway !== null) {
    const { code, text: message } = publicAnswer(turnedAway)
    return { allowed: false, code, message }
  }
  if (decision.allowed) return { allowed: true, code: null, message: 'Allowed' }
  return { allowed: false, code: decision.code, message: decision.message }
}

/** Text of an unknown client, safe to store and to show: bounded, with control characters made visible. */
const printable = (text: string): string => text.slice(0, 255).replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD')
