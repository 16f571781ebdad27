import type { StreamRef } from '../../core/streams/streamId.ts'
import { fraction } from '../../base/random.ts'
import { REFUSALS, type NODE_REDIRECT, type SessionLimitCode } from '../../core/access/refusals.ts'
import { mayGoTo } from '../../core/clusters.ts'
import { anyNode, type Drain } from '../../core/nodes/drain.ts'
import type { RefusalCode, Evaluation } from '../../core/access/types.ts'
import type { ActiveFeed, RemoteFeedRef } from '../../media/feedsOnAir.ts'
import type { SessionContext } from '../context.ts'
import { nodeWithRoom, regionsOfStream } from '../regions/nodeWithRoom.ts'
import { remoteFeed } from './revoke.ts'
import { noteViewAttempt } from './viewing.ts'

/** Which feed of a stream is requested, and how. */
export interface FeedChoice {
  /** The source of the stream; null: the source without a name. */
  readonly sourceId: string | null
  /** True: another node redirected this client here, so this node does not redirect it again. */
  readonly isHandedOver?: boolean
  /** True: the edge fetches the media of a feed at another node itself, so the viewer stays here. */
  readonly isAnywhere?: boolean
  /** The edge still has the media of a feed that is over, for those who come for what is left of it. */
  readonly isKept?: boolean
}

/**
 * `message` is the text for the client. 429: the address or the token has reached its limit of sessions. 503: this
 * process accepts no (more) sessions. Both: try again later.
 */
export interface AdmissionRefusal<S extends number> {
  readonly ok: false
  readonly status: S
  readonly code: RefusalCode | SessionLimitCode | 'not_serving' | 'draining' | 'at_another_node'
  readonly message: string
  readonly retryAfterSeconds?: number
}

/**
 * A feed at this node, or at another one that is reached at `url`, whose media the edge fetches or a link brings. Empty: none is on
 * the air, and the edge has what is left.
 */
export type FoundFeed =
  | { readonly ok: true; readonly feed: ActiveFeed; readonly url: null }
  | { readonly ok: true; readonly feed: null; readonly url: string }

/** Another node takes the client, at `url`, and decides again: it has the feed, or room. */
export interface Redirected {
  readonly ok: false
  readonly status: 307
  readonly code: 'at_another_node' | typeof NODE_REDIRECT.code
  readonly message: string
  readonly url: string
}

/** Waits for a source that is dialled on demand. True: decide again, with the rules of then, and look for the feed again. */
export type SourceWait = (stream: StreamRef, evaluation: Evaluation) => Promise<boolean>

/** A request waits once. */
export function once(wait: SourceWait): SourceWait {
  let hasWaited = false
  return async (stream, evaluation) => {
    if (hasWaited) return false
    hasWaited = true
    return wait(stream, evaluation)
  }
}

/** The feed that the evaluation gives access to. */
export async function feedFor(
  ctx: SessionContext,
  evaluation: Evaluation,
  { sourceId, isHandedOver, isAnywhere, isKept }: FeedChoice,
  wait: SourceWait,
): Promise<FoundFeed | AdmissionRefusal<409 | 503> | Redirected | 'waited'> {
  const { request, decision } = evaluation
  const { streamName, action } = request
  const accountId = decision.allowed ? decision.accountId : ''
  const stream = { accountId, streamName }
  const feed = ctx.sessions.feeds.get(accountId, streamName, sourceId)
  const { drain } = ctx.sessions
  if (feed && drain) return isAnywhere ? moveOn(ctx, drain, stream) : refuseDraining(ctx)
  if (feed) return { ok: true, feed, url: null }
  const there = await remoteFeed(ctx, stream, sourceId)
  if (there && isAnywhere && drain) return moveOn(ctx, drain, stream)
  if (there && isAnywhere && there.url !== null && mayGoTo(ctx.policy.region, [there]))
    return { ok: true, feed: null, url: there.url }
  if (there && !drain && !isAnywhere && (await ctx.cascade.take(stream, there)))
    return { ok: true, feed: null, url: there.url ?? '' }
  if (there && !isHandedOver) return sendTo(ctx, there)
  if (drain) return refuseDraining(ctx)
  if (isKept) return { ok: true, feed: null, url: '' }
  if (action === 'view') {
    // What is pulled is a source without a name.
    if (sourceId === null && (await wait(stream, evaluation))) return 'waited'
    await noteViewAttempt(ctx, stream)
  }
  return refuseAdmission(ctx, 409, 'stream_not_published')
}

/** Counts a refusal, and answers with it. */
export function refuseAdmission<S extends 401 | 409 | 503>(
  ctx: SessionContext,
  status: S,
  code: RefusalCode,
  message = REFUSALS[code].text,
): AdmissionRefusal<S> {
  ctx.sessions.counts.refused.add(code)
  return { ok: false, status, code, message }
}

/** A viewer that any node can serve goes to another one: to one with room, if there is one. */
async function moveOn(
  ctx: SessionContext,
  drain: Drain,
  stream: StreamRef,
): Promise<Redirected | AdmissionRefusal<503>> {
  const regions = regionsOfStream(ctx, stream)
  const url = (await nodeWithRoom(ctx, regions)) ?? anyNode(drain, regions, fraction(ctx.random))
  if (url === null) return refuseDraining(ctx)
  ctx.sessions.counts.refused.add('at_another_node')
  return { ok: false, status: 307, code: 'at_another_node', message: AT_ANOTHER_NODE, url }
}

/** This node takes nothing new. A load balancer sends the next attempt to another one. */
export function refuseDraining({ sessions }: SessionContext): AdmissionRefusal<503> {
  sessions.counts.refused.add('draining')
  return { ok: false, status: 503, code: 'draining', message: DRAINING, retryAfterSeconds: 1 }
}

export const DRAINING = 'This server is about to stop: try again in a moment'

export const AT_ANOTHER_NODE = 'Stream is published at another node'

/** A redirect to the feed's node. If that node has no public URL, a 409. */
function sendTo({ sessions }: SessionContext, { url }: RemoteFeedRef): Redirected | AdmissionRefusal<409> {
  sessions.counts.refused.add('at_another_node')
  const why = { ok: false, code: 'at_another_node', message: AT_ANOTHER_NODE } as const
  return url === null ? { ...why, status: 409 } : { ...why, status: 307, url }
}
