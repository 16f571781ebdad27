import { timeOrderedId } from '../../base/ids.ts'
import { REFUSALS } from '../../core/access/refusals.ts'
import type { RefusalCode, TokenSnapshot } from '../../core/access/types.ts'
import { type SessionSlot, SESSION_LIMITS, type SessionLimitCode } from '../../core/sessions/slots.ts'
import type { Bytes } from '../../core/sessions/types.ts'
import type { Cut, RemoteFeedRef, ActiveSession, ActiveFeed, Session } from '../../media/sessionRegistry.ts'
import { StoreUnavailable, type Tx } from '../../store/store.ts'
import { authorize, type AccessAttempt, type Evaluation, preview, recordLimit } from '../access/authorize.ts'
import type { Context } from '../context.ts'
import { closeSession } from './close.ts'
import { remoteFeed } from './revoke.ts'
import { limitBeforeDecision, SlotReservation } from './slotReservation.ts'
import { noteViewAttempt, noteViewer } from './viewing.ts'

/** What an edge brings along for the session that it asks for. */
export interface SessionRequest {
  /** Which source of the stream; null: the one without a name. */
  readonly sourceId: string | null
  /** They were sent here by another node, and are not sent on. */
  readonly isHandedOver?: boolean
  /** 22 characters that sort by time, where the session has an id already; else one is made. */
  readonly sessionId?: string
  /** Ends the session at the edge. May be called at any time after the session was inserted. */
  readonly cut: Cut
}

/**
 * `message` is the text for the client. 429: the address or the token has as many sessions as it may. 503: this process
 * takes no (more) sessions. Both: try again later.
 */
export interface AdmissionRefusal<S extends number> {
  readonly ok: false
  readonly status: S
  readonly code: RefusalCode | SessionLimitCode | 'not_serving' | 'at_another_node'
  readonly message: string
  readonly retryAfterSeconds?: number
}

export type PublisherAdmission = { readonly ok: true; readonly session: Session } | AdmissionRefusal<401 | 429 | 503>

type ViewerRefusal = AdmissionRefusal<401 | 409 | 429 | 503> | Elsewhere

export type ViewerAdmission =
  | { readonly ok: true; readonly session: Session; readonly feed: ActiveFeed }
  | ViewerRefusal

/** The feed is at another node, which is reached at `url` and decides for itself. */
export interface Elsewhere {
  readonly ok: false
  readonly status: 307
  readonly code: 'at_another_node'
  readonly message: string
  readonly url: string
}

/** A token that changes this often under an admission admits nobody. */
const ATTEMPTS = 3
const NOTHING: Bytes = { bytesIn: 0, bytesOut: 0 }

/**
 * Decides, and puts the session on record before anybody is told. Its media counts as live from `goLive` on. Whoever was
 * let in must be let out with `closeSession`, however it ends.
 * @throws StoreUnavailable when it cannot be decided or recorded: nobody is admitted then
 */
export async function admitPublisher(
  ctx: Context,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<PublisherAdmission> {
  const admitted = await admit<never>(ctx, attempt, (evaluation, reservation) =>
    enter(ctx, evaluation, sessionRequest, reservation),
  )
  return 'entry' in admitted ? { ok: true, session: admitted.entry.session } : admitted
}

/**
 * As `admitPublisher`. Access first, so that nobody without it learns what is on the air; then the feed. The feed is one
 * of this node; who wants one of another is told where that is.
 */
export async function admitViewer(
  ctx: Context,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<ViewerAdmission> {
  const admitted = await admit<AdmissionRefusal<409> | Elsewhere>(ctx, attempt, async (evaluation, reservation) => {
    const found = await feedFor(ctx, evaluation, sessionRequest)
    return found.ok ? enter(ctx, evaluation, sessionRequest, reservation) : found
  })
  if (!('entry' in admitted)) return admitted
  const { session } = admitted.entry
  const feed = ctx.sessions.feed(session.accountId, session.streamName, sessionRequest.sourceId)
  if (feed) return { ok: true, session, feed }
  await closeSession(ctx, session.id, 'source_gone')
  return refuse(ctx, 409, 'stream_not_published')
}

/**
 * What `admitViewer` would answer now, for protocols whose first request only says where the media is. Takes no slot
 * and writes nothing but refusals, so that it costs little however often it is asked.
 * @throws StoreUnavailable when it cannot be decided
 */
export async function mayView(
  ctx: Context,
  attempt: AccessAttempt,
  sessionRequest: Pick<SessionRequest, 'sourceId' | 'isHandedOver'>,
): Promise<{ readonly ok: true; readonly feed: ActiveFeed } | ViewerRefusal> {
  const closed = notNow(ctx, attempt)
  if (closed) return closed
  const evaluation = await preview(ctx, attempt)
  const { decision } = evaluation
  return decision.allowed ? feedFor(ctx, evaluation, sessionRequest) : refuse(ctx, 401, decision.code, decision.message)
}

/** The feed that they have access to. */
async function feedFor(
  ctx: Context,
  { request: { streamName }, decision }: Evaluation,
  { sourceId, isHandedOver }: Pick<SessionRequest, 'sourceId' | 'isHandedOver'>,
): Promise<{ readonly ok: true; readonly feed: ActiveFeed } | AdmissionRefusal<409> | Elsewhere> {
  const accountId = decision.allowed ? decision.accountId : ''
  const feed = ctx.sessions.feed(accountId, streamName, sourceId)
  if (feed) return { ok: true, feed }
  const there = await remoteFeed(ctx, { accountId, streamName }, sourceId)
  if (there && !isHandedOver) return sendTo(ctx, there)
  await noteViewAttempt(ctx, { accountId, streamName })
  return refuse(ctx, 409, 'stream_not_published')
}

/** Null: the token has changed under the decision, so it has to be made again. */
type Entering<R> = (
  evaluation: Evaluation,
  reservation: SlotReservation,
) => Promise<{ entry: ActiveSession } | R | AdmissionRefusal<401> | null>

async function admit<R>(
  ctx: Context,
  attempt: AccessAttempt,
  entering: Entering<R>,
): Promise<{ entry: ActiveSession } | R | AdmissionRefusal<401 | 429 | 503>> {
  for (let tries = 1; tries <= ATTEMPTS; tries++) {
    const closed = notNow(ctx, attempt)
    if (closed) return closed
    const reservation = new SlotReservation(ctx)
    try {
      const { limit, ...considered } = await authorize(ctx, attempt, {
        reserveSlot: (asking) => reservation.take(asking),
      })
      const { decision } = considered
      if (limit !== null) return refuseOverLimit(ctx, limit)
      if (!decision.allowed) return refuse(ctx, 401, decision.code, decision.message)
      const entered = await entering(considered, reservation)
      if (entered !== null) return entered
      if (decision.tokenId !== null) ctx.cache.forgetToken(decision.tokenId)
    } finally {
      reservation.release()
    }
  }
  return refuse(ctx, 401, 'invalid_token')
}

async function enter(
  ctx: Context,
  evaluation: Evaluation,
  sessionRequest: SessionRequest,
  reservation: SlotReservation,
): Promise<{ entry: ActiveSession } | AdmissionRefusal<401> | null> {
  const entry = entryOf(ctx, evaluation, sessionRequest, reservation.give())
  const { session } = entry
  // In memory first: whoever changes the token after our transaction finds the session there.
  ctx.sessions.add(entry)
  try {
    const written = await ctx.store.transaction((tx) => insert(ctx, tx, entry))
    // It may have been cut between the commit and this line.
    if (!written || !ctx.sessions.has(session.id)) {
      ctx.sessions.remove(session.id)
      // An id of the edge's own is used up with its row.
      return written && sessionRequest.sessionId !== undefined ? refuse(ctx, 401, 'invalid_token') : null
    }
  } catch (error) {
    ctx.sessions.remove(session.id)
    // Perhaps it was committed all the same; then its end is written with the late ones.
    ctx.sessions.leaving.set(session.id, { entry, reason: 'lost', atMs: session.startedAtMs })
    throw error
  }
  ctx.sessions.counts.admitted.add(`${session.action} ${session.protocol}`)
  return { entry }
}

/** False: the token is not what was decided on. */
async function insert(ctx: Context, tx: Tx, entry: ActiveSession): Promise<boolean> {
  const { session } = entry
  if (!(await tx.nodes.lockShared(ctx.sessions.node))) throw new StoreUnavailable('this process was taken for dead')
  if (session.tokenId !== null) {
    const token = await tx.tokens.lockShared(session.tokenId)
    if (token?.version !== entry.tokenVersion) return false
    entry.tokenHash = Buffer.from(token.valueHash).toString('hex')
  }
  await tx.sessions.insert(session, ctx.sessions.node)
  if (session.action === 'view') await noteViewer(tx, session)
  return true
}

function entryOf(
  ctx: Context,
  { request, decision }: Evaluation,
  sessionRequest: SessionRequest,
  slot: SessionSlot,
): ActiveSession {
  if (!decision.allowed) throw new Error('a refused approach has no session')
  const token = tokenOf(request.credential)
  const startedAtMs = ctx.clock.now()
  const session: Session = {
    id: sessionRequest.sessionId ?? timeOrderedId(startedAtMs, ctx.random),
    action: request.action,
    protocol: request.protocol,
    accountId: decision.accountId,
    streamName: request.streamName,
    sourceId: token?.kind === 'publish' && !token.multisource ? null : sessionRequest.sourceId || null,
    tokenId: decision.tokenId,
    jti: request.credential.kind === 'selfSigned' ? request.credential.claims.jti : null,
    trackingId: decision.trackingId,
    address: request.address.text,
    origin: request.origin?.slice(0, 255) ?? null,
    country: request.country,
    startedAtMs,
  }
  return {
    session,
    cut: sessionRequest.cut,
    slot,
    request,
    tokenHash: null,
    tokenVersion: token?.version ?? null,
    bytes: NOTHING,
    mediaAtMs: null,
    written: NOTHING,
    ending: null,
  }
}

/** The presented token, or the parent of a self-signed one. */
export function tokenOf(credential: Evaluation['request']['credential']): TokenSnapshot | null {
  return credential.kind === 'token' || credential.kind === 'selfSigned' ? credential.token : null
}

function refuse<S extends 401 | 409>(
  ctx: Context,
  status: S,
  code: RefusalCode,
  message = REFUSALS[code].text,
): AdmissionRefusal<S> {
  ctx.sessions.counts.refused.add(code)
  return { ok: false, status, code, message }
}

/** Where they find it; to where nobody can be sent, they are told why they are not let in. */
function sendTo({ sessions }: Context, { url }: RemoteFeedRef): Elsewhere | AdmissionRefusal<409> {
  sessions.counts.refused.add('at_another_node')
  const why = { ok: false, code: 'at_another_node', message: 'Stream is published at another node' } as const
  return url === null ? { ...why, status: 409 } : { ...why, status: 307, url }
}

/**
 * Asked before anything is decided, so that a node that is full costs little. Only of publishers the token says whose
 * they are: they are decided on first, so that their account's log shows why their encoder was refused.
 */
function notNow(ctx: Context, attempt: AccessAttempt): AdmissionRefusal<429 | 503> | null {
  if (ctx.sessions.node === '') {
    ctx.sessions.counts.refused.add('not_serving')
    return { ok: false, status: 503, code: 'not_serving', message: NOT_SERVING }
  }
  const limit = attempt.action === 'view' ? limitBeforeDecision(ctx, attempt) : null
  if (limit === null) return null
  recordLimit(ctx, attempt, limit)
  return refuseOverLimit(ctx, limit)
}

function refuseOverLimit({ sessions }: Context, code: SessionLimitCode): AdmissionRefusal<429 | 503> {
  sessions.counts.refused.add(code)
  const { status, text: message, retryAfterSeconds } = SESSION_LIMITS[code]
  return { ok: false, status, code, message, retryAfterSeconds }
}

const NOT_SERVING = 'This server is starting or stopping: try again later'
