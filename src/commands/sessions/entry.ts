import { timeOrderedId } from '../../base/ids.ts'
import { sessionEndOf } from '../../core/access/rules/expiry.ts'
import { type TokenSnapshot, type Evaluation, tokenOf } from '../../core/access/types.ts'
import { familiesOf } from '../../core/audience/families.ts'
import type { AskToMove } from '../../core/nodes/drain.ts'
import type { SessionSlot } from '../../core/sessions/slots.ts'
import type { Bytes, Session } from '../../core/sessions/types.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { ActiveSession, Cut, PublisherStanding } from '../../media/sessionRegistry.ts'
import type { SessionContext } from '../context.ts'
import type { FeedChoice } from './feedFor.ts'

/** What an edge provides for the session that it requests. */
export interface SessionRequest extends FeedChoice {
  /** The rank of a publisher among those of its source; null or absent: as its token says. */
  readonly priority?: number | null
  /** What a publisher sends of its source; null or absent: all of it. */
  readonly layer?: string | null
  /** How late the media of the publisher is, milliseconds; absent: the media engine reports silence. */
  readonly lateMs?: (nowMs: number) => number
  /** Offers a feed of the publisher to viewers of the media engine. Returns what takes it back. */
  readonly show?: (feed: ActiveFeed) => () => void
  /** True: the client goes on to another node if this one has no room. False for one that another node has sent on. */
  readonly followsRedirects?: boolean
  /** Absent: the protocol of the publisher cannot. */
  readonly askToMove?: AskToMove | undefined
  /** Whether this broadcast is recorded; null or absent: as its token says. */
  readonly record?: boolean | null
  /** True: this broadcast is not sent on to the targets of its token. */
  readonly noRestream?: boolean
  /** The `User-Agent` of a viewer, of which only the families are kept. */
  readonly userAgent?: string | undefined
  /** Who takes the seat of a limit of viewers, at whichever node; absent: the session. */
  readonly viewer?: string
  /** Runs while the viewer waits for a source that is dialled on demand. */
  readonly whileWaiting?: <T>(wait: () => Promise<T>) => Promise<T>
  /** 22 characters that sort by time, if the edge has already chosen an id; else one is generated. */
  readonly sessionId?: string
  /** Ends the session at the edge. May be called at any time after the session was inserted. */
  readonly cut: Cut
}

const NOTHING: Bytes = { bytesIn: 0, bytesOut: 0 }

/** A session that is being admitted, as memory has it. */
export function activeSessionOf(
  ctx: SessionContext,
  { request, decision }: Evaluation,
  sessionRequest: SessionRequest,
  slot: SessionSlot,
): ActiveSession {
  if (!decision.allowed) throw new Error('a refused attempt has no session')
  const token = tokenOf(request.credential)
  const claims = request.credential.kind === 'selfSigned' ? request.credential.claims : null
  const startedAtMs = ctx.clock.now()
  const session: Session = {
    id: sessionRequest.sessionId ?? timeOrderedId(startedAtMs, ctx.random),
    action: request.action,
    protocol: request.protocol,
    accountId: decision.accountId,
    streamName: request.streamName,
    sourceId: token?.kind === 'publish' && !token.multisource ? null : sessionRequest.sourceId || null,
    layer: sessionRequest.layer ?? null,
    tokenId: decision.tokenId,
    jti: claims?.jti ?? null,
    trackingId: decision.trackingId,
    address: request.address.text,
    origin: request.origin?.slice(0, 255) ?? null,
    country: request.country,
    client: request.action === 'view' ? familiesOf(sessionRequest.userAgent) : null,
    customViewerData: claims?.customViewerData ?? null,
    startedAtMs,
  }
  return {
    session,
    cut: sessionRequest.cut,
    record: sessionRequest.record ?? null,
    noRestream: sessionRequest.noRestream === true,
    standing: request.action === 'publish' ? standingOf(sessionRequest, token) : null,
    slot,
    viewer: sessionRequest.viewer ?? session.id,
    holders: new Set(),
    request,
    isEntering: true,
    tokenHash: null,
    tokenVersion: token?.version ?? null,
    accountVersion: token?.accountVersion ?? null,
    endsAtMs: token && sessionEndOf(token, request.credential),
    bytes: NOTHING,
    admittedAtMs: ctx.clock.monotonic(),
    mediaAtMs: null,
    media: request.action === 'publish' ? { tracks: [], frames: 0, source: {}, countedAtMs: null } : null,
    written: NOTHING,
    ending: null,
  }
}

const standingOf = (
  { priority, lateMs = () => 0, show = () => () => undefined, askToMove }: SessionRequest,
  token: TokenSnapshot | null,
): PublisherStanding => ({
  priority: priority ?? token?.priority ?? null,
  isStalled: false,
  inTimeSinceMs: null,
  lateMs,
  isSilent: false,
  media: null,
  show,
  askToMove,
  isAskedToMove: false,
  mediaEnd: null,
  hide: null,
})
