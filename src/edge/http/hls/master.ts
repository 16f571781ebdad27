import type { FastifyReply, FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import { mayView } from '../../../commands/sessions/admit.ts'
import { mayGoTo } from '../../../core/clusters.ts'
import { hlsMaster } from '../../../core/hls/master.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import type { FeedStream } from '../../../media/hls/feedStream.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { attemptOf } from '../webrtc/offer.ts'
import { countBytes } from '../../../commands/sessions/count.ts'
import type { NodeAnswer } from '../../../core/hls/nodes.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import type { ActiveFeed } from '../../../media/feedsOnAir.ts'
import { refuseHls } from './answering.ts'
import type { StreamFile } from '../media/tickets.ts'
import { feedSoon } from './feedSoon.ts'
import { newViewer, NO_TICKET, sealRequest } from './opening.ts'
import type { HlsParts } from './parts.ts'
import { AWAY, NOT_THERE, NOT_YET, notYetOf, PLAYLIST, START_MAX_MS } from './sending.ts'
import type { StreamSource } from './viewers.ts'

export type MasterRequest = {
  Params: { accountId: string; streamName: string }
  Querystring: { sourceId?: unknown; node?: unknown }
}

export const MASTER = '/hls/:accountId/:streamName/index.m3u8'

/** A master playlist, but for the ticket in it. */
interface Master {
  readonly stream: string
  with(ticket: string): string
}

/** In the place of a ticket in what a node answers to another, which puts those of its viewers there. */
export const NODE_TICKET = 'node'

/** Answers with the master playlist, which is the only one that contains a ticket. */
export async function sendMaster(
  parts: HlsParts,
  request: FastifyRequest<MasterRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { handover, tickets, ctx } = parts
  const source = requestedSource(request)
  const { accountId, streamName, sourceId } = source
  const region = regionOfNode(parts, request, 'index.m3u8')
  if (region !== null) return sendToNode(parts, source, region, reply)
  const target = { action: 'view', protocol: 'hls', accountId, streamName } as const
  const { attempt, isHandedOver } = handover.received(request, attemptOf(request, parts.peerOf, target))
  const allowed = await mayView(ctx, attempt, { sourceId, isHandedOver, followsRedirects: !isHandedOver })
  if (!allowed.ok) return refuseHls(reply, handover.refusalOf(allowed, request, attempt))
  const asked = { ...attempt, accountId, sourceId, userAgent: request.headers['user-agent'] }
  const viewer = newViewer(parts, asked)
  viewer.attend(reply.raw, () => countBytes(ctx, viewer.sessionId, viewer), false)
  const master =
    allowed.feed === null ? await remoteMaster(parts, asked, allowed.url) : await localMaster(parts, allowed.feed)
  if (!master.ok) parts.viewers.forget(viewer)
  if (viewer.isCut) return refuseHls(reply, NO_TICKET)
  if (!master.ok) return refuseHls(reply, master.error)
  viewer.lastAskedMs = ctx.clock.monotonic()
  if (allowed.url !== null) viewer.remote = { nodeUrl: allowed.url, atMs: viewer.lastAskedMs }
  const { stream } = master.value
  const facts = {
    kind: 'session',
    sessionId: viewer.ticketId,
    stream,
    tokenId: allowed.tokenId,
    request: sealRequest(parts, asked),
  } as const
  return send(reply, master.value.with(tickets.make(facts)))
}

/** The source that a request names by its path and query. */
export function requestedSource({ params, query }: FastifyRequest<MasterRequest>): StreamSource {
  const { accountId, streamName } = params
  const { sourceId } = query
  return { accountId, streamName, sourceId: typeof sourceId === 'string' && sourceId !== '' ? sourceId : null }
}

/** The region of the node that asks, which has decided on its viewers; null: a viewer asks. */
export const regionOfNode = (
  { tickets }: HlsParts,
  request: FastifyRequest<MasterRequest>,
  file: SourceFile,
): string | null => tickets.regionOfNode(request.query.node, fileOf(requestedSource(request), file))

/** Another node has viewers of a feed of this node. */
async function sendToNode(
  parts: HlsParts,
  source: StreamSource,
  region: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const master = await masterForNode(parts, source, region)
  return master.ok ? send(reply, master.value.with(NODE_TICKET)) : refuseHls(reply, master.error)
}

/** Other nodes may learn of a feed a moment before it is on the air here, and a moment after it has left. */
async function masterForNode(
  parts: HlsParts,
  source: StreamSource,
  region: string,
): Promise<Result<Master, HttpRefusal>> {
  const { accountId, streamName, sourceId } = source
  const here = parts.ctx.sessions.feeds.get(accountId, streamName, sourceId)
  const left = here === undefined ? parts.hls.unended(source) : undefined
  const feed = left === undefined ? (here ?? (await feedSoon(parts.ctx, source))) : parts.hls.feedOf(left.hls.id)
  if (feed === undefined) return err(NOT_YET)
  if (!mayGoTo(region, [feed])) return err(NOT_THERE)
  return left === undefined ? localMaster(parts, feed) : masterOf(left)
}

const send = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type(PLAYLIST).header('Cache-Control', 'no-store').send(text)

async function localMaster({ hls }: HlsParts, feed: ActiveFeed): Promise<Result<Master, HttpRefusal>> {
  const opened = hls.open(feed)
  return opened.ok ? masterOf(opened.value) : err({ status: 503, text: opened.error })
}

async function masterOf(feedStream: FeedStream): Promise<Result<Master, HttpRefusal>> {
  const { hls: stream } = feedStream
  if (!(await feedStream.ready(START_MAX_MS))) return err(notYetOf(feedStream))
  // Relative to the address of the master playlist, so that a proxy may have a prefix of its own.
  const uriOf = (ticket: string) => (rendition: string) => `../../~${ticket}/${stream.id}/${rendition}/media.m3u8`
  return ok({ stream: stream.id, with: (ticket) => hlsMaster(stream.variants(), uriOf(ticket)) })
}

/** The master playlist of the node that has the feed. It names the stream. */
export async function remoteMaster(
  parts: HlsParts,
  source: StreamSource,
  url: string,
): Promise<Result<Master, HttpRefusal>> {
  const answer = await askNode(parts, source, url, 'index.m3u8')
  const text = answer?.body.toString() ?? ''
  // Without another ~ in between it is linear, whatever listens there.
  const [, own, stream] = /~([^/~]+)\/([^/~]+)\//.exec(text) ?? []
  if (answer?.status === 503) return err({ status: 503, text })
  if (answer?.status !== 200 || own === undefined || stream === undefined) return err(AWAY)
  return ok({ stream, with: (ticket) => text.replaceAll(`~${own}/`, `~${ticket}/`) })
}

/** What a node reads of a source of another one. */
type SourceFile = 'index.m3u8' | 'thumbnail.jpeg'

/** What requests to other nodes need. */
export type NodeParts = Pick<HlsParts, 'remote' | 'tickets'>

/** Fetches the master playlist, or what is beside it, from the node that has the feed. Null: it did not answer. */
export function askNode(
  { remote, tickets }: NodeParts,
  source: StreamSource,
  nodeUrl: string,
  file: SourceFile,
): Promise<NodeAnswer | null> {
  const { accountId, streamName, sourceId } = source
  const url = atNode(nodeUrl, `/hls/${[accountId, streamName].map(encodeURIComponent).join('/')}/${file}`)
  const query = new URLSearchParams({
    node: tickets.forNode(nodeUrl, fileOf(source, file)),
    ...(sourceId === null ? {} : { sourceId }),
  })
  return remote.get(`${url} ${sourceId ?? ''}`, `${url}?${query.toString()}`)
}

/** What a ticket of a node for it is bound to. */
const fileOf = ({ accountId, streamName, sourceId }: StreamSource, file: SourceFile): StreamFile => ({
  stream: streamIdOf({ accountId, streamName }),
  name: `${file} ${sourceId ?? ''}`,
})
