import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { timeOrderedId } from '../../../base/ids.ts'
import { repeat } from '../../../base/repeat.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import type { Context } from '../../../commands/context.ts'
import { admitViewer, type SessionRequest, mayView } from '../../../commands/sessions/admit.ts'
import { closeSession } from '../../../commands/sessions/close.ts'
import { countBytes } from '../../../commands/sessions/count.ts'
import { RequestAccess, type RequestPlace } from '../../../commands/sessions/requestAccess.ts'
import { addressKey } from '../../../core/access/address.ts'
import { REFUSALS } from '../../../core/access/refusals.ts'
import { hlsMaster } from '../../../core/hls/master.ts'
import type { HlsStream } from '../../../media/hls/stream.ts'
import { preflight } from '../media/cors.ts'
import type { PeerOf } from '../peer.ts'
import { attemptOf } from '../webrtc/offer.ts'
import { plainErrorHandler, type HttpRefusal, sendRefusal } from '../media/refusal.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import { hlsFastPath } from './fastPath.ts'
import { type Piece, pieceOf, type RequestedPart, wantedPartOf } from './names.ts'
import { HLS_MEDIA, type HlsParts, type HlsRouteOptions, requestPlaceOf } from './parts.ts'
import { awaitPiece, awaitPlaylist, NOT_THERE, PLAYLIST, sendPiece, sendPlaylist, shareOf } from './sending.ts'
import { refuseSharing, reloadsAlone, SHARED, usesAlone } from './sharing.ts'
import { SharedPlaylists } from './sharedPlaylists.ts'
import { Tickets } from '../media/tickets.ts'
import { type HlsViewer, HlsViewers } from './viewers.ts'

type Stream = { Params: { accountId: string; streamName: string }; Querystring: { sourceId?: unknown } }
type Media = {
  Params: { ticket: string; stream: string; rendition: string; file: string }
  Querystring: { _HLS_msn?: unknown; _HLS_part?: unknown }
}

const MASTER = '/hls/:accountId/:streamName/index.m3u8'

/** New viewers of a stream that begins wait this long for its first segments. */
const START_MAX_MS = 8000
const SWEEP_MS = 1000

/** Far longer than any real origin. */
const ORIGIN_MAX = 1024

const NO_TICKET: HttpRefusal = { status: 401, text: REFUSALS.invalid_token.text }
const NOT_YET: HttpRefusal = { status: 503, text: 'Stream is starting: try again in a moment' }

/**
 * HLS: everything under `/hls`, with a fast path for most of its requests. The master playlist names the media playlist
 * by an address with a ticket. Everything else is named relative to it, so playlists and pieces are the same bytes for
 * all viewers. The first request for the media playlist opens a session.
 */
export async function hlsRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: HlsRouteOptions & FastPathOptions,
): Promise<FastPath> {
  const parts: HlsParts = {
    ...options,
    ctx,
    peerOf,
    viewers: new HlsViewers(ctx.clock),
    tickets: new Tickets(options.key),
    access: new RequestAccess(ctx),
    playlists: new SharedPlaylists(() => ({ window: options.listSegments() })),
  }
  const { clock, log } = ctx
  const sweeping = repeat({ clock, log, name: 'end idle HLS sessions', everyMs: SWEEP_MS }, () => sweep(parts))
  app.addHook('onClose', () => sweeping.stop())
  await app.register(async (scope) => {
    scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, HLS_MEDIA])
      scope.options(path, (_request, reply) => reply.code(204).headers(preflight('GET, HEAD, OPTIONS')).send())
    scope.get<Stream>(MASTER, (request, reply) => master(parts, request, reply))
    scope.get<Media>(HLS_MEDIA, (request, reply) => media(parts, request, reply))
  })
  return hlsFastPath(parts, options)
}

/** Ends the sessions of players that left: HLS has no message for leaving. */
async function sweep({ ctx, viewers, sessionMs }: HlsParts): Promise<void> {
  for (const viewer of viewers.idle(sessionMs())) {
    viewers.forget(viewer.sessionId)
    viewer.cut()
    await closeSession(ctx, viewer.sessionId, 'left')
  }
}

async function master(parts: HlsParts, request: FastifyRequest<Stream>, reply: FastifyReply): Promise<FastifyReply> {
  const { ctx, viewers, handover } = parts
  const { accountId, streamName } = request.params
  const { sourceId } = request.query
  const target = { action: 'view', protocol: 'hls', accountId, streamName } as const
  const { attempt, isHandedOver } = handover.received(request, attemptOf(request, parts.peerOf, target))
  const asked = { sourceId: typeof sourceId === 'string' && sourceId !== '' ? sourceId : null, isHandedOver }
  const allowed = await mayView(ctx, attempt, asked)
  if (!allowed.ok) return refuse(reply, handover.refusalOf(allowed, request, attempt))
  const viewer = viewers.newcomer()
  viewer.sessionId = timeOrderedId(ctx.clock.now(), ctx.random)
  // A header may be long, and thousands of viewers may wait.
  const bounded = { ...attempt, origin: attempt.origin?.slice(0, ORIGIN_MAX) ?? null }
  viewer.opensWith((address) => openSession(parts, viewer, { ...bounded, address }, asked))
  viewers.wait(viewer, addressKey(attempt.address))
  attend(parts, viewer, reply)
  const opened = parts.hls.open(allowed.feed)
  if (opened.ok && (await opened.value.hls.ready(START_MAX_MS)))
    return sendMaster(parts, viewer, opened.value.hls, allowed.tokenId, reply)
  viewers.forget(viewer.sessionId)
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  return refuse(reply, opened.ok ? NOT_YET : { status: 503, text: opened.error })
}

/** Runs at the first request for the media playlist, so that requests for master playlists alone take no slots. */
async function openSession(
  { ctx, viewers }: HlsParts,
  viewer: HlsViewer,
  attempt: AccessAttempt,
  asked: Pick<SessionRequest, 'sourceId' | 'isHandedOver'>,
): Promise<HttpRefusal | null> {
  const { sessionId } = viewer
  const admitted = await admitViewer(ctx, attempt, {
    ...asked,
    sessionId,
    cut: async () => {
      viewers.forget(sessionId)
      viewer.cut()
    },
  })
  if (!admitted.ok) {
    // The feed has moved to another node. The player finds that node through the master playlist.
    if ('url' in admitted) return NOT_THERE
    const { status, message: text, retryAfterSeconds } = admitted
    return { status, text, retryAfterSeconds }
  }
  if (viewer.isCut) {
    await closeSession(ctx, sessionId, 'left')
    return NO_TICKET
  }
  viewers.add(viewer)
  return null
}

function sendMaster(
  parts: HlsParts,
  viewer: HlsViewer,
  stream: HlsStream,
  tokenId: number | null,
  reply: FastifyReply,
): FastifyReply {
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  viewer.lastAskedMs = parts.ctx.clock.monotonic()
  const ticket = parts.tickets.make({ sessionId: viewer.sessionId, stream: stream.id, tokenId })
  // Relative to /hls/{accountId}/{streamName}/index.m3u8, so that a proxy may have a prefix of its own.
  const uriOf = (rendition: string): string => `../../~${ticket}/${stream.id}/${rendition}/media.m3u8`
  return reply.type(PLAYLIST).header('Cache-Control', 'no-store').send(hlsMaster(stream.variants(), uriOf))
}

async function media(parts: HlsParts, request: FastifyRequest<Media>, reply: FastifyReply): Promise<FastifyReply> {
  const { tickets, viewers, ctx, hls } = parts
  const { ticket, stream: name, file } = request.params
  const piece = pieceOf(file)
  const holder = tickets.read(ticket, name)
  const viewer = holder === null ? undefined : viewers.find(holder.sessionId)
  if (holder !== null && viewers.isShared(holder.sessionId)) return refuse(reply, SHARED)
  if (viewer === undefined) return refuse(reply, NO_TICKET)
  const isPlaylist = file === 'media.m3u8'
  const refused = await mayGoOn(parts, viewer, isPlaylist, requestPlaceOf(parts, request.raw))
  if (refused !== null) return refuse(reply, refused)
  viewer.lastAskedMs = ctx.clock.monotonic()
  attend(parts, viewer, reply)
  const stream = hls.find(name)?.hls
  if (stream === undefined) return refuse(reply, NOT_THERE)
  if (isPlaylist) return mediaPlaylist(parts, viewer, stream, request, reply)
  return piece === null ? refuse(reply, NOT_THERE) : mediaPiece(parts, viewer, stream, piece, request, reply)
}

/** The first request for the media playlist opens the session. Every later request must meet the rules of the token. */
async function mayGoOn(
  { access }: HlsParts,
  viewer: HlsViewer,
  isPlaylist: boolean,
  from: RequestPlace,
): Promise<HttpRefusal | null> {
  const refused = isPlaylist ? await viewer.begin(from.address) : null
  if (refused !== null) return refused
  const text = await access.check(viewer.sessionId, from)
  return text === null ? null : { status: 401, text }
}

/**
 * The requested part, or one part later after an init segment, so that the playlist holds two new parts. video.js (VHS
 * 3.17) appends the init segment again with each playlist, until it has taken two parts from one playlist. Until then
 * it shows nothing before the next keyframe. A waiting player has three parts buffered, so waiting once costs nothing.
 */
function withOneMore(viewer: HlsViewer, requested: RequestedPart | 'malformed'): RequestedPart | 'malformed' {
  if (!viewer.hasNewInit || requested === null || requested === 'malformed' || requested.part === null) return requested
  viewer.hasNewInit = false
  return { ...requested, part: requested.part + 1 }
}

async function mediaPlaylist(
  parts: HlsParts,
  viewer: HlsViewer,
  stream: HlsStream,
  request: FastifyRequest<Media>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { rendition } = request.params
  const before = stream.facts(rendition)
  if (before !== undefined && !reloadsAlone(parts, viewer, rendition, before))
    return refuse(reply, refuseSharing(parts, viewer, requestPlaceOf(parts, request.raw)))
  const arrival = await awaitPlaylist(stream, rendition, withOneMore(viewer, wantedPartOf(request.query)))
  if (!arrival.ok) return refuse(reply, arrival.error)
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  const facts = stream.facts(rendition)
  return facts === undefined
    ? refuse(reply, NOT_YET)
    : sendPlaylist(request, reply, parts.playlists.of(facts), arrival.value)
}

async function mediaPiece(
  parts: HlsParts,
  viewer: HlsViewer,
  stream: HlsStream,
  piece: Piece,
  request: FastifyRequest<Media>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { rendition } = request.params
  const bytes = await awaitPiece(stream, rendition, piece)
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  viewer.lastAskedMs = parts.ctx.clock.monotonic()
  if (!bytes.ok) return refuse(reply, bytes.error)
  if (!usesAlone(parts, viewer, rendition, piece, shareOf(request, bytes.value)))
    return refuse(reply, refuseSharing(parts, viewer, requestPlaceOf(parts, request.raw)))
  if (piece.kind === 'init') viewer.hasNewInit = true
  return sendPiece(request, reply, bytes.value)
}

function attend({ ctx }: HlsParts, viewer: HlsViewer, reply: FastifyReply): void {
  viewer.attend(reply.raw, () => countBytes(ctx, viewer.sessionId, viewer))
}

/** A stream without a publisher is a 404 here, because HLS players take that as "try again". */
function refuse(reply: FastifyReply, refused: HttpRefusal): FastifyReply {
  const { status, text, cacheSeconds } = refused
  reply.header('Cache-Control', cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`)
  if (status !== 409) return sendRefusal(reply, refused)
  return sendRefusal(reply.header('Retry-After', '2'), { status: 404, text })
}
