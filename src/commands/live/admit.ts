import { timeOrderedId } from '../../base/ids.ts'
import { REFUSALS } from '../../core/access/refusals.ts'
import type { RefusalCode, TokenSnapshot } from '../../core/access/types.ts'
import type { Bytes } from '../../core/sessions/types.ts'
import type { Cut, FeedElsewhere, LiveEntry, LiveFeed, LiveSession } from '../../media/sessions.ts'
import { StoreUnavailable, type Tx } from '../../store/store.ts'
import { authorize, type Approach, type Considered } from '../authorize.ts'
import type { Context } from '../context.ts'
import { closeSession } from './close.ts'
import { feedElsewhere } from './revoke.ts'
import { noteAttempt, noteViewer } from './viewing.ts'

/** What an edge brings along for the session that it asks for. */
export interface Door {
  /** Which source of the stream; null: the one without a name. */
  readonly sourceId: string | null
  /** They were sent here by another node, and are not sent on. */
  readonly isHandedOver?: boolean
  /** Ends the session at the edge. May be called at any time after the session was inserted. */
  readonly cut: Cut
}

/** `message` is the text for the client. 503: this process takes no (more) sessions; try again later. */
export interface Refused<S extends number> {
  readonly ok: false
  readonly status: S
  readonly code: RefusalCode | keyof typeof NOT_NOW | 'at_another_node'
  readonly message: string
}

export type PublisherAdmission = { readonly ok: true; readonly session: LiveSession } | Refused<401 | 503>

export type ViewerAdmission =
  | { readonly ok: true; readonly session: LiveSession; readonly feed: LiveFeed }
  | Refused<401 | 409 | 503>
  | Elsewhere

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
export async function admitPublisher(ctx: Context, approach: Approach, door: Door): Promise<PublisherAdmission> {
  const admitted = await admit<never>(ctx, approach, (considered) => enter(ctx, considered, door))
  return 'entry' in admitted ? { ok: true, session: admitted.entry.session } : admitted
}

/**
 * As `admitPublisher`. Access first, so that nobody without it learns what is on the air; then the feed. The feed is one
 * of this node; who wants one of another is told where that is.
 */
export async function admitViewer(ctx: Context, approach: Approach, door: Door): Promise<ViewerAdmission> {
  const admitted = await admit<Refused<409> | Elsewhere>(ctx, approach, async (considered) => {
    const accountId = considered.decision.allowed ? considered.decision.accountId : ''
    const feed = ctx.live.feed(accountId, approach.streamName, door.sourceId)
    if (feed) return enter(ctx, considered, door)
    const there = await feedElsewhere(ctx, { accountId, streamName: approach.streamName }, door.sourceId)
    if (there && !door.isHandedOver) return sendTo(ctx, there)
    await noteAttempt(ctx, { accountId, streamName: approach.streamName })
    return refuse(ctx, 409, 'stream_not_published')
  })
  if (!('entry' in admitted)) return admitted
  const { session } = admitted.entry
  const feed = ctx.live.feed(session.accountId, session.streamName, door.sourceId)
  if (feed) return { ok: true, session, feed }
  await closeSession(ctx, session.id, 'source_gone')
  return refuse(ctx, 409, 'stream_not_published')
}

/** Null: the token has changed under the decision, so it has to be made again. */
type Entering<R> = (considered: Considered) => Promise<{ entry: LiveEntry } | R | null>

async function admit<R>(
  ctx: Context,
  approach: Approach,
  entering: Entering<R>,
): Promise<{ entry: LiveEntry } | R | Refused<401 | 503>> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const closed = notNow(ctx)
    if (closed) return closed
    const considered = await authorize(ctx, approach)
    const { decision } = considered
    if (!decision.allowed) return refuse(ctx, 401, decision.code, decision.message)
    const entered = await entering(considered)
    if (entered !== null) return entered
    if (decision.tokenId !== null) ctx.cache.forgetToken(decision.tokenId)
  }
  return refuse(ctx, 401, 'invalid_token')
}

async function enter(ctx: Context, considered: Considered, door: Door): Promise<{ entry: LiveEntry } | null> {
  const entry = entryOf(ctx, considered, door)
  const { session } = entry
  // In memory first: whoever changes the token after our transaction finds the session there.
  ctx.live.add(entry)
  try {
    const written = await ctx.store.transaction((tx) => insert(ctx, tx, entry))
    // It may have been cut between the commit and this line.
    if (!written || !ctx.live.has(session.id)) {
      ctx.live.remove(session.id)
      return null
    }
  } catch (error) {
    ctx.live.remove(session.id)
    // Perhaps it was committed all the same; then its end is written with the late ones.
    ctx.live.leaving.set(session.id, { entry, reason: 'lost', atMs: session.startedAtMs })
    throw error
  }
  ctx.live.counts.admitted.add(`${session.action} ${session.protocol}`)
  return { entry }
}

/** False: the token is not what was decided on. */
async function insert(ctx: Context, tx: Tx, entry: LiveEntry): Promise<boolean> {
  const { session } = entry
  if (!(await tx.nodes.hold(ctx.live.node))) throw new StoreUnavailable('this process was taken for dead')
  if (session.tokenId !== null) {
    const token = await tx.tokens.hold(session.tokenId)
    if (token?.version !== entry.tokenVersion) return false
    entry.tokenHash = Buffer.from(token.valueHash).toString('hex')
  }
  await tx.sessions.insert(session, ctx.live.node)
  if (session.action === 'view') await noteViewer(tx, session)
  return true
}

function entryOf(ctx: Context, { request, decision }: Considered, door: Door): LiveEntry {
  if (!decision.allowed) throw new Error('a refused approach has no session')
  const token = tokenOf(request.credential)
  const startedAtMs = ctx.clock.now()
  const session: LiveSession = {
    id: timeOrderedId(startedAtMs, ctx.random),
    action: request.action,
    protocol: request.protocol,
    accountId: decision.accountId,
    streamName: request.streamName,
    sourceId: token?.kind === 'publish' && !token.multisource ? null : door.sourceId || null,
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
    cut: door.cut,
    request,
    tokenHash: null,
    tokenVersion: token?.version ?? null,
    bytes: NOTHING,
    written: NOTHING,
    ending: null,
  }
}

/** The presented token, or the parent of a self-signed one. */
export function tokenOf(credential: Considered['request']['credential']): TokenSnapshot | null {
  return credential.kind === 'token' || credential.kind === 'selfSigned' ? credential.token : null
}

function refuse<S extends 401 | 409>(
  ctx: Context,
  status: S,
  code: RefusalCode,
  message = REFUSALS[code].text,
): Refused<S> {
  ctx.live.counts.refused.add(code)
  return { ok: false, status, code, message }
}

/** Where they find it; to where nobody can be sent, they are told why they are not let in. */
function sendTo({ live }: Context, { url }: FeedElsewhere): Elsewhere | Refused<409> {
  live.counts.refused.add('at_another_node')
  const why = { ok: false, code: 'at_another_node', message: 'Stream is published at another node' } as const
  return url === null ? { ...why, status: 409 } : { ...why, status: 307, url }
}

/** Asked before anything is decided, so that a full node costs little. */
function notNow({ live }: Context): Refused<503> | null {
  const code = live.node === '' ? 'not_serving' : live.isFull ? 'too_many_sessions' : null
  if (code === null) return null
  live.counts.refused.add(code)
  return { ok: false, status: 503, code, message: NOT_NOW[code] }
}

const NOT_NOW = {
  not_serving: 'This server is starting or stopping: try again later',
  too_many_sessions: 'Too many sessions: try again later',
} as const
