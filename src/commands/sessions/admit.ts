import { NODE_REDIRECT, publicAnswer, REFUSALS, SESSION_LIMITS, type TurnedAway } from '../../core/access/refusals.ts'
import { type Decision, type TokenSnapshot, type Evaluation, tokenOf } from '../../core/access/types.ts'
import type { ViewerLimit } from '../../core/access/viewerLimits.ts'
import type { PublishingParameters } from '../../core/sessions/publishing.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { Session } from '../../core/sessions/types.ts'
import { StoreUnavailable, type Tx } from '../../store/store.ts'
import { awaitSource } from '../pulls/demand.ts'
import { authorize, type AccessAttempt, preview, recordTurnedAway, recordUndecided } from '../access/authorize.ts'
import { reachedBy, reachedLimit, viewerLimits } from '../access/viewerLimits.ts'
import type { SessionContext } from '../context.ts'
import { closeSession } from './close.ts'
import { activeSessionOf, type SessionRequest } from './entry.ts'
import {
  type AdmissionRefusal,
  feedFor,
  type FoundFeed,
  once,
  type Redirected,
  refuseAdmission,
  refuseDraining,
  type SourceWait,
} from './feedFor.ts'
import { toRegionOfToken, withFreeNode } from './redirect.ts'
import { limitBeforeDecision, noteStart, SlotReservation } from './slotReservation.ts'
import { noteViewer } from './viewing.ts'

export type PublisherAdmission =
  | { readonly ok: true; readonly session: Session; readonly token: TokenSnapshot | null }
  | PublisherRefusal

type PublisherRefusal = AdmissionRefusal<401 | 429 | 503> | Redirected

type ViewerRefusal = AdmissionRefusal<401 | 409 | 429 | 503> | Redirected

export type ViewerAdmission =
  | { readonly ok: true; readonly session: Session; readonly feed: ActiveFeed | null }
  | ViewerRefusal

export type ViewerPreview = (FoundFeed & { readonly tokenId: number | null }) | ViewerRefusal

/** If a token changes this often during an admission, Sluice refuses. */
const ATTEMPTS = 3

/**
 * Decides, and writes the session before it answers. The feed is on the air from `goLive` on. Every admitted session
 * must end with `closeSession`.
 * @throws StoreUnavailable if it cannot decide or write: then it admits no client
 */
export async function admitPublisher(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<PublisherAdmission> {
  const admitted = await admit<never>(ctx, attempt, sessionRequest, () => Promise.resolve(null))
  return 'entry' in admitted
    ? { ok: true, session: admitted.entry.session, token: tokenOf(admitted.entry.request.credential) }
    : admitted
}

/** Says once in a broadcast which parameters of its address have no effect. */
export function noteUnknownParameters(
  { sampled }: Pick<SessionContext, 'sampled'>,
  { id: sessionId, streamName }: Session,
  { unknown }: PublishingParameters,
): void {
  if (unknown.length === 0) return
  sampled.publishers.info({ sessionId, streamName, parameters: unknown }, 'parameters of a publisher have no effect')
}

/**
 * As `admitPublisher`. Checks access first, so that a viewer without access does not learn what is on the air. Then it
 * looks for the feed at this node. A feed at another node is brought here, and is null; if that cannot be, the refusal names that node.
 */
export async function admitViewer(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<ViewerAdmission> {
  const admitted = await admitToFeed(ctx, attempt, sessionRequest)
  if (!('entry' in admitted)) return admitted
  const { session } = admitted.entry
  const feed = ctx.sessions.feeds.get(session.accountId, session.streamName, sessionRequest.sourceId)
  if (feed || ctx.cascade.has(session)) return { ok: true, session, feed: feed ?? null }
  await closeSession(ctx, session.id, 'source_gone')
  return refuseAdmission(ctx, 409, 'stream_not_published')
}

/** As `admitViewer`, for an edge that fetches the media itself, from whichever node has the feed. */
export async function admitViewerAnywhere(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<{ readonly ok: true } | ViewerRefusal> {
  const admitted = await admitToFeed(ctx, attempt, { ...sessionRequest, isAnywhere: true })
  return 'entry' in admitted ? { ok: true } : admitted
}

const admitToFeed = (
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
): Promise<{ entry: ActiveSession } | ViewerRefusal> => {
  const { whileWaiting = (wait) => wait() } = sessionRequest
  // The viewer keeps its slot meanwhile, so the limits of slots hold for those who wait.
  const wait = once((stream) => whileWaiting(() => awaitSource(ctx, stream)))
  return admit<AdmissionRefusal<409 | 503> | Redirected>(ctx, attempt, sessionRequest, async (evaluation) => {
    const found = await feedFor(ctx, evaluation, sessionRequest, wait)
    return found !== 'waited' && found.ok ? null : found
  })
}

/**
 * What `admitViewerAnywhere` would answer now, for protocols whose first request only returns the location of the media. Takes
 * a slot only while it waits for a source, and writes nothing but refusals, so that frequent requests cost little.
 * @throws StoreUnavailable if it cannot decide
 */
export async function mayView(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: Pick<SessionRequest, 'sourceId' | 'followsRedirects' | 'isHandedOver'>,
): Promise<ViewerPreview> {
  const wait = once(async (stream, evaluation) => {
    const reservation = new SlotReservation(ctx)
    try {
      return reservation.take(evaluation) === null && (await awaitSource(ctx, stream))
    } finally {
      reservation.release()
    }
  })
  const found = await mayViewNow(ctx, attempt, sessionRequest, wait)
  const after = found === 'waited' ? await mayViewNow(ctx, attempt, sessionRequest, wait) : found
  if (after === 'waited') throw new Error('a request waits for a source once')
  return after
}

async function mayViewNow(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: Pick<SessionRequest, 'sourceId' | 'followsRedirects' | 'isHandedOver'>,
  wait: SourceWait,
): Promise<ViewerPreview | 'waited'> {
  const closed = await notNow(ctx, attempt, sessionRequest)
  if (closed) return closed
  const evaluation = await preview(ctx, attempt)
  const { decision } = evaluation
  if (!decision.allowed) return refuseAdmission(ctx, 401, decision.code, decision.message)
  const found = await feedFor(ctx, evaluation, { ...sessionRequest, isAnywhere: true }, wait)
  if (found === 'waited' || !found.ok) return found
  const reached = await reachedLimit(ctx, await viewerLimits(ctx, evaluation), null)
  return reached === null ? { ...found, tokenId: decision.tokenId } : turnAway(ctx, evaluation, reached)
}

/** Why a client with access is not admitted. Null: it is; `waited`: decide again, after a wait for a source. */
type Declining<R> = (evaluation: Evaluation) => Promise<R | 'waited' | null>

/** Null: the token changed during the decision, which must be made again. */
type Entered = { entry: ActiveSession } | PublisherRefusal | null

async function admit<R>(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: SessionRequest,
  decline: Declining<R>,
): Promise<{ entry: ActiveSession } | R | PublisherRefusal> {
  for (let tries = 1; tries <= ATTEMPTS; tries++) {
    const closed = await notNow(ctx, attempt, sessionRequest)
    if (closed) return closed
    const reservation = new SlotReservation(ctx)
    try {
      const { turnedAway, declined, ...evaluated } = await authorize(ctx, attempt, {
        decline,
        async reserve(asking) {
          const reached = await reservation.reserve(asking, sessionRequest.viewer ?? null)
          return reached && withFreeNode(ctx, attempt, sessionRequest, reached, asking.request.credential)
        },
        redirect: (refused) => toRegionOfToken(ctx, refused, sessionRequest),
      })
      const { decision } = evaluated
      if (turnedAway !== null) return answerTo(ctx, turnedAway)
      if (!decision.allowed) return refuseDecision(ctx, decision)
      if (declined === 'waited') continue
      if (declined !== null) return declined
      const entered = await enter(ctx, evaluated, sessionRequest, reservation)
      if (entered !== null) return entered
      if (decision.tokenId !== null) ctx.cache.forgetToken(decision.tokenId)
    } finally {
      reservation.release()
    }
  }
  return refuseAdmission(ctx, 401, 'invalid_token')
}

async function enter(
  ctx: SessionContext,
  evaluation: Evaluation,
  sessionRequest: SessionRequest,
  reservation: SlotReservation,
): Promise<Entered> {
  const entry = activeSessionOf(ctx, evaluation, sessionRequest, reservation.give())
  const { session } = entry
  // In memory first: a change of the token after our transaction then finds the session there. So does a change of a limit.
  ctx.sessions.add(entry)
  try {
    if (!(await isOfAccount(ctx, entry)) || needsToken(ctx, entry)) {
      ctx.sessions.remove(session.id)
      return again(ctx, entry, sessionRequest)
    }
    const limits = await viewerLimits(ctx, evaluation)
    for (const { holder } of limits) entry.holders.add(holder)
    const inserted = await ctx.store.transaction((tx) => insert(ctx, tx, entry, limits))
    if (inserted !== 'written') {
      ctx.sessions.remove(session.id)
      // A limit that is new may have counted it meanwhile.
      if (entry.holders.size > 0) await ctx.store.transaction((tx) => tx.viewerSeats.free([session.id]))
      if (typeof inserted === 'object') return turnAway(ctx, evaluation, reachedBy(inserted))
      return again(ctx, entry, sessionRequest)
    }
  } catch (error) {
    ctx.sessions.remove(session.id)
    // The transaction may have been committed. Then the late ends write the end of this session.
    ctx.sessions.leaving.set(session.id, { entry, reason: 'lost', atMs: session.startedAtMs })
    throw error
  }
  noteStart(ctx, evaluation)
  ctx.sessions.counts.admitted.add(`${session.action} ${session.protocol}`)
  entry.isEntering = false
  if (ctx.sessions.has(session.id)) return { entry }
  // It was cut meanwhile. Its end could not be written before its row.
  ctx.sessions.leaving.set(session.id, { entry, reason: entry.ending?.reason ?? 'lost', atMs: session.startedAtMs })
  await closeSession(ctx, session.id, 'lost')
  return again(ctx, entry, sessionRequest)
}

/** Null: decide again. An id that the edge has chosen is used up when the edge was told to cut it. */
const again = (
  ctx: SessionContext,
  { ending }: ActiveSession,
  { sessionId }: Pick<SessionRequest, 'sessionId'>,
): PublisherRefusal | null =>
  ending === null || sessionId === undefined ? null : refuseAdmission(ctx, 401, 'invalid_token')

/** False: what the account says for its tokens has changed since the decision. Later changes find the session in memory. */
async function isOfAccount({ cache }: SessionContext, { session, accountVersion }: ActiveSession): Promise<boolean> {
  if (session.tokenId === null) return true
  return (await cache.accountDefaults(session.accountId)).version === accountVersion
}

/** A stream that was open when Sluice decided may have got a secured feed since. Later ones find the session in memory. */
const needsToken = (ctx: SessionContext, { session }: ActiveSession): boolean =>
  session.action === 'view' &&
  session.tokenId === null &&
  ctx.streamsOnAir(session.accountId, session.streamName)?.secured === true

/** `changed`: the token has changed since the decision. A limit: it is reached. Then nothing is written. */
async function insert(
  ctx: SessionContext,
  tx: Tx,
  entry: ActiveSession,
  limits: readonly ViewerLimit[],
): Promise<'written' | 'changed' | ViewerLimit> {
  const { session, viewer } = entry
  if (!(await tx.nodes.lockShared(ctx.sessions.node))) throw new StoreUnavailable('other nodes have given this node up')
  if (session.tokenId !== null) {
    const token = await tx.tokens.lockShared(session.tokenId)
    if (token?.version !== entry.tokenVersion) return 'changed'
    entry.tokenHash = Buffer.from(token.valueHash).toString('hex')
  }
  if (limits.length > 0) {
    const seat = { viewer, sessionId: session.id, node: ctx.sessions.node }
    const reached = await tx.viewerSeats.take(seat, limits)
    if (reached !== null) return reached
  }
  await tx.sessions.insert(session, ctx.sessions.node, entry.standing?.priority)
  if (session.action === 'view') await noteViewer(tx, session)
  return 'written'
}

/**
 * Refuses before any decision, so that a full node costs little. For publishers only the token names the account.
 * Sluice decides on them first, so that their account's log shows why their publisher was refused.
 */
async function notNow(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sessionRequest: Pick<SessionRequest, 'followsRedirects'>,
): Promise<AdmissionRefusal<429 | 503> | Redirected | null> {
  if (ctx.sessions.node === '') {
    ctx.sessions.counts.refused.add('not_serving')
    return { ok: false, status: 503, code: 'not_serving', message: NOT_SERVING }
  }
  // A viewer may be redirected.
  if (ctx.sessions.drain !== null && attempt.action === 'publish') return refuseDraining(ctx)
  const limit = attempt.action === 'view' ? limitBeforeDecision(ctx, attempt) : null
  if (limit === null) return null
  const turnedAway = await withFreeNode(ctx, attempt, sessionRequest, limit, null)
  recordUndecided(ctx, attempt, turnedAway)
  return answerTo(ctx, turnedAway)
}

function turnAway(
  ctx: SessionContext,
  evaluation: Evaluation,
  why: TurnedAway,
): AdmissionRefusal<429 | 503> | Redirected {
  recordTurnedAway(ctx, evaluation, why)
  return answerTo(ctx, why)
}

/** Counts it, and answers the client that is turned away. */
function answerTo({ sessions }: SessionContext, why: TurnedAway): AdmissionRefusal<429 | 503> | Redirected {
  sessions.counts.refused.add(publicAnswer(why).code)
  if ('nodeUrl' in why) {
    const { status, code, text: message } = NODE_REDIRECT
    return { ok: false, status, code, message, url: why.nodeUrl }
  }
  const { code } = why
  const { status, text: message, retryAfterSeconds } = SESSION_LIMITS[code]
  return { ok: false, status, code, message, retryAfterSeconds }
}

/** 503: a node of another region may admit the client. */
const refuseDecision = (
  ctx: SessionContext,
  { code, message }: Extract<Decision, { allowed: false }>,
): AdmissionRefusal<401 | 503> => refuseAdmission(ctx, REFUSALS[code].status === 503 ? 503 : 401, code, message)

const NOT_SERVING = 'This server is starting or stopping: try again later'
