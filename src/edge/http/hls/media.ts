import type { FastifyReply, FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import { remoteFeed } from '../../../commands/sessions/revoke.ts'
import type { HlsStream } from '../../../media/hls/stream.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { attend, refuseHls } from './answering.ts'
import { type Piece, pieceOf, type RequestedPart, wantedPartOf } from './names.ts'
import { admittedViewer, NO_TICKET } from './opening.ts'
import type { TicketFacts } from '../media/tickets.ts'
import { type HlsParts, requestPlaceOf } from './parts.ts'
import {
  AWAY,
  awaitPiece,
  awaitPlaylist,
  cachingOf,
  NOT_THERE,
  NOT_YET,
  sendPiece,
  sendPlaylist,
  shareOf,
  START_MAX_MS,
  TOO_FAR,
} from './sending.ts'
import type { SharedPlaylist } from './sharedPlaylists.ts'
import { refuseSharing, reloadsAlone, usesAlone } from './sharing.ts'
import type { HlsViewer } from './viewers.ts'

export type MediaRequest = {
  Params: { ticket: string; stream: string; rendition: string; file: string }
  Querystring: { _HLS_msn?: unknown; _HLS_part?: unknown }
}

/** A media playlist, or a piece that it names. */
type Found =
  | { readonly playlist: SharedPlaylist; readonly caching: string }
  | { readonly piece: Piece; readonly bytes: Buffer }

/** Answers with a playlist or a piece of a stream, to a viewer or to another node. */
export async function sendMedia(
  parts: HlsParts,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ticket, stream } = request.params
  if (parts.tickets.isOfNode(ticket, stream)) return answer(request, reply, await localMedia(parts, null, request))
  const from = requestPlaceOf(parts, request.raw)
  const facts = parts.tickets.read(ticket, stream)
  if (facts === null) return refuseHls(reply, NO_TICKET)
  const viewer = await admittedViewer(parts, facts, from)
  if (!viewer.ok) return refuseHls(reply, viewer.error)
  attend(parts, viewer.value, reply)
  return serve(parts, viewer.value, facts, request, reply)
}

async function serve(
  parts: HlsParts,
  viewer: HlsViewer,
  facts: TicketFacts,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ctx } = parts
  viewer.lastAskedMs = ctx.clock.monotonic()
  const found = await findStream(parts, viewer, facts)
  if (!found.ok) return refuseHls(reply, found.error)
  const stream = found.value
  if (stream !== null && stream !== facts.stream) return refuseHls(reply, movedTo(parts, { ...facts, stream }, request))
  const media = await (stream === null ? remoteMedia(parts, viewer, request) : localMedia(parts, viewer, request))
  if (viewer.isCut) return refuseHls(reply, NO_TICKET)
  viewer.lastAskedMs = ctx.clock.monotonic()
  if (media.ok && !isAlone(parts, viewer, request, media.value))
    return refuseHls(reply, refuseSharing(parts, viewer, request, reply))
  if (media.ok && 'piece' in media.value && media.value.piece.kind === 'init') viewer.hasNewInit = true
  return answer(request, reply, media)
}

/**
 * The name of the stream at this node; null: it is at another node. Packages the feed again if it had no viewers for a
 * while. If another publisher has come since, the stream has another name.
 */
async function findStream(
  { hls, ctx }: HlsParts,
  { target }: HlsViewer,
  { stream, tokenId }: TicketFacts,
): Promise<Result<string | null, HttpRefusal>> {
  if (hls.find(stream) !== undefined) return ok(stream)
  const feed = ctx.sessions.feed(target.accountId, target.streamName, target.sourceId)
  if (feed === undefined) return ok(null)
  // The viewer was admitted to a feed that needed no token.
  if (feed.secured && tokenId === null) return err(NO_TICKET)
  const opened = hls.open(feed)
  if (!opened.ok) return err({ status: 503, text: opened.error })
  return (await opened.value.hls.ready(START_MAX_MS)) ? ok(opened.value.hls.id) : err(NOT_YET)
}

/** Sends a player to the stream that continues the one of its ticket. Its pieces are gone. */
function movedTo({ tickets }: HlsParts, facts: TicketFacts, { params }: FastifyRequest<MediaRequest>): HttpRefusal {
  if (params.file !== 'media.m3u8') return NOT_THERE
  const location = `../../../~${tickets.make(facts)}/${facts.stream}/${params.rendition}/media.m3u8`
  return { status: 307, text: 'The stream continues at another address', location }
}

function answer(request: FastifyRequest, reply: FastifyReply, media: Result<Found, HttpRefusal>): FastifyReply {
  if (!media.ok) return refuseHls(reply, media.error)
  const found = media.value
  return 'piece' in found
    ? sendPiece(request, reply, found.bytes)
    : sendPlaylist(request, reply, found.playlist, found.caching)
}

const isAlone = (parts: HlsParts, viewer: HlsViewer, request: FastifyRequest<MediaRequest>, found: Found): boolean =>
  'piece' in found
    ? usesAlone(parts, viewer, request.params.rendition, found.piece, shareOf(request, found.bytes))
    : reloadsAlone(parts, viewer, request.params.rendition, found.playlist.stepSeconds)

/** Media of a stream that this node packages. */
async function localMedia(
  parts: HlsParts,
  viewer: HlsViewer | null,
  { params, query }: FastifyRequest<MediaRequest>,
): Promise<Result<Found, HttpRefusal>> {
  const { rendition, file } = params
  const stream = parts.hls.find(params.stream)?.hls
  const piece = pieceOf(file)
  if (stream === undefined) return err(NOT_THERE)
  if (file === 'media.m3u8') return localPlaylist(parts, stream, rendition, withOneMore(viewer, wantedPartOf(query)))
  if (piece === null) return err(NOT_THERE)
  const bytes = await awaitPiece(stream, rendition, piece)
  return bytes.ok ? ok({ piece, bytes: bytes.value }) : bytes
}

async function localPlaylist(
  { playlists }: HlsParts,
  stream: HlsStream,
  rendition: string,
  requested: RequestedPart | 'malformed',
): Promise<Result<Found, HttpRefusal>> {
  const arrival = await awaitPlaylist(stream, rendition, requested)
  if (!arrival.ok) return arrival
  const facts = stream.facts(rendition)
  if (facts === undefined) return err(NOT_YET)
  return ok({ playlist: playlists.of(facts), caching: cachingOf(facts, arrival.value) })
}

/** Media from the node that has the feed, fetched once for all viewers of this node. */
async function remoteMedia(
  { ctx, remote, tickets, playlists }: HlsParts,
  viewer: HlsViewer,
  { params, query }: FastifyRequest<MediaRequest>,
): Promise<Result<Found, HttpRefusal>> {
  const { stream, rendition, file } = params
  const piece = pieceOf(file)
  const requested = piece === null ? withOneMore(viewer, wantedPartOf(query)) : null
  if (requested === 'malformed') return err(TOO_FAR)
  const feed = await remoteFeed(ctx, viewer.target, viewer.target.sourceId)
  if (!feed?.url || (piece === null && file !== 'media.m3u8')) return err(NOT_THERE)
  const base = `${feed.url.replace(/\/$/, '')}/hls/`
  const path = `${stream}/${rendition}/${file}${queryOf(requested)}`
  const fetched = await remote.get(base + path, `${base}~${tickets.forNode(stream)}/${path}`)
  if (fetched === null) return err(AWAY)
  const { status, body, caching } = fetched
  if (status !== 200) return err(status === 404 ? NOT_THERE : { status, text: body.toString() })
  return ok(piece === null ? { playlist: playlists.ofText(body), caching } : { piece, bytes: body })
}

function queryOf(requested: RequestedPart): string {
  if (requested === null) return ''
  const { sequence, part } = requested
  return `?_HLS_msn=${sequence}${part === null ? '' : `&_HLS_part=${part}`}`
}

/**
 * The requested part, or one part later after an init segment, so that the playlist holds two new parts. video.js (VHS
 * 3.17) appends the init segment again with each playlist, until it has taken two parts from one playlist. Until then
 * it shows nothing before the next keyframe. A waiting player has three parts buffered, so waiting once costs nothing.
 */
function withOneMore(viewer: HlsViewer | null, requested: RequestedPart | 'malformed'): RequestedPart | 'malformed' {
  if (!viewer?.hasNewInit || requested === null || requested === 'malformed' || requested.part === null)
    return requested
  viewer.hasNewInit = false
  return { ...requested, part: requested.part + 1 }
}
