import type { FastifyReply, FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import type { NodeAnswer } from '../../../core/hls/nodes.ts'
import { numberOf } from '../../../core/hls/numbers.ts'
import { acceptsGzip } from '../contentEncoding.ts'
import { sharesBody } from '../unsent.ts'
import { rangeHeaders, readRange } from '../media/range.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { FeedStream } from '../../../media/hls/feedStream.ts'
import type { LocalRendition, PackagedStream } from './admissions.ts'
import type { Piece } from './names.ts'
import type { RequestedPart } from './requestedPart.ts'
import type { SharedPlaylist } from './sharedPlaylists.ts'

// Waits for playlists and pieces of a stream, and sends them. Who may have them is decided before.

export const PLAYLIST = 'application/vnd.apple.mpegurl'
/** Viewers of a stream that begins wait this long for its first segments. */
export const START_MAX_MS = 8000
/** A blocking request waits for three parts, within these bounds; then the player gets the current playlist. */
const BLOCK_PARTS = 3
const BLOCK_MIN_MS = 6000
/** Another node gives up after 15 seconds. */
const BLOCK_MAX_MS = 12_000

/** A piece never becomes another one under its name. */
export const PIECE_CACHING = 'public, max-age=3600, immutable'
/**
 * The answer to a request for a part holds that part, so a cache may give it to every player with the same request. A
 * player asks twice only for something newer.
 */
const BLOCKING_CACHING = 'public, max-age=0, s-maxage=6'
/** A playlist is out of date with the next part, in a third of a second. */
const PARTS_CACHING = 'no-cache'
/** One without parts is out of date with the next segment. */
const SEGMENTS_CACHING = 'public, max-age=1'

export const AWAY: HttpRefusal = {
  status: 503,
  text: 'The node of this stream does not answer: try again in a moment',
}
/** With the address there. */
export const CONTINUES: HttpRefusal = { status: 307, text: 'Another server continues this stream' }
export const LEAVING: HttpRefusal = { status: 503, text: 'The server stops: try again in a moment' }
export const NOT_YET: HttpRefusal = { status: 503, text: 'Stream is starting: try again in a moment' }
const NO_ROOM: HttpRefusal = {
  status: 503,
  text: 'Sluice encodes this stream as H.264 for HLS, but this machine has no room for that now: try again later',
}

/** Why a feed cannot be played yet. */
export const notYetOf = ({ lacksRoom }: Pick<FeedStream, 'lacksRoom'>): HttpRefusal => (lacksRoom ? NO_ROOM : NOT_YET)

/** Whether the reason may be over soon. */
export const isNotYet = (refused: HttpRefusal): boolean => refused === NOT_YET || refused === NO_ROOM

export const NOT_THERE: HttpRefusal = {
  status: 404,
  text: 'Not found: this piece of the stream is gone or never was',
  cacheSeconds: 1,
}
/** Of the reason that another node gives. */
const REFUSAL_MAX_BYTES = 500

/**
 * What a player is told when another node has refused media to this one. After the clock of the database was set, the two differ in
 * time for some seconds, and the ticket of this node looks wrong there (401): no fault of the player.
 */
export function refusedByNode({ status, body }: Pick<NodeAnswer, 'status' | 'body'>): HttpRefusal {
  if (status === 401 || status < 400) return AWAY
  return status === 404 ? NOT_THERE : { status, text: body.subarray(0, REFUSAL_MAX_BYTES).toString() }
}

export const TOO_FAR: HttpRefusal = {
  status: 400,
  text: 'Bad request: _HLS_msn and _HLS_part name nothing that comes soon',
}
const NOT_NOW: HttpRefusal = { status: 503, text: 'The publisher sends nothing at the moment: try again in a moment' }

/** Waits for the part that a playlist has to hold. `ok(false)`: it did not come, or none was requested. */
export async function awaitPlaylist(
  { stream, name }: LocalRendition,
  requested: RequestedPart | 'malformed',
): Promise<Result<boolean, HttpRefusal>> {
  if (requested === null) return ok(false)
  if (requested === 'malformed') return err(TOO_FAR)
  const arrival = await stream.reached(name, requested.sequence, requested.part, blockMsOf(stream, name))
  return arrival === 'too_far' ? err(TOO_FAR) : ok(arrival === 'there')
}

function blockMsOf(stream: PackagedStream, rendition: string): number {
  const partsMs = BLOCK_PARTS * 1000 * (stream.facts(rendition)?.partSeconds ?? 0)
  return Math.min(BLOCK_MAX_MS, Math.max(BLOCK_MIN_MS, partsMs))
}

/** @param holds that the playlist holds the part that was requested */
export function cachingOf({ hasParts }: SharedPlaylist, holds: boolean): string {
  if (holds) return BLOCKING_CACHING
  return hasParts ? PARTS_CACHING : SEGMENTS_CACHING
}

/** Told before an answer is sent: the length of its body, 0 for HEAD, and whether that is the whole. */
type Sends = (length: number, isWhole: boolean) => void

export function sendPlaylist(
  request: FastifyRequest,
  reply: FastifyReply,
  playlist: SharedPlaylist,
  caching: string,
  sends: Sends,
): FastifyReply {
  reply.type(PLAYLIST).headers({ 'Cache-Control': caching, Vary: 'Accept-Encoding' })
  const isGzipped = acceptsGzip(request)
  if (isGzipped) reply.header('Content-Encoding', 'gzip')
  return send(request, reply, isGzipped ? playlist.gzipped : playlist.plain, sends)
}

/** A piece of a stream. Playlists name the next part in advance, and players request it before it exists. */
export async function awaitPiece(
  { stream, name: rendition }: LocalRendition,
  piece: Piece,
): Promise<Result<Buffer, HttpRefusal>> {
  const waitMs = blockMsOf(stream, rendition)
  const arrival = piece.kind === 'part' ? await stream.reachedPart(rendition, numberOf(piece.name), waitMs) : null
  if (arrival === 'late') return err(NOT_NOW)
  const bytes = stream.piece({ ...piece, rendition })
  return bytes === undefined ? err(NOT_THERE) : ok(bytes)
}

/** How long a piece plays, milliseconds. */
export const playsMsOf = ({ stream, name }: LocalRendition, piece: Piece): number =>
  piece.kind === 'init' ? 0 : stream.playsMs(name, piece.kind, numberOf(piece.name))

/** Sends a piece, or the requested range of it. */
export function sendPiece(request: FastifyRequest, reply: FastifyReply, bytes: Buffer, sends: Sends): FastifyReply {
  const range = readRange(request.headers.range, bytes.length)
  reply.headers(rangeHeaders(range, bytes.length)).header('Cache-Control', PIECE_CACHING).type('video/mp4')
  if (range === 'unsatisfiable') return reply.code(416).send('')
  if (range === null) return send(request, reply, bytes, sends)
  const part = bytes.subarray(range.start, range.end + 1)
  return send(request, reply.code(206), part, sends, part.length === bytes.length)
}

function send(
  { method }: FastifyRequest,
  reply: FastifyReply,
  bytes: Buffer,
  sends: Sends,
  isWhole = true,
): FastifyReply {
  const isHead = method === 'HEAD'
  sends(isHead ? 0 : bytes.length, isWhole && !isHead)
  sharesBody(reply.raw)
  return reply.send(bytes)
}

/** How much of a piece the answer to this request holds, 0 to 1. */
export function shareOf({ method, headers }: FastifyRequest, { length }: Buffer): number {
  if (method === 'HEAD') return 0
  const range = readRange(headers.range, length)
  if (range === 'unsatisfiable') return 0
  return range === null ? 1 : (range.end + 1 - range.start) / length
}
