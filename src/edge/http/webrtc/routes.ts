import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { Engine } from '../../../media/engine.ts'
import type { Handover } from '../handover.ts'
import type { PeerOf } from '../peer.ts'
import { openDoor } from './door.ts'
import { iceLinks } from './iceLinks.ts'
import { FRAGMENT, plainErrorHandler, SDP } from './refusal.ts'
import { Resources } from './resources.ts'
import { whepDoor } from './whep.ts'
import { whipDoor } from './whip.ts'

export interface WebRtcOptions {
  readonly engine: Engine
  /** STUN and TURN servers for clients: `URL` or `URL username credential`. */
  readonly iceServers: readonly string[]
  /** How many offers may be under way at a time. */
  readonly maxPending: number
  /** Where clients reach this node when that is not where they came to; ''. */
  readonly nodeUrl: string
  readonly handover: Handover
}

export interface WebRtcParts extends WebRtcOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
}

/** WHIP and WHEP: everything under `/api/whip` and `/api/whep`. */
export async function webRtcRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: WebRtcOptions,
): Promise<void> {
  const { engine, iceServers, maxPending, nodeUrl } = options
  const resources = new Resources(ctx.random)
  const unwatch = engine.watch((event) => {
    if (event.kind === 'ended') resources.forget(event.sessionId)
  })
  app.addHook('onClose', async () => unwatch())
  const pending = { count: 0, most: maxPending }
  const parts = { ctx, engine, resources, links: iceLinks(iceServers), pending, base: nodeUrl.replace(/\/$/, '') }
  for (const door of [whipDoor, whepDoor].map((make) => make({ ...options, ctx, peerOf }))) {
    await app.register(
      async (scope) => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser([SDP, FRAGMENT], { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
        scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
        openDoor(scope, parts, door)
      },
      { prefix: door.prefix },
    )
  }
}
