import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { inTime } from '../../../base/clock.ts'
import { jpegSize } from '../../../base/jpegSize.ts'
import type { Logger } from '../../../base/log.ts'
import { embeddingOf } from '../../../commands/access/embedding.ts'
import type { Context } from '../../../commands/context.ts'
import { type LinkPreview, linkPreviewOf } from '../../../commands/streams/linkPreview.ts'
import { checkStreamName } from '../../../core/access/streamName.ts'
import type { StreamRef } from '../../../core/streams/streamId.ts'
import { type AddressFacts, publicAddresses } from '../../../core/streams/addresses.ts'
import { requestedAt } from '../about/server.ts'
import type { SharedHls } from '../hls/parts.ts'
import { thumbnailAtNode } from '../hls/thumbnail.ts'
import { sendNoNamePage, sendUnreadablePage, wantsPage } from '../notFoundPage.ts'
import type { PeerOf } from '../peer.ts'
import { errorHandler } from '../problem.ts'
import { sendFile, type StaticType, withoutSlash } from '../staticFile.ts'
import { storedTextAt } from '../storedText.ts'
import { watchPolicies } from './policy.ts'
import { oembedOf, readOembed } from './oembed.ts'
import { sendWatchPage, streamPath, type WatchLink } from './watchPage.ts'

const BUILT = new URL('../../../../build/player/', import.meta.url)

const built = (path: string): URL => new URL(path, BUILT)

/** The path, the file and its type. The player loads hls.js when it needs it, from its package. */
const FILES: readonly (readonly [path: string, file: URL, type: StaticType])[] = [
  ['player.js', built('player.js'), 'js'],
  ['client.js', built('client.js'), 'js'],
  ['player/hls.js', new URL(import.meta.resolve('hls.js/dist/hls.min.mjs')), 'js'],
  ['player/hls.light.js', new URL(import.meta.resolve('hls.js/dist/hls.light.min.mjs')), 'js'],
  ['player/wordsDe.js', built('player/wordsDe.js'), 'js'],
  ['player/watch.js', built('player/watch.js'), 'js'],
  ['player/watch.css', built('player/watch.css'), 'css'],
  ['player/icon.svg', built('player/icon.svg'), 'svg'],
]

const NOT_BUILT = 'The player is not built on this server. Its operator runs: npm ci && npm run build:player'

type Watch = { Params: StreamRef; Querystring: { token?: unknown } }

export interface PlayerOptions {
  readonly peerOf: PeerOf
  /** Viewers may be redirected to other nodes. */
  readonly hasNodes: boolean
  /** Of the addresses in link previews. */
  readonly facts: () => Omit<AddressFacts, 'accountId' | 'scheme' | 'host'>
  /** Asks other nodes for thumbnails; null: this node serves no HLS, so there are none. */
  readonly shared: SharedHls | null
}

/** How long a page waits for the thumbnail of another node. */
const THUMBNAIL_MS = 1000

/** The player and the client library, which pages of every origin may load, the page around the player, and its oEmbed. */
export function playerRoutes(app: FastifyInstance, ctx: Context, options: PlayerOptions): void {
  const { peerOf, hasNodes, facts } = options
  const baseOf = (request: FastifyRequest): string =>
    publicAddresses({ ...facts(), accountId: '', ...requestedAt(ctx, request) }).base
  // Without a configured address, links have the host of the request, which a stranger may forge for others.
  const caching = (): string => (facts().publicUrl || facts().nodeUrl ? 'no-cache' : 'private, no-cache')
  const viewerOf = ({ socket, headers }: FastifyRequest, { accountId, streamName }: StreamRef) =>
    ({
      action: 'view',
      protocol: 'whep',
      accountId,
      streamName,
      address: peerOf(socket.remoteAddress, headers),
    }) as const
  const linkTo = async (request: FastifyRequest, stream: StreamRef): Promise<WatchLink> => {
    const base = baseOf(request)
    const { isOpen, thumbnail } = await linkPreviewOf(ctx, viewerOf(request, stream))
    const image = await imageOf(ctx, options, stream, thumbnail)
    const url = `${base}/hls/${streamPath(stream)}/thumbnail.jpeg`
    return { base, ...stream, isOpen, thumbnail: image && { url, size: jpegSize(image) } }
  }
  for (const [path, file, type] of FILES) {
    app.get(`/${path}`, (request, reply) => {
      // A module of another origin needs this.
      reply.headers({ 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' })
      return sendBuilt(request, reply, file, type)
    })
  }
  app.get<Watch>('/watch/:accountId/:streamName', async (request, reply) => {
    const { accountId, streamName } = request.params
    if (checkStreamName(streamName) !== null) return sendNoNamePage(reply, pathOf(request))
    const short = withoutSlash(request)
    if (short !== null) return reply.redirect(short, 302)
    const page = await storedTextAt(built('player/watch.html'))
    if (page === null) return notBuilt(reply)
    const { token } = request.query
    const presented = typeof token === 'string' && token !== '' ? token : null
    const embedding = await embeddingOf(ctx, { ...viewerOf(request, request.params), presented })
    // A page that is cross-origin isolated shows only frames that are, too.
    reply.headers({
      'Cache-Control': caching(),
      'Content-Security-Policy': watchPolicies(hasNodes, embedding),
      'Cross-Origin-Embedder-Policy': 'require-corp',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    })
    return sendWatchPage(request, reply, page, await linkTo(request, { accountId, streamName }))
  })
  app.get<{ Querystring: Record<string, unknown> }>('/oembed', async (request, reply) => {
    reply.headers({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': caching() })
    const read = readOembed(request.query, baseOf(request))
    if (!read.ok) return reply.code(read.error.status).type('text/plain; charset=utf-8').send(read.error.text)
    const { most, size, ...stream } = read.value
    return reply.send(oembedOf(await linkTo(request, stream), { most, size }))
  })
}

async function imageOf(
  { clock }: Context,
  { shared }: PlayerOptions,
  stream: StreamRef,
  found: LinkPreview['thumbnail'],
): Promise<Uint8Array | null> {
  if (found === null || shared === null) return null
  if ('image' in found) return found.image
  return inTime(clock, THUMBNAIL_MS, thumbnailAtNode(shared, { ...stream, sourceId: null }, found.nodeUrl))
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

/** A person reads a page at an address that the router cannot read. */
export const watchErrorHandler =
  (log: Logger) =>
  (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH'
    const isUnreadable = isTooLong || error.code === 'FST_ERR_BAD_URL'
    if (!isUnreadable || !wantsPage(request)) return errorHandler(log)(error, request, reply)
    return sendUnreadablePage(reply, pathOf(request), isTooLong)
  }

async function sendBuilt(
  request: FastifyRequest,
  reply: FastifyReply,
  file: URL,
  type: StaticType,
): Promise<FastifyReply> {
  return (await storedTextAt(file)) === null ? notBuilt(reply) : sendFile(request, reply, file, type)
}

const notBuilt = (reply: FastifyReply): FastifyReply =>
  reply.code(503).header('Cache-Control', 'no-store').type('text/plain; charset=utf-8').send(NOT_BUILT)
