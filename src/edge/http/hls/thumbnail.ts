import type { FastifyReply, FastifyRequest } from 'fastify'
import { sha256 } from '../../../base/crypto.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import { REFUSALS } from '../../../core/access/refusals.ts'
import { mayGoTo } from '../../../core/clusters.ts'
import { type TaggedThumbnail, thumbnailForViewer, thumbnailOf } from '../../../commands/streams/thumbnail.ts'
import { hasVersion } from '../conditional.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { attemptOf } from '../webrtc/offer.ts'
import { refuseHls } from './answering.ts'
import { askNode, regionOfNode, type MasterRequest, type NodeParts, requestedSource } from './master.ts'
import { NO_TICKET, requestOfTicket } from './opening.ts'
import { type HlsParts, requestOriginOf } from './parts.ts'
import { AWAY } from './sending.ts'
import type { StreamSource } from './viewers.ts'

/** The latest picture of a stream, for its viewers. */
export const THUMBNAIL = '/hls/:accountId/:streamName/thumbnail.jpeg'
/** The same, for a player that has a ticket and no token. */
export const TICKET_THUMBNAIL = '/hls/~:ticket/:stream/thumbnail.jpeg'

export type TicketThumbnailRequest = { Params: { ticket: string; stream: string } }

/** Sluice takes a picture every few seconds at most. */
const MAX_AGE = 'max-age=2'

const OF_DISTRIBUTION: HttpRefusal = {
  status: 404,
  text: 'Not found: the picture of a distribution is at /v2/distributions/{id}/thumbnails/thumbnail.jpeg',
}

/** Answers with the thumbnail of a stream, by the token of the request, or to another node, which has decided. */
export async function sendThumbnail(
  parts: HlsParts,
  request: FastifyRequest<MasterRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const source = requestedSource(request)
  const region = regionOfNode(parts, request, 'thumbnail.jpeg')
  if (region !== null) return sendToNode(parts, source, region, { request, reply })
  const { accountId, streamName } = source
  const target = { action: 'view', protocol: 'hls', accountId, streamName } as const
  return sendToViewer(parts, source, attemptOf(request, parts.peerOf, target), { request, reply })
}

/**
 * As `sendThumbnail`, by what the ticket's viewer presented for its master playlist. The viewer's session, if it has one,
 * is left as it is.
 */
export async function sendTicketThumbnail(
  parts: HlsParts,
  request: FastifyRequest<TicketThumbnailRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ticket, stream } = request.params
  const read = parts.tickets.read(ticket, stream)
  if (read?.kind !== 'session') return refuseHls(reply, read === null ? NO_TICKET : OF_DISTRIBUTION)
  const requested = await requestOfTicket(parts, read)
  if (!requested.ok) return refuseHls(reply, requested.error)
  const { presented, ...source } = requested.value
  const { accountId, streamName } = source
  const from = requestOriginOf(parts, request.raw)
  const attempt = { action: 'view', protocol: 'hls', accountId, streamName, presented, ...from } as const
  return sendToViewer(parts, source, attempt, { request, reply })
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function sendToViewer(
  parts: HlsParts,
  source: StreamSource,
  attempt: AccessAttempt,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const found = await thumbnailForViewer(parts.ctx, attempt, source.sourceId)
  if (!found.ok) return refuseHls(reply, found.error)
  const { needsToken } = found.value
  const jpeg =
    'thumbnail' in found.value
      ? ok(jpegOf(found.value.thumbnail))
      : await remoteJpeg(parts, source, found.value.nodeUrl)
  if (!jpeg.ok) return refuseHls(reply, jpeg.error)
  return send(request, reply, jpeg.value, `${needsToken ? 'private' : 'public'}, ${MAX_AGE}`)
}

/** Other nodes ask once in the time of `MAX_AGE`, whatever their viewers do, also when there is no picture. */
async function sendToNode(
  { ctx }: HlsParts,
  { accountId, streamName, sourceId }: StreamSource,
  region: string,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const feed = ctx.sessions.feeds.get(accountId, streamName, sourceId)
  const found = feed && mayGoTo(region, [feed]) ? thumbnailOf(ctx, feed) : err(REFUSALS.stream_not_published.text)
  if (found.ok) return send(request, reply, jpegOf(found.value), `private, ${MAX_AGE}`)
  return reply
    .code(404)
    .header('Cache-Control', `private, ${MAX_AGE}`)
    .type('text/plain; charset=utf-8')
    .send(found.error)
}

interface Jpeg {
  readonly bytes: Buffer
  readonly etag: string
}

const jpegOf = ({ image, etag }: TaggedThumbnail): Jpeg => ({
  bytes: Buffer.from(image.buffer, image.byteOffset, image.byteLength),
  etag,
})

/** The thumbnail of a stream at another node; null: none, or the node does not answer. */
export async function thumbnailAtNode(parts: NodeParts, source: StreamSource, nodeUrl: string): Promise<Buffer | null> {
  const jpeg = await remoteJpeg(parts, source, nodeUrl)
  return jpeg.ok ? jpeg.value.bytes : null
}

async function remoteJpeg(parts: NodeParts, source: StreamSource, nodeUrl: string): Promise<Result<Jpeg, HttpRefusal>> {
  const answer = await askNode(parts, source, nodeUrl, 'thumbnail.jpeg')
  if (answer?.status === 404) return err({ status: 404, text: answer.body.toString() })
  if (answer?.status !== 200) return err(AWAY)
  return ok({ bytes: answer.body, etag: `"${sha256(answer.body).toString('base64url')}"` })
}

function send(request: FastifyRequest, reply: FastifyReply, { bytes, etag }: Jpeg, caching: string): FastifyReply {
  reply.headers({ ETag: etag, 'Cache-Control': caching })
  if (hasVersion(request, etag)) return reply.code(304).send()
  return reply.type('image/jpeg').send(bytes)
}
