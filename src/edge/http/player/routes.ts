import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { embeddingOf } from '../../../commands/access/embedding.ts'
import type { Context } from '../../../commands/context.ts'
import type { PeerOf } from '../peer.ts'
import { sendFile, type StaticType } from '../staticFile.ts'
import { storedTextAt } from '../storedText.ts'
import { watchPolicies } from './policy.ts'

const BUILT = new URL('../../../../build/player/', import.meta.url)

const built = (path: string): URL => new URL(path, BUILT)

/** The path, the file and its type. The player loads hls.js when it needs it, from its package. */
const FILES: readonly (readonly [path: string, file: URL, type: StaticType])[] = [
  ['player.js', built('player.js'), 'js'],
  ['client.js', built('client.js'), 'js'],
  ['player/hls.js', new URL(import.meta.resolve('hls.js/dist/hls.min.mjs')), 'js'],
  ['player/hls.light.js', new URL(import.meta.resolve('hls.js/dist/hls.light.min.mjs')), 'js'],
  ['player/watch.js', built('player/watch.js'), 'js'],
  ['player/watch.css', built('player/watch.css'), 'css'],
  ['player/icon.svg', built('player/icon.svg'), 'svg'],
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
  for (const [path, file, type] of FILES) {
    app.get(`/${path}`, (request, reply) => {
      // A module of another origin needs this.
      reply.headers({ 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' })
      return sendBuilt(request, reply, file, type)
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
    // A page that is cross-origin isolated shows only frames that are, too.
    reply.headers({
      'Content-Security-Policy': watchPolicies(hasNodes, embedding),
      'Cross-Origin-Embedder-Policy': 'require-corp',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    })
    return sendBuilt(request, reply, built('player/watch.html'), 'html')
  })
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
