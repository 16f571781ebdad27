import type { FastifyReply, FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import { PLAYS_MS } from '../../../core/hls/nodes.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { refuseHls } from './answering.ts'
import type { Admission, LocalRendition, MovedStream, RenditionLocation, TicketViewer } from './admissions.ts'
import { isRendition, type Piece, pieceOf } from './names.ts'
import type { HlsRoute } from './parts.ts'
import { queryOf, wantedPartOf, withOneMore } from './requestedPart.ts'
import {
  AWAY,
  awaitPiece,
  awaitPlaylist,
  cachingOf,
  CONTINUES,
  NOT_THERE,
  isNotYet,
  NOT_YET,
  playsMsOf,
  refusedByNode,
  sendPiece,
  sendPlaylist,
  shareOf,
  START_MAX_MS,
  TOO_FAR,
} from './sending.ts'
import type { SharedPlaylist } from './sharedPlaylists.ts'
import { PIECE_MAX_BYTES } from './remoteMedia.ts'
import { reloadsAlone, SHARED, usesAlone } from './sharing.ts'

export type MediaRequest = {
  Params: { ticket: string; stream: string; rendition: string; file: string }
  Querystring: { _HLS_msn?: unknown; _HLS_part?: unknown }
}

const MEDIA_PLAYLIST = 'media.m3u8'

/** A media playlist, or a piece that it names. */
type Found =
  | { readonly playlist: SharedPlaylist; readonly caching: string }
  | { readonly piece: Piece; readonly bytes: Buffer; readonly playsMs: number }

/** Answers with a playlist or a piece of a stream, to a viewer or to another node. */
export async function sendMedia(
  route: HlsRoute,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ticket, stream, rendition, file } = request.params
  if (!isRendition(rendition)) return refuseHls(reply, NOT_THERE)
  const region = route.tickets.regionOfNode(ticket, { stream, name: `${rendition}/${file}` })
  if (region !== null) return sendToNode(route, region, request, reply)
  const moved = movedFrom(route, request)
  if (moved !== null) return refuseHls(reply, moved)
  const admitted = await route.admit(ticket, stream, request.raw)
  // This node may drain since.
  if (!admitted.ok)
    return refuseHls(reply, movedFrom(route, request) ?? forWatching(request, whole(admitted.error, request)))
  const admission = admitted.value
  admission.attend(reply.raw)
  const media = await mediaFor(route, admission, request)
  if (!media.ok) return refuseHls(reply, forWatching(request, media.error))
  if (!isAlone(route, admission, request, media.value)) {
    admission.endShared(reply.raw)
    return refuseHls(reply, SHARED)
  }
  if ('piece' in media.value && media.value.piece.kind === 'init') admission.viewer.hasNewInit = true
  return answer(request, reply, media.value, admission)
}

/**
 * A refusal for a player that has watched the stream. Its playlist may come back, so the player should request it again,
 * which hls.js does not do after a 404. Its pieces do not come back.
 */
function forWatching({ params: { file } }: FastifyRequest<MediaRequest>, refused: HttpRefusal): HttpRefusal {
  if (file === MEDIA_PLAYLIST)
    return refused.status === 409 ? { ...refused, status: 503, retryAfterSeconds: 2 } : refused
  return isNotYet(refused) ? NOT_THERE : refused
}

/** Another node has decided on its viewers. */
async function sendToNode(
  route: HlsRoute,
  region: string,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { stream, rendition } = request.params
  const found = await route.forNode(stream, rendition, region)
  const media = found === undefined ? err(NOT_THERE) : await localMedia(route, found, null, request)
  if (!media.ok) return refuseHls(reply, media.error)
  if ('piece' in media.value) reply.header(PLAYS_MS, media.value.playsMs)
  return answer(request, reply, media.value, null)
}

async function mediaFor(
  route: HlsRoute,
  admission: Admission,
  request: FastifyRequest<MediaRequest>,
): Promise<Result<Found, HttpRefusal>> {
  const { viewer } = admission
  viewer.lastAskedMs = route.clock.monotonic()
  const location = await admission.locate(request.params.rendition)
  const found = location.ok ? await mediaAt(route, admission, location.value, request) : location
  const media = found.ok ? found : await leftMedia(route, admission, request, found.error)
  // What admitted the viewer may have changed meanwhile.
  const refused = await admission.recheck()
  viewer.lastAskedMs = route.clock.monotonic()
  return refused === null ? orLatest(route, admission, request, media) : err(refused)
}

/** A piece that the last playlist named, from the node that the publisher has left since. */
async function leftMedia(
  route: HlsRoute,
  { leftNode, viewer }: Admission,
  request: FastifyRequest<MediaRequest>,
  refused: HttpRefusal,
): Promise<Result<Found, HttpRefusal>> {
  if (leftNode === null || refused !== NOT_THERE || request.params.file === MEDIA_PLAYLIST) return err(refused)
  // Under the key of all nodes the refusal is in memory.
  const media = await remoteMedia(route, leftNode, viewer, request, 'of this node')
  return media.ok ? media : err(refused)
}

/**
 * A player that watches gets the playlist of before while there is none for a moment: the publisher or an engine begins at
 * another node. After an error some players give up.
 */
function orLatest(
  { latest }: HlsRoute,
  { mayRepeat }: Admission,
  { params: { stream, rendition, file } }: FastifyRequest<MediaRequest>,
  media: Result<Found, HttpRefusal>,
): Result<Found, HttpRefusal> {
  if (file !== MEDIA_PLAYLIST || !mayRepeat) return media
  if (media.ok) {
    if ('playlist' in media.value) latest.sent(stream, rendition, media.value.playlist)
    return media
  }
  const playlist = media.error.status === 503 ? latest.find(stream, rendition) : null
  return playlist === null ? media : ok({ playlist, caching: cachingOf(playlist, false) })
}

async function mediaAt(
  route: HlsRoute,
  admission: Admission,
  location: RenditionLocation,
  request: FastifyRequest<MediaRequest>,
): Promise<Result<Found, HttpRefusal>> {
  const { viewer } = admission
  if ('movedTo' in location) return err(movedTo(location.movedTo, request))
  const media =
    'rendition' in location
      ? await localMedia(route, location.rendition, viewer, request)
      : await remoteMedia(route, location.nodeUrl, viewer, request)
  if (media.ok || media.error !== NOT_THERE || request.params.file !== MEDIA_PLAYLIST) return media
  // The publisher has come to that node since, or to another one.
  const next = await admission.locateNext()
  return next.ok ? err(movedTo(next.value, request)) : next
}

/**
 * Sends a player to the stream that continues the one of its ticket. Its pieces are gone. Players reload the old address
 * again and again, so the part that they wait for goes along: without it they would get each answer at once.
 */
function movedTo({ ticket, stream }: MovedStream, { params, query }: FastifyRequest<MediaRequest>): HttpRefusal {
  if (params.file !== MEDIA_PLAYLIST) return NOT_THERE
  const wanted = wantedPartOf(query)
  if (wanted === 'malformed') return TOO_FAR
  const location = `../../../~${ticket}/${stream}/${params.rendition}/${MEDIA_PLAYLIST}${queryOf(wanted)}`
  return { status: 307, text: 'The stream continues at another address', location }
}

/** Sends a player on, because this node is about to stop; null: it stays. Every node admits the ticket. */
function movedFrom(route: HlsRoute, { raw, params, url }: FastifyRequest<MediaRequest>): HttpRefusal | null {
  const nodeUrl = route.nodeFor(raw, params.ticket, params.stream, params.file === MEDIA_PLAYLIST)
  if (nodeUrl === null) return null
  return { ...CONTINUES, location: atNode(nodeUrl, url) }
}

/** A refusal that names a node names the address there. */
const whole = (refused: HttpRefusal, { url }: FastifyRequest): HttpRefusal =>
  refused.nodeUrl === undefined ? refused : { ...refused, location: atNode(refused.nodeUrl, url) }

/** @param admission counts what is sent; null: another node counts */
function answer(request: FastifyRequest, reply: FastifyReply, found: Found, admission: Admission | null): FastifyReply {
  const sends = (length: number, isWhole: boolean): void =>
    admission?.sends(reply.raw, length, 'piece' in found && isWhole ? found.playsMs : 0)
  return 'piece' in found
    ? sendPiece(request, reply, found.bytes, sends)
    : sendPlaylist(request, reply, found.playlist, found.caching, sends)
}

function isAlone(
  { clock }: HlsRoute,
  admission: Admission,
  request: FastifyRequest<MediaRequest>,
  found: Found,
): boolean {
  const { rendition } = request.params
  const nowMs = clock.monotonic()
  return 'piece' in found
    ? usesAlone(admission, rendition, found.piece, shareOf(request, found.bytes), nowMs)
    : reloadsAlone(admission, rendition, found.playlist.stepSeconds, nowMs)
}

/** Media of a rendition that this node makes. */
async function localMedia(
  route: HlsRoute,
  rendition: LocalRendition,
  viewer: TicketViewer | null,
  { params: { file }, query }: FastifyRequest<MediaRequest>,
): Promise<Result<Found, HttpRefusal>> {
  const piece = pieceOf(file)
  if (piece !== null) return localPiece(rendition, piece)
  if (file !== MEDIA_PLAYLIST) return err(NOT_THERE)
  const requested = rendition.playlist.parts === false ? null : withOneMore(viewer, wantedPartOf(query))
  const arrival = await awaitPlaylist(rendition, requested)
  if (!arrival.ok) return arrival
  if (rendition.isGone()) return err(NOT_THERE)
  // After a restart of the server or an engine, players come before the media.
  await rendition.stream.begins(rendition.name, START_MAX_MS)
  const facts = rendition.stream.facts(rendition.name)
  if (facts === undefined) return err(NOT_YET)
  const playlist = route.playlists.of(facts, rendition.playlist)
  return ok({ playlist, caching: cachingOf(playlist, arrival.value) })
}

async function localPiece(rendition: LocalRendition, piece: Piece): Promise<Result<Found, HttpRefusal>> {
  const bytes = await awaitPiece(rendition, piece)
  return bytes.ok ? ok({ piece, bytes: bytes.value, playsMs: playsMsOf(rendition, piece) }) : bytes
}

/** A piece never becomes another one under its name, at whichever node it is. */
export const pieceKey = (stream: string, rendition: string, file: string): string => `${stream}/${rendition}/${file}`

/** Media from the node that makes it, fetched once for all viewers of this node. */
async function remoteMedia(
  { remote, tickets, playlists }: HlsRoute,
  nodeUrl: string,
  viewer: TicketViewer,
  { params, query }: FastifyRequest<MediaRequest>,
  pieces: 'of all nodes' | 'of this node' = 'of all nodes',
): Promise<Result<Found, HttpRefusal>> {
  const { stream, rendition, file } = params
  const piece = pieceOf(file)
  if (piece === null && file !== MEDIA_PLAYLIST) return err(NOT_THERE)
  const requested = piece === null ? withOneMore(viewer, wantedPartOf(query)) : null
  if (requested === 'malformed') return err(TOO_FAR)
  const base = atNode(nodeUrl, '/hls/')
  const name = `${rendition}/${file}`
  const path = `${stream}/${name}${queryOf(requested)}`
  const key = piece === null || pieces === 'of this node' ? base + path : pieceKey(stream, rendition, file)
  const url = `${base}~${tickets.forNode(nodeUrl, { stream, name })}/${path}`
  const fetched = await (piece === null ? remote.get(key, url) : remote.get(key, url, PIECE_MAX_BYTES))
  if (fetched === null) return err(AWAY)
  const { status, body, caching, playsMs } = fetched
  if (status !== 200) return err(refusedByNode(fetched))
  if (piece === null) return ok({ playlist: playlists.ofText(body), caching })
  return ok({ piece, bytes: body, playsMs })
}
