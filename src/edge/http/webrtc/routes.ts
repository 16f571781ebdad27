import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { PeerOf } from '../peer.ts'
import { openSignalingEndpoint } from './endpoint.ts'
import type { WebRtcOptions } from './parts.ts'
import { PendingOffers } from './pendingOffers.ts'
import { FRAGMENT, plainErrorHandler, SDP } from '../media/refusal.ts'
import { Resources } from './resources.ts'
import { whepEndpoint } from './whep.ts'
import { whipEndpoint } from './whip.ts'

/** WHIP and WHEP: everything under `/api/whip` and `/api/whep`. */
export async function webRtcRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: WebRtcOptions,
): Promise<void> {
  const { engine, limits, resourceBase } = options
  const resources = new Resources(ctx.random)
  const unwatch = engine.watch((event) => {
    if (event.kind === 'ended') resources.forget(event.sessionId, event.reason === 'left' || event.reason === 'lost')
  })
  app.addHook('onClose', async () => unwatch())
  const pending = new PendingOffers(limits)
  const parts = { ctx, engine, resources, limits, pending, resourceBase }
  for (const endpoint of [whipEndpoint, whepEndpoint].map((make) =>
    make({ ...options, ctx, peerOf, resources, pending }),
  )) {
    await app.register(
      async (scope) => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser([SDP, FRAGMENT], { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
        scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
        openSignalingEndpoint(scope, parts, endpoint)
      },
      { prefix: endpoint.prefix },
    )
  }
}
