import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { type ChannelFailure, noSuch, refusal } from '../../../core/channels/errors.ts'
import {
  admit,
  type Grant,
  type PlaybackRules,
  refuseGranted,
  type PlaybackViewer,
  PLAYLIST_TICKET,
} from '../../../core/channels/playback.ts'
import type { PieceKey, VariantFacts } from '../../../core/hls/facts.ts'
import { hlsMaster } from '../../../core/hls/master.ts'
import { numberOf } from '../../../core/hls/numbers.ts'
import type { Engine } from '../../../core/channels/types.ts'
import { bearer } from '../auth.ts'
import type { ChannelStream } from '../../../media/hls/channelStream.ts'
import { pieceOf, wantedPartOf } from '../hls/names.ts'
import type { SharedPlaylist } from '../hls/sharedPlaylists.ts'
import { acceptsGzip } from '../contentEncoding.ts'
import { preflight } from '../media/cors.ts'
import { BLOCK_MAX_MS, PLAYLIST, START_MAX_MS } from '../hls/sending.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import type { PeerOf } from '../peer.ts'
import { rangeHeaders, readRange } from '../media/range.ts'
import {
  countServed,
  bytesFromNowOn,
  pieceName,
  playsMsOf,
  PLAYBACK_MEDIA,
  type PlaybackOptions,
  type PlaybackParts,
} from './playback.ts'
import { ChannelPlaylists } from './channelPlaylists.ts'
import { playbackFastPath } from './playbackFastPath.ts'
import { channelErrorHandler, sendChannelFailure } from './problem.ts'

type PlaybackRequest = { Params: { distributionId: string }; Querystring: { token?: unknown; t?: unknown } }
type MediaRequest = PlaybackRequest & {
  Params: { engineId: string; rendition: string; file: string }
  Querystring: { _HLS_msn?: unknown; _HLS_part?: unknown }
}

const ROOT = '/v2/distributions/:distributionId'
const MASTER = `${ROOT}/hls/main.m3u8`
const THUMBNAIL = `${ROOT}/thumbnails/thumbnail.jpeg`

const MEDIA_PLAYLIST = 'index.m3u8'
/** Players with parts begin with one segment; others stay three behind the end. */
const FIRST_SEGMENTS = { withParts: 1, plain: 3 }

const NOT_THERE = refusal('not_found', 'This piece of the stream is gone or never was')
const NOTHING_FITS = refusal('not_found', 'Every rendition is above the maxBitrate of this distribution')
const NOT_LIVE = refusal('not_found', 'Nothing is playing now')
const TOO_FAR = refusal('invalid_request', '_HLS_msn and _HLS_part name nothing that comes soon')
const NOT_NOW = refusal('unavailable', 'The source sends nothing at the moment: try again in a moment')

/**
 * Routes for viewers, and the fast path for most of their requests. Each request is checked against the current rules,
 * so a change takes effect at once.
 */
export async function playbackRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: PlaybackOptions & FastPathOptions,
): Promise<FastPath> {
  const parts: PlaybackParts = { ...options, ctx, peerOf, playlists: new ChannelPlaylists() }
  await app.register(async (scope) => {
    scope.setErrorHandler(channelErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, PLAYBACK_MEDIA, THUMBNAIL]) {
      scope.options(path, (_request, reply) => reply.code(204).headers(preflight('GET, HEAD, OPTIONS')).send())
    }
    scope.get<PlaybackRequest>(MASTER, (request, reply) => sendMaster(parts, request, reply))
    scope.get<MediaRequest>(PLAYBACK_MEDIA, (request, reply) => sendMedia(parts, request, reply))
    scope.get<PlaybackRequest>(THUMBNAIL, (request, reply) => sendThumbnail(parts, request, reply))
  })
  return playbackFastPath(parts, options)
}

async function sendMaster(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const asked = await admittedTo(parts, request, withToken)
  if (!asked.ok) return refuse(reply, asked.error)
  await untilPlayable(parts, asked.value.rules)
  // The rules may have changed meanwhile.
  const admitted = await admittedTo(parts, request, withToken)
  if (!admitted.ok) return refuse(reply, admitted.error)
  const { rules, grant } = admitted.value
  const playing = variantsFor(parts, rules)
  if (playing.length === 0) return refuse(reply, NOT_LIVE)
  const most = rules.distribution.maxBitrate ?? Number.POSITIVE_INFINITY
  const variants = playing.filter(({ bandwidth }) => bandwidth <= most)
  if (variants.length === 0) return refuse(reply, NOTHING_FITS)
  const ticket = ticketFor(parts, rules, PLAYLIST_TICKET, grant)
  const master = hlsMaster(variants, (rendition) => `${rendition}/${MEDIA_PLAYLIST}${ticket}`)
  return send(parts, rules, grant, request, reply, { bytes: Buffer.from(master), type: PLAYLIST, cache: 'no-store' })
}

/** The streams of the engines that play or are about to, the preferred engine first. */
function streamsFor({ streamOf }: PlaybackParts, { engines }: PlaybackRules): [Engine, ChannelStream][] {
  return engines.flatMap((engine) => {
    const stream = streamOf(engine.id)
    return stream === undefined ? [] : [[engine, stream]]
  })
}

const isShown = ([{ status }, stream]: [Engine, ChannelStream]): boolean =>
  stream.isLive || (status === 'playing' && stream.lists(1))

/** A source is there, or its encoder is away for a moment. */
const isExpected = ([{ status }, stream]: [Engine, ChannelStream]): boolean => status === 'ingesting' || stream.lists(1)

/** Waits a while for an engine that begins. */
async function untilPlayable(parts: PlaybackParts, rules: PlaybackRules): Promise<void> {
  const streams = streamsFor(parts, rules)
  const segments = rules.distribution.llHls ? FIRST_SEGMENTS.withParts : FIRST_SEGMENTS.plain
  if (streams.some((one) => isShown(one) && one[1].lists(segments))) return
  const waits = streams.filter(isExpected).map(([, stream]) => stream.ready(segments, START_MAX_MS))
  if (waits.length > 0) await Promise.race(waits)
}

/** The variants of all playing engines. */
function variantsFor(parts: PlaybackParts, rules: PlaybackRules): VariantFacts[] {
  const shown = streamsFor(parts, rules).filter(isShown)
  return shown.flatMap(([{ id }, stream]) =>
    stream.variants().map((variant) => ({ ...variant, rendition: `${id}/${variant.rendition}` })),
  )
}

/** The ticket of a request for media opens this: the playlists, or the piece with this file name. */
const opensOf = ({ engineId, rendition, file }: MediaRequest['Params']): string =>
  file === MEDIA_PLAYLIST ? PLAYLIST_TICKET : pieceName(engineId, rendition, file)

async function sendMedia(
  parts: PlaybackParts,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { engineId, file } = request.params
  const proof = withTicket(opensOf(request.params))
  const asked = await admittedTo(parts, request, proof)
  if (!asked.ok) return refuse(reply, asked.error)
  const { rules } = asked.value
  const stream = rules.engines.some(({ id }) => id === engineId) ? parts.streamOf(engineId) : undefined
  const piece = pieceOf(file)
  if (stream === undefined || (piece === null && file !== MEDIA_PLAYLIST)) return refuse(reply, NOT_THERE)
  const late = await untilThere(stream, rules, request)
  if (late !== null) return refuse(reply, late)
  // The rules may have changed meanwhile.
  const admitted = await admittedTo(parts, request, proof)
  if (!admitted.ok) return refuse(reply, admitted.error)
  return piece === null
    ? sendPlaylist(parts, admitted.value, stream, request, reply)
    : sendPiece(parts, admitted.value, stream, piece, request, reply)
}

/** Waits for the part that the request names. Null: there is something to send. */
async function untilThere(
  stream: ChannelStream,
  { distribution }: PlaybackRules,
  { params, query }: FastifyRequest<MediaRequest>,
): Promise<ChannelFailure | null> {
  const { rendition, file } = params
  if (pieceOf(file)?.kind === 'part') {
    const arrival = await stream.reachedPart(rendition, numberOf(file), BLOCK_MAX_MS)
    return arrival === 'late' ? NOT_NOW : null
  }
  const wanted = file === MEDIA_PLAYLIST && distribution.llHls ? wantedPartOf(query) : null
  if (wanted === 'malformed') return TOO_FAR
  if (wanted === null) return null
  const arrival = await stream.reached(rendition, wanted.sequence, wanted.part, BLOCK_MAX_MS)
  return arrival === 'too_far' ? TOO_FAR : null
}

/**
 * True when this engine has stopped and another one plays. The last playlist of a stopped engine does not continue. A
 * player that gets a refusal moves to the next redundant stream; a player that could still read the old playlist would
 * stall.
 */
const isReplaced = ({ engines }: PlaybackRules, engineId: string): boolean =>
  engines.some(({ status }) => status === 'playing') &&
  engines.some(({ id, status }) => id === engineId && status !== 'playing')

function sendPlaylist(
  parts: PlaybackParts,
  { rules, grant }: Admitted,
  stream: ChannelStream,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): FastifyReply {
  const { engineId, rendition } = request.params
  const facts = stream.isLive || !isReplaced(rules, engineId) ? stream.facts(rendition) : undefined
  if (facts === undefined) return refuse(reply, NOT_THERE)
  const playlist = parts.playlists.of(facts, rules.distribution)
  if (rules.keys.length === 0) return sendShared(parts, { rules, grant }, playlist, request, reply)
  const ticketOf = (name: string) => ticketFor(parts, rules, pieceName(engineId, rendition, name), grant)
  const bytes = Buffer.from(withTickets(playlist.plain.toString(), ticketOf))
  return send(parts, rules, grant, request, reply, { bytes, type: PLAYLIST, cache: 'private, no-cache' })
}

/** Without tickets a playlist is the same for all viewers, so it is compressed once. */
function sendShared(
  parts: PlaybackParts,
  { rules, grant }: Admitted,
  playlist: SharedPlaylist,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.header('Vary', 'Accept-Encoding')
  const isGzipped = acceptsGzip(request)
  if (isGzipped) reply.header('Content-Encoding', 'gzip')
  const bytes = isGzipped ? playlist.gzipped : playlist.plain
  return send(parts, rules, grant, request, reply, { bytes, type: PLAYLIST, cache: 'private, no-cache' })
}

/** Adds its ticket to each address in a media playlist. */
const withTickets = (playlist: string, ticketOf: (name: string) => string): string =>
  playlist.replaceAll(/[\w-]+\.(?:mp4|m4s)(?="|$)/gm, (name) => `${name}${ticketOf(name)}`)

function sendPiece(
  parts: PlaybackParts,
  { rules, grant }: Admitted,
  stream: ChannelStream,
  piece: Pick<PieceKey, 'kind' | 'name'>,
  request: FastifyRequest<MediaRequest>,
  reply: FastifyReply,
): FastifyReply {
  const key = { ...piece, rendition: request.params.rendition }
  const bytes = stream.piece(key)
  if (bytes === undefined) return refuse(reply, NOT_THERE)
  const answer = { bytes, type: 'video/mp4', cache: 'public, max-age=60', playsMs: playsMsOf(stream, key) }
  return send(parts, rules, grant, request, reply, answer)
}

async function sendThumbnail(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const admitted = await admittedTo(parts, request, withToken)
  if (!admitted.ok) return refuse(reply, admitted.error)
  const { rules, grant } = admitted.value
  for (const engine of rules.engines.filter(({ status }) => status === 'playing')) {
    const bytes = await parts.thumbnailOf(engine.id)
    if (bytes === null || bytes.length === 0) continue
    return send(parts, rules, grant, request, reply, { bytes, type: 'image/jpeg', cache: 'private, no-cache' })
  }
  return refuse(reply, NOT_LIVE)
}

interface Admitted {
  readonly rules: PlaybackRules
  /** What the token or ticket of this viewer allows. */
  readonly grant: Grant
}

/** How a viewer proves its right to watch. */
type Proof = (
  parts: PlaybackParts,
  rules: PlaybackRules,
  request: FastifyRequest<PlaybackRequest>,
) => Result<Grant, ChannelFailure>

/** The rules and the viewer's grant, or why Sluice refuses the request. */
async function admittedTo(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  proof: Proof,
): Promise<Result<Admitted, ChannelFailure>> {
  const { distributionId } = request.params
  const rules = await parts.playbacks.find(distributionId)
  if (!rules) return err(noSuch('distribution', distributionId))
  const granted = proof(parts, rules, request)
  return granted.ok ? ok({ rules, grant: granted.value }) : granted
}

function withToken(
  parts: PlaybackParts,
  rules: PlaybackRules,
  request: FastifyRequest<PlaybackRequest>,
): Result<Grant, ChannelFailure> {
  const { token } = request.query
  const presented = bearer(request.headers.authorization) ?? (typeof token === 'string' ? token : null)
  return admit(rules, viewerOf(parts, request), presented, parts.claim())
}

/** A viewer brings the ticket from the playlist's URLs. A token is accepted here as well. */
function withTicket(opens: string): Proof {
  return (parts, rules, request) => {
    const viewer = viewerOf(parts, request)
    const grant = rules.keys.length === 0 ? null : parts.tickets.read(request.query.t, opens, rules, viewer.nowMs)
    if (grant === null) return withToken(parts, rules, request)
    const refused = refuseGranted(rules, grant, viewer)
    return refused ? err(refused) : ok(grant)
  }
}

function ticketFor(parts: PlaybackParts, { distribution, keys }: PlaybackRules, opens: string, grant: Grant): string {
  return keys.length === 0 ? '' : `?t=${parts.tickets.make(opens, distribution.id, grant)}`
}

function viewerOf({ ctx, peerOf }: PlaybackParts, request: FastifyRequest): PlaybackViewer {
  const address = peerOf(request.socket.remoteAddress, request.headers)
  return {
    address,
    country: ctx.countryOf(address),
    referer: request.headers.referer,
    userAgent: request.headers['user-agent'],
    nowMs: ctx.clock.now(),
  }
}

/** Sends the body or a range of it, and counts the bytes when the response closes. */
function send(
  parts: PlaybackParts,
  rules: PlaybackRules,
  grant: Grant,
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, type, cache, playsMs = 0 }: { bytes: Buffer; type: string; cache: string; playsMs?: number },
): FastifyReply {
  const range = readRange(request.headers.range, bytes.length)
  reply.headers(rangeHeaders(range, bytes.length)).header('Cache-Control', cache).type(type)
  if (range === 'unsatisfiable') {
    return refuse(reply, refusal('range_not_satisfiable', `There are ${bytes.length} bytes`))
  }
  const body = range === null ? bytes : bytes.subarray(range.start, range.end + 1)
  const length = request.method === 'HEAD' ? 0 : body.length
  const country = parts.ctx.countryOf(parts.peerOf(request.socket.remoteAddress, request.headers))
  const isWhole = length === bytes.length
  const serving = { rules, grant, country, playsMs: isWhole ? playsMs : 0 }
  const bytesOut = bytesFromNowOn(request.socket, length)
  reply.raw.on('close', () => countServed(parts, serving, bytesOut(), reply.raw.writableFinished))
  return reply.code(range === null ? 200 : 206).send(body)
}

function refuse(reply: FastifyReply, failure: ChannelFailure): FastifyReply {
  reply.header('Cache-Control', 'no-store')
  return sendChannelFailure(failure === NOT_LIVE ? reply.header('Retry-After', '2') : reply, failure)
}
