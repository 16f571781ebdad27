import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { timeOrderedId } from '../../../base/ids.ts'
import { fraction } from '../../../base/random.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { nodeWithRoom } from '../../../commands/regions/nodeWithRoom.ts'
import { NODE_REDIRECT, SESSION_LIMITS } from '../../../core/access/refusals.ts'
import { type ChannelFailure, noSuch, refusal } from '../../../core/channels/errors.ts'
import { admit, type Grant, type PlaybackRules } from '../../../core/channels/playback.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import { hlsNodeFor } from '../../../core/nodes/drain.ts'
import { bearer } from '../auth.ts'
import { NODE_TICKET } from '../hls/master.ts'
import { PLAYLIST } from '../hls/sending.ts'
import { sendPreflight } from '../media/cors.ts'
import { HANDOVER_PARAMETER } from '../media/handover.ts'
import { distributionMaster, masterForNode, NOT_LIVE } from './distributionMaster.ts'
import { JPEG, THUMBNAIL_FOR_NODE, remoteThumbnail, localThumbnail } from './distributionThumbnail.ts'
import { countServed, type PlaybackParts, viewerOf } from './playback.ts'
import { channelErrorHandler, sendChannelFailure } from './problem.ts'

export type PlaybackRequest = {
  Params: { distributionId: string }
  Querystring: { token?: unknown; node?: unknown }
}

const ROOT = '/v2/distributions/:distributionId'
const MASTER = `${ROOT}/hls/main.m3u8`
const THUMBNAIL = `${ROOT}/thumbnails/thumbnail.jpeg`

/** Where viewers of distributions begin. The addresses in a master playlist are those of `hlsRoutes`. */
export async function playbackRoutes(app: FastifyInstance, parts: PlaybackParts): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler(channelErrorHandler(parts.ctx.sampled.refusals))
    for (const path of [MASTER, THUMBNAIL]) {
      scope.options(path, (request, reply) => sendPreflight(request, reply, 'GET, HEAD, OPTIONS'))
    }
    scope.get<PlaybackRequest>(MASTER, (request, reply) => sendMaster(parts, request, reply))
    scope.get<PlaybackRequest>(THUMBNAIL, (request, reply) => sendThumbnail(parts, request, reply))
  })
}

async function sendMaster(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { distributionId } = request.params
  if (parts.tickets.regionOfNode(request.query.node, { stream: distributionId, name: 'main.m3u8' }) !== null)
    return sendToNode(parts, distributionId, reply)
  const asked = await admittedTo(parts, request)
  if (!asked.ok) return refuse(reply, asked.error)
  const nodeUrl = nodeFor(parts, request)
  if (nodeUrl !== null) return redirect(reply, atNode(nodeUrl, request.url))
  if (isFull(parts)) return sendOn(parts, request, reply)
  const master = await distributionMaster(parts, asked.value.rules)
  // The rules may have changed meanwhile.
  const admitted = await admittedTo(parts, request)
  if (!admitted.ok) return refuse(reply, admitted.error)
  if (!master.ok) return refuse(reply, master.error)
  const text = master.value.with(ticketFor(parts, admitted.value))
  return send(parts, admitted.value, request, reply, { bytes: Buffer.from(text), type: PLAYLIST, cache: 'no-store' })
}

/**
 * While this node drains, new viewers begin at another node; null: at this one. Viewers whose token is in a header begin here, because
 * browsers drop that header when they are redirected to another host.
 */
function nodeFor({ ctx: { sessions, random } }: PlaybackParts, { headers }: FastifyRequest): string | null {
  if (sessions.drain === null || headers.authorization !== undefined) return null
  return hlsNodeFor(sessions.drain, fraction(random), null, Number.POSITIVE_INFINITY)
}

const NODE_FULL = refusal('node_full', SESSION_LIMITS.node_full.text)

/** Whether this node takes no new viewers because of its load. Those who have a ticket go on. */
const isFull = ({ ctx: { nodeLoad } }: PlaybackParts): boolean =>
  nodeLoad.refusalOf({ action: 'view', protocol: 'hls', room: null }) !== null

/** To a node that has room, but for a viewer that another node has sent here, or whose token a redirect would drop. */
async function sendOn(parts: PlaybackParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { counts } = parts.ctx.sessions
  const url = new URL(request.url, 'http://this')
  const stays = url.searchParams.has(HANDOVER_PARAMETER) || request.headers.authorization !== undefined
  const nodeUrl = stays ? null : await nodeWithRoom(parts.ctx, null)
  counts.refused.add(nodeUrl === null ? 'node_full' : NODE_REDIRECT.code)
  if (nodeUrl === null) return refuse(reply, NODE_FULL)
  url.searchParams.set(HANDOVER_PARAMETER, NODE_REDIRECT.code)
  return redirect(reply, atNode(nodeUrl, url.pathname + url.search))
}

/** Another node has viewers of engines of this node, and decides on them. */
async function sendToNode(parts: PlaybackParts, distributionId: string, reply: FastifyReply): Promise<FastifyReply> {
  const rules = await parts.playbacks.find(distributionId)
  const master = rules === null ? err(noSuch('distribution', distributionId)) : await masterForNode(parts, rules)
  if (!master.ok) return refuse(reply, master.error)
  const text = master.value.with(NODE_TICKET)
  return reply.header('Cache-Control', 'no-store').type(PLAYLIST).send(text)
}

const redirect = (reply: FastifyReply, location: string): FastifyReply =>
  reply.code(307).headers({ Location: location, 'Cache-Control': 'no-store' }).send('')

/** Sends the thumbnail of the first engine that plays: at this node, or else at another one. */
async function sendThumbnail(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { distributionId } = request.params
  if (parts.tickets.regionOfNode(request.query.node, { stream: distributionId, name: 'thumbnail.jpeg' }) !== null) {
    const rules = await parts.playbacks.find(distributionId)
    const bytes = rules && localThumbnail(parts, rules)
    return bytes ? reply.header('Cache-Control', THUMBNAIL_FOR_NODE).type(JPEG).send(bytes) : refuse(reply, NOT_LIVE)
  }
  const asked = await admittedTo(parts, request)
  if (!asked.ok) return refuse(reply, asked.error)
  const { rules } = asked.value
  const bytes = localThumbnail(parts, rules) ?? (await remoteThumbnail(parts, rules))
  // The rules may have changed meanwhile.
  const admitted = await admittedTo(parts, request)
  if (!admitted.ok) return refuse(reply, admitted.error)
  if (bytes === null) return refuse(reply, NOT_LIVE)
  return send(parts, admitted.value, request, reply, { bytes, type: JPEG, cache: 'private, no-cache' })
}

interface Admitted {
  readonly rules: PlaybackRules
  /** What the token of this viewer allows. */
  readonly grant: Grant
  /** Where the viewer is; null: not known. */
  readonly country: string | null
}

/** The rules and the viewer's grant, or why Sluice refuses the request. */
async function admittedTo(
  parts: PlaybackParts,
  request: FastifyRequest<PlaybackRequest>,
): Promise<Result<Admitted, ChannelFailure>> {
  const { distributionId } = request.params
  const rules = await parts.playbacks.find(distributionId)
  if (!rules) return err(noSuch('distribution', distributionId))
  const { token } = request.query
  const presented = bearer(request.headers.authorization) ?? (typeof token === 'string' ? token : null)
  const viewer = viewerOf(parts, request.raw)
  const granted = admit(rules, viewer, presented, parts.claim())
  return granted.ok ? ok({ rules, grant: granted.value, country: viewer.country }) : granted
}

/** A ticket of its own for each master playlist, so that a ticket that several players share is seen. */
function ticketFor({ tickets, ctx }: PlaybackParts, { rules, grant }: Admitted): string {
  const viewerId = timeOrderedId(ctx.clock.now(), ctx.random)
  return tickets.make({ kind: 'grant', viewerId, stream: rules.distribution.id, grant })
}

/** Sends a body, and counts its bytes when the response closes. */
function send(
  parts: PlaybackParts,
  { rules, grant, country }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, type, cache }: { bytes: Uint8Array; type: string; cache: string },
): FastifyReply {
  const length = request.method === 'HEAD' ? 0 : bytes.length
  countServed(parts, reply.raw, { rules, grant, country, length, playsMs: 0 })
  return reply.header('Cache-Control', cache).type(type).send(bytes)
}

function refuse(reply: FastifyReply, failure: ChannelFailure): FastifyReply {
  reply.header('Cache-Control', 'no-store')
  return sendChannelFailure(failure === NOT_LIVE ? reply.header('Retry-After', '2') : reply, failure)
}
