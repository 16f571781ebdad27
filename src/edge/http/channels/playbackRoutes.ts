import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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
import { masterPlaylist, mediaPlaylist, type Variant, variantsOf } from '../../../core/channels/playlist.ts'
import { bearer } from '../auth.ts'
import { preflight } from '../media/cors.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import type { PeerOf } from '../peer.ts'
import { rangeHeaders, readRange } from '../media/range.ts'
import {
  countServed,
  bytesFromNowOn,
  pieceName,
  segmentPathOf,
  PLAYBACK_MEDIA,
  type PlaybackOptions,
  type PlaybackParts,
} from './playback.ts'
import { playbackFastPath } from './playbackFastPath.ts'
import { channelErrorHandler, sendChannelFailure } from './problem.ts'
import { orNull } from './segmentCache.ts'

type PlaybackRequest = { Params: { distributionId: string }; Querystring: { token?: unknown; t?: unknown } }
type Piece = PlaybackRequest & { Params: { engineId: string; rendition: string; file: string } }

const ROOT = '/v2/distributions/:distributionId'
const MASTER = `${ROOT}/hls/main.m3u8`
const THUMBNAIL = `${ROOT}/thumbnails/thumbnail.jpeg`

const PLAYLIST = 'application/vnd.apple.mpegurl'
const FILES = /^(index\.m3u8|[a-z0-9_]{1,40}\.(mp4|m4s))$/

const NOT_THERE = refusal('not_found', 'This piece of the stream is gone or never was')
const NOTHING_FITS = refusal('not_found', 'Every rendition is above the maxBitrate of this distribution')
const NOT_LIVE = refusal('not_found', 'Nothing is playing now')

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
  const parts: PlaybackParts = { ...options, ctx, peerOf }
  await app.register(async (scope) => {
    scope.setErrorHandler(channelErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, PLAYBACK_MEDIA, THUMBNAIL]) {
      scope.options(path, (_request, reply) => reply.code(204).headers(preflight('GET, HEAD, OPTIONS')).send())
    }
    scope.get<PlaybackRequest>(MASTER, (request, reply) => sendMaster(parts, request, reply))
    scope.get<Piece>(PLAYBACK_MEDIA, (request, reply) => sendPiece(parts, request, reply))
    scope.get<PlaybackRequest>(THUMBNAIL, (request, reply) => sendThumbnail(parts, request, reply))
  })
  return playbackFastPath(parts, options)
}

async function sendMaster(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const admitted = await admittedTo(parts, request, withToken)
  if (!admitted.ok) return refuse(reply, admitted.error)
  const { rules, grant } = admitted.value
  const playing = await variantsFor(parts, rules)
  if (playing.length === 0) return refuse(reply, NOT_LIVE)
  const most = rules.distribution.maxBitrate ?? Number.POSITIVE_INFINITY
  const variants = playing.filter(({ bandwidth }) => bandwidth <= most)
  if (variants.length === 0) return refuse(reply, NOTHING_FITS)
  const ticket = ticketFor(parts, rules, PLAYLIST_TICKET, grant)
  const addressed = variants.map((variant) => ({ ...variant, uri: `${variant.uri}${ticket}` }))
  return send(parts, rules, grant, request, reply, {
    bytes: Buffer.from(masterPlaylist(addressed)),
    type: PLAYLIST,
    cache: 'no-store',
  })
}

/** The variants of all playing engines, the preferred engine first. */
async function variantsFor({ folderOf }: PlaybackParts, { engines }: PlaybackRules): Promise<Variant[]> {
  const found: Variant[] = []
  for (const engine of engines.filter(({ status }) => status === 'playing')) {
    const master = await fileOf(join(folderOf(engine.id), 'main.m3u8'))
    const variants = master === null ? [] : variantsOf(master.toString())
    found.push(...variants.map((variant) => ({ ...variant, uri: `${engine.id}/${variant.uri}` })))
  }
  return found
}

async function sendPiece(
  parts: PlaybackParts,
  request: FastifyRequest<Piece>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { engineId, rendition, file } = request.params
  const kind = file === 'index.m3u8' ? 'playlist' : 'media'
  const opens = kind === 'playlist' ? PLAYLIST_TICKET : pieceName(engineId, rendition, file)
  const admitted = await admittedTo(parts, request, withTicket(opens))
  if (!admitted.ok) return refuse(reply, admitted.error)
  const { rules, grant } = admitted.value
  if (kind === 'playlist' && isReplaced(rules, engineId)) return refuse(reply, NOT_THERE)
  const isNamed = rules.engines.some(({ id }) => id === engineId) && /^\d{1,2}$/.test(rendition) && FILES.test(file)
  const path = segmentPathOf(parts, engineId, rendition, file)
  const bytes = isNamed ? await pieceOf(parts, path) : null
  if (bytes === null) return refuse(reply, NOT_THERE)
  if (kind === 'playlist') {
    const playlist = bytes.toString()
    parts.times.learn(dirname(path), playlist)
    return sendPlaylist(parts, rules, grant, request, reply, playlist)
  }
  const answer = { bytes, type: 'video/mp4', cache: 'public, max-age=60', playsMs: parts.times.of(path) }
  return send(parts, rules, grant, request, reply, answer)
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
  rules: PlaybackRules,
  grant: Grant,
  request: FastifyRequest<Piece>,
  reply: FastifyReply,
  playlist: string,
): FastifyReply {
  const { engineId, rendition } = request.params
  const { hlsLatencySeconds: latencySeconds } = rules.distribution
  const addressOf = (uri: string) => `${uri}${ticketFor(parts, rules, pieceName(engineId, rendition, uri), grant)}`
  const text = mediaPlaylist(playlist, { latencySeconds, addressOf })
  const answer = { bytes: Buffer.from(text), type: PLAYLIST, cache: 'private, no-cache' }
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
    const bytes = await fileOf(join(parts.folderOf(engine.id), 'thumbnail.jpeg'))
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

/** Segments never change under their name, so they are cached. Playlists change, and the init segment may. */
const pieceOf = ({ segments }: PlaybackParts, path: string): Promise<Buffer | null> =>
  path.endsWith('.m4s') ? segments.read(path) : fileOf(path)

/** A file that an engine wrote; null when it does not exist. */
const fileOf = (path: string): Promise<Buffer | null> => orNull(readFile(path))
