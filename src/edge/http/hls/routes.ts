import type { FastifyInstance } from 'fastify'
import { repeat } from '../../../base/repeat.ts'
import type { Context } from '../../../commands/context.ts'
import { closeSession } from '../../../commands/sessions/close.ts'
import { RequestAccess } from '../../../commands/sessions/requestAccess.ts'
import { preflight } from '../media/cors.ts'
import type { PeerOf } from '../peer.ts'
import { plainErrorHandler } from '../media/refusal.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import { type CheckRequest, checkTicket } from './check.ts'
import { hlsFastPath } from './fastPath.ts'
import { MASTER, type MasterRequest, sendMaster } from './master.ts'
import { type MediaRequest, sendMedia } from './media.ts'
import { HLS_CHECK, HLS_MEDIA, type HlsParts, type HlsRouteOptions } from './parts.ts'
import { RemoteMedia } from './remoteMedia.ts'
import { SharedPlaylists } from './sharedPlaylists.ts'
import { Tickets } from '../media/tickets.ts'
import { HlsViewers } from './viewers.ts'

const SWEEP_MS = 1000

/**
 * HLS: everything under `/hls`, with a fast path for most of its requests. The master playlist names the media playlist
 * by an address with a ticket. Everything else is named relative to it, so playlists and pieces are the same bytes for
 * all viewers. The first request with a ticket opens a session.
 */
export async function hlsRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: HlsRouteOptions & FastPathOptions,
): Promise<FastPath> {
  const { clock, log } = ctx
  const parts: HlsParts = {
    ...options,
    ctx,
    peerOf,
    viewers: new HlsViewers(clock),
    tickets: new Tickets(options.key, clock),
    access: new RequestAccess(ctx),
    playlists: new SharedPlaylists(() => ({ window: options.listSegments() })),
    remote: new RemoteMedia(clock, options.fetchFromNode),
  }
  const sweeping = repeat({ clock, log, name: 'end idle HLS sessions', everyMs: SWEEP_MS }, () => sweep(parts))
  app.addHook('onClose', () => sweeping.stop())
  await app.register(async (scope) => {
    scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, HLS_MEDIA])
      scope.options(path, (_request, reply) => reply.code(204).headers(preflight('GET, HEAD, OPTIONS')).send())
    scope.get<MasterRequest>(MASTER, (request, reply) => sendMaster(parts, request, reply))
    scope.get<CheckRequest>(HLS_CHECK, (request, reply) => checkTicket(parts, request, reply))
    scope.get<MediaRequest>(HLS_MEDIA, (request, reply) => sendMedia(parts, request, reply))
  })
  return hlsFastPath(parts, options)
}

/** Ends the sessions of players that left: HLS has no message for leaving. */
async function sweep({ ctx, viewers, remote, sessionMs }: HlsParts): Promise<void> {
  remote.sweep()
  for (const viewer of viewers.idle(sessionMs())) {
    viewers.forget(viewer)
    viewer.cut()
    await closeSession(ctx, viewer.sessionId, 'left')
  }
}
