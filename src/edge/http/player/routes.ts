import { existsSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { embeddingOf } from '../../../commands/access/embedding.ts'
import type { Context } from '../../../commands/context.ts'
import { acceptsGzip } from '../contentEncoding.ts'
import type { PeerOf } from '../peer.ts'
import { sendFile, type StaticType } from '../staticFile.ts'
import { watchPolicies } from './policy.ts'

const BUILT = new URL('../../../../build/player/', import.meta.url)

/** The same path here and below `build/player/`. */
const FILES: readonly (readonly [path: string, type: StaticType])[] = [
  ['player.js', 'js'],
  ['client.js', 'js'],
  ['player/hls.js', 'js'],
  ['player/hls.light.js', 'js'],
  ['player/watch.js', 'js'],
  ['player/watch.css', 'css'],
  ['player/icon.svg', 'svg'],
]

const NOT_BUILT = 'The player is not built on this server. Its operator runs: npm ci && npm run build:player'

type Watch = { Params: { accountId: string; streamName: string }; Querystring: { token?: unknown } }

export interface PlayerOptions {
  readonly peerOf: PeerOf
  /** Viewers may be redirected to other nodes. */
  readonly hasNodes: boolean
}

/** The player and the client library, which pages of every origin may load, and the page around the player. */
export function playerRoutes(app: FastifyInstance, ctx: Context, { peerOf, hasNodes }: PlayerOptions): void {
  for (const [path, type] of FILES) {
    app.get(`/${path}`, (request, reply) => {
      // A module of another origin needs this.
      reply.headers({ 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' })
      return sendBuilt(request, reply, path, type)
    })
  }
  app.get<Watch>('/watch/:accountId/:streamName', async (request, reply) => {
    const { accountId, streamName } = request.params
    const { token } = request.query
    const embedding = await embeddingOf(ctx, {
      action: 'view',
      protocol: 'whep',
      accountId,
      streamName,
      presented: typeof token === 'string' && token !== '' ? token : null,
      address: peerOf(request.socket.remoteAddress, request.headers),
    })
    reply.header('Content-Security-Policy', watchPolicies(hasNodes, embedding))
    return sendBuilt(request, reply, 'player/watch.html', 'html')
  })
}

/** Sends the compressed form to browsers that take it; the build has made it. */
function sendBuilt(
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  type: StaticType,
): Promise<FastifyReply> {
  const file = new URL(path, BUILT)
  const compressed = new URL(`${path}.gz`, BUILT)
  if (!existsSync(file)) return notBuilt(reply)
  reply.header('Vary', 'Accept-Encoding')
  const isCompressed = acceptsGzip(request) && existsSync(compressed)
  if (isCompressed) reply.header('Content-Encoding', 'gzip')
  return sendFile(request, reply, isCompressed ? compressed : file, type)
}

const notBuilt = async (reply: FastifyReply): Promise<FastifyReply> =>
  reply.code(503).header('Cache-Control', 'no-store').type('text/plain; charset=utf-8').send(NOT_BUILT)
