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
import { numberOf } from '../../../core/hls/numbers.ts'
import { hlsPlaylist } from '../../../core/hls/playlist.ts'
import type { FeedStream } from '../../../media/hls/feedStream.ts'
import { preflight } from '../media/cors.ts'
import type { PeerOf } from '../peer.ts'
import { rangeHeaders, readRange } from '../media/range.ts'
import { attemptOf } from '../webrtc/offer.ts'
import { plainErrorHandler, type HttpRefusal, sendRefusal } from '../media/refusal.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import { hlsFastPath } from './fastPath.ts'
import { type Piece, pieceOf, wantedPartOf } from './names.ts'
import { HLS_MEDIA, type HlsParts, type HlsRouteOptions, requestPlaceOf } from './parts.ts'
import { opensOf, Tickets } from '../media/tickets.ts'
import { type HlsViewer, HlsViewers } from './viewers.ts'

type Stream = { Params: { accountId: string; streamName: string }; Querystring: { sourceId?: unknown } }
type Child = {
  Params: { feedId: string; file: string }
  Querystring: { t?: unknown; _HLS_msn?: unknown; _HLS_part?: unknown }
}

const MASTER = '/hls/:accountId/:streamName/index.m3u8'

const PLAYLIST = 'application/vnd.apple.mpegurl'
/** New viewers of a stream that begins wait this long for its first segments. */
const START_MAX_MS = 8000
const SWEEP_MS = 1000
/** A blocking request waits this long; then the player gets the current playlist. */
const BLOCK_MAX_MS = 6000

/** Far longer than any real origin. */
const ORIGIN_MAX = 1024

const NO_TICKET: HttpRefusal = { status: 401, text: REFUSALS.invalid_token.text }
const NOT_THERE: HttpRefusal = { status: 404, text: 'Not found: this piece of the stream is gone or never was' }
const TOO_FAR: HttpRefusal = { status: 400, text: 'Bad request: _HLS_msn and _HLS_part name nothing that comes soon' }
const NOT_NOW: HttpRefusal = { status: 503, text: 'The publisher sends nothing at the moment: try again in a moment' }
const NOT_YET: HttpRefusal = { status: 503, text: 'Stream is starting: try again in a moment' }

/**
 * HLS: everything under `/hls`, with a fast path for most of its requests. The master playlist contains a ticket for
 * the media playlist. The first request for the media playlist opens a session, and its tickets open the segments.
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
  }
  const { clock, log } = ctx
  const sweeping = repeat({ clock, log, name: 'end idle HLS sessions', everyMs: SWEEP_MS }, () => sweep(parts))
  app.addHook('onClose', () => sweeping.stop())
  await app.register(async (scope) => {
    scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, HLS_MEDIA])
      scope.options(path, (_request, reply) => reply.code(204).headers(preflight('GET, HEAD, OPTIONS')).send())
    scope.get<Stream>(MASTER, (request, reply) => master(parts, request, reply))
    scope.get<Child>(HLS_MEDIA, (request, reply) => child(parts, request, reply))
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
  viewer.feedId = allowed.feed.feedId
  // A header may be long, and thousands of viewers may wait.
  const bounded = { ...attempt, origin: attempt.origin?.slice(0, ORIGIN_MAX) ?? null }
  viewer.opensWith((address) => openSession(parts, viewer, { ...bounded, address }, asked))
  viewers.wait(viewer, addressKey(attempt.address))
  attend(parts, viewer, reply)
  const opened = parts.hls.open(allowed.feed)
  if (opened.ok && (await opened.value.ready(START_MAX_MS))) return sendMaster(parts, viewer, opened.value, reply)
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

function sendMaster(parts: HlsParts, viewer: HlsViewer, stream: FeedStream, reply: FastifyReply): FastifyReply {
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  viewer.lastAskedMs = parts.ctx.clock.monotonic()
  const uri = `${viewer.feedId}/media.m3u8?t=${parts.tickets.of(viewer, 'playlist')}`
  return reply
    .type(PLAYLIST)
    .header('Cache-Control', 'no-store')
    .send(hlsMaster(stream.variants(), () => uri))
}

async function child(parts: HlsParts, request: FastifyRequest<Child>, reply: FastifyReply): Promise<FastifyReply> {
  const { tickets, viewers, ctx, hls } = parts
  const { feedId, file } = request.params
  const piece = pieceOf(file)
  const opens = file === 'media.m3u8' ? 'playlist' : piece && opensOf(piece)
  const sessionId = opens === null ? null : tickets.read(request.query.t, { opens, feedId })
  const viewer = sessionId === null ? undefined : viewers.find(sessionId, feedId)
  if (viewer === undefined) return refuse(reply, NO_TICKET)
  const requested = piece === null ? wantedPartOf(request.query) : null
  if (requested === 'malformed') return refuse(reply, TOO_FAR)
  const refused = await mayGoOn(parts, viewer, opens === 'playlist', requestPlaceOf(parts, request.raw))
  if (refused !== null) return refuse(reply, refused)
  viewer.lastAskedMs = ctx.clock.monotonic()
  attend(parts, viewer, reply)
  const stream = hls.find(feedId)
  if (stream === undefined) return refuse(reply, NOT_THERE)
  if (piece !== null) return sendMedia(parts, viewer, stream, piece, request, reply)
  const next = withOneMore(viewer, requested)
  if (next && (await stream.reached(next.sequence, next.part, BLOCK_MAX_MS)) === 'too_far')
    return refuse(reply, TOO_FAR)
  return viewer.isCut ? refuse(reply, NO_TICKET) : sendPlaylist(parts, viewer, stream, reply)
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

type RequestedPart = Exclude<ReturnType<typeof wantedPartOf>, 'malformed'>

/**
 * The requested part, or one part later after an init segment, so that the playlist holds two new parts. video.js (VHS
 * 3.17) appends the init segment again with each playlist, until it has taken two parts from one playlist. Until then
 * it shows nothing before the next keyframe. A waiting player has three parts buffered, so waiting once costs nothing.
 */
function withOneMore(viewer: HlsViewer, requested: RequestedPart): RequestedPart {
  if (!viewer.hasNewInit || requested === null || requested.part === null) return requested
  viewer.hasNewInit = false
  return { ...requested, part: requested.part + 1 }
}

function sendPlaylist(parts: HlsParts, viewer: HlsViewer, stream: FeedStream, reply: FastifyReply): FastifyReply {
  const facts = stream.facts()
  if (facts === undefined) return refuse(reply, NOT_YET)
  const uriOf = (name: string): string => {
    const piece = pieceOf(name)
    return piece === null ? name : `${name}?t=${parts.tickets.of(viewer, opensOf(piece))}`
  }
  const playlist = hlsPlaylist(facts, { window: parts.listSegments(), uriOf })
  return reply.type(PLAYLIST).header('Cache-Control', 'private, no-cache').send(playlist)
}

async function sendMedia(
  { ctx }: HlsParts,
  viewer: HlsViewer,
  stream: FeedStream,
  piece: Piece,
  request: FastifyRequest<Child>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // Playlists name the next part in advance, and players request it before it exists.
  const arrival = piece.kind === 'part' ? await stream.reachedPart(numberOf(piece.name), BLOCK_MAX_MS) : 'there'
  if (viewer.isCut) return refuse(reply, NO_TICKET)
  if (arrival === 'late') return refuse(reply, NOT_NOW)
  viewer.lastAskedMs = ctx.clock.monotonic()
  if (piece.kind === 'init') viewer.hasNewInit = true
  const bytes = stream.piece(piece)
  if (bytes === undefined) return refuse(reply, NOT_THERE)
  const range = readRange(request.headers.range, bytes.length)
  reply.headers(rangeHeaders(range, bytes.length)).header('Cache-Control', 'public, max-age=60').type('video/mp4')
  if (range === 'unsatisfiable') return reply.code(416).send('')
  return range === null ? reply.send(bytes) : reply.code(206).send(bytes.subarray(range.start, range.end + 1))
}

function attend({ ctx }: HlsParts, viewer: HlsViewer, reply: FastifyReply): void {
  viewer.attend(reply.raw, () => countBytes(ctx, viewer.sessionId, viewer))
}

/** A stream without a publisher is a 404 here, because HLS players take that as "try again". */
function refuse(reply: FastifyReply, refused: HttpRefusal): FastifyReply {
  const { status, text } = refused
  reply.header('Cache-Control', 'no-store')
  if (status !== 409) return sendRefusal(reply, refused)
  return sendRefusal(reply.header('Retry-After', '2'), { status: 404, text })
}
