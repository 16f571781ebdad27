import type { FastifyInstance } from 'fastify'
import { repeat } from '../../../base/repeat.ts'
import { err } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { closeSession } from '../../../commands/sessions/close.ts'
import { RequestAccess } from '../../../commands/sessions/requestAccess.ts'
import { sendPreflight } from '../media/cors.ts'
import { reportRoute } from '../media/playerReport.ts'
import type { PeerOf } from '../peer.ts'
import { plainErrorHandler } from '../media/refusal.ts'
import type { FastPathOptions } from '../fastPath.ts'
import type { DistributionViewers } from './admissions.ts'
import { CACHE_LOG, countLog } from './cacheLog.ts'
import { FeedAdmissions } from './feedAdmissions.ts'
import { NO_TICKET } from './opening.ts'
import { type CheckRequest, checkTicket } from './check.ts'
import { type HlsFastPaths, hlsFastPaths } from './fastPath.ts'
import { MASTER, type MasterRequest, sendMaster } from './master.ts'
import { type MediaRequest, sendMedia } from './media.ts'
import {
  HLS_CHECK,
  HLS_MEDIA,
  HLS_REPORT,
  type HlsParts,
  type HlsRoute,
  type HlsRouteOptions,
  type SharedHls,
} from './parts.ts'
import { movedNode } from './movedNode.ts'
import { RemoteMedia } from './remoteMedia.ts'
import { LatestPlaylists, SharedPlaylists } from './sharedPlaylists.ts'
import { Tickets } from '../media/tickets.ts'
import {
  sendThumbnail,
  sendTicketThumbnail,
  THUMBNAIL,
  TICKET_THUMBNAIL,
  type TicketThumbnailRequest,
} from './thumbnail.ts'
import { HlsViewers, SWEEP_MS, takeBytes } from './viewers.ts'

/** What both kinds of viewers need, once for a server. */
export function sharedHls(ctx: Pick<Context, 'clock' | 'policy'>, options: HlsRouteOptions): SharedHls {
  const { key, nodeUrl, fetchFromNode, memory, refuseShared, isReporting } = options
  const remote = new RemoteMedia(ctx.clock, fetchFromNode, memory)
  const tickets = new Tickets(key, ctx.clock, { region: ctx.policy.region, nodeUrl })
  return { tickets, remote, refuseShared, isReporting }
}

/**
 * HLS: everything under `/hls`, with a fast path for most of its requests. A master playlist names the media playlists by
 * addresses with a ticket. Everything else is named relative to them, so playlists and pieces are the same bytes for all
 * viewers. The master playlists of feeds are here; those of distributions are with the other routes of channels.
 */
export async function hlsRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: HlsRouteOptions & SharedHls & FastPathOptions & { readonly distributions: DistributionViewers },
): Promise<HlsFastPaths> {
  const { clock, log } = ctx
  const parts: HlsParts = {
    ...options,
    ctx,
    peerOf,
    viewers: new HlsViewers(clock),
    access: new RequestAccess(ctx),
  }
  const route = routeOf(parts, options.distributions)
  const sweeping = repeat({ clock, log, name: 'end idle HLS sessions', everyMs: SWEEP_MS }, () => sweep(parts))
  app.addHook('onClose', () => sweeping.stop())
  await app.register(async (scope) => {
    scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
    for (const path of [MASTER, THUMBNAIL, TICKET_THUMBNAIL, HLS_MEDIA])
      scope.options(path, (request, reply) => sendPreflight(request, reply, 'GET, HEAD, OPTIONS'))
    scope.get<MasterRequest>(MASTER, (request, reply) => sendMaster(parts, request, reply))
    scope.get<MasterRequest>(THUMBNAIL, (request, reply) => sendThumbnail(parts, request, reply))
    scope.get<TicketThumbnailRequest>(TICKET_THUMBNAIL, (request, reply) => sendTicketThumbnail(parts, request, reply))
    scope.post(CACHE_LOG, (request, reply) => countLog(parts, options.distributions, request, reply))
    scope.get<CheckRequest>(HLS_CHECK, (request, reply) => checkTicket(route, request, reply))
    scope.options(HLS_REPORT, (request, reply) => sendPreflight(request, reply, 'POST, OPTIONS'))
    reportRoute(scope, ctx, HLS_REPORT, (params, { socket }, { raw }) => {
      // The report costs the viewer nothing: its bytes are not those of the next request on this connection.
      raw.once('close', () => takeBytes(socket))
      return sessionOf(parts, params)
    })
    scope.get<MediaRequest>(HLS_MEDIA, (request, reply) => sendMedia(route, request, reply))
  })
  return hlsFastPaths(route, options)
}

/** The kind of a ticket says who decides. */
function routeOf(parts: HlsParts, distributions: DistributionViewers): HlsRoute {
  const { ctx, peerOf, tickets, remote, memory } = parts
  const feeds = new FeedAdmissions(parts)
  return {
    clock: ctx.clock,
    isProxy: ctx.isProxy,
    peerOf,
    tickets,
    remote,
    memory,
    playlists: new SharedPlaylists(),
    latest: new LatestPlaylists(ctx.clock),
    async admit(ticket, stream, request) {
      const read = tickets.read(ticket, stream)
      if (read === null) return err(NO_TICKET)
      return read.kind === 'session' ? feeds.admit(read, request) : distributions.admit(read, request)
    },
    peek(ticket, stream, request) {
      const read = tickets.read(ticket, stream)
      if (read === null) return null
      return read.kind === 'session' ? feeds.peek(read, request) : distributions.peek(read, request)
    },
    nodeFor: (request, ticket, stream, isPlaylist) =>
      movedNode(parts, request, tickets.read(ticket, stream), isPlaylist),
    async forNode(stream, rendition, region) {
      return (await feeds.forNode(stream, rendition, region)) ?? distributions.forNode(stream, rendition, region)
    },
  }
}

/** The session of a ticket at this node. Its player may report when it is over, so it is not looked for here. */
function sessionOf(
  { tickets, viewers }: HlsParts,
  { ticket, stream = '' }: Readonly<Record<string, string>>,
): string | null {
  const read = tickets.read(ticket, stream)
  if (read?.kind !== 'session') return null
  return viewers.find(read.sessionId)?.sessionId ?? read.sessionId
}

/**
 * Ends the sessions of players that left: HLS has no message for leaving. Thousands leave together, so the store writes their ends
 * together, and none waits for the one before it.
 */
async function sweep({ ctx, viewers, remote, sessionMs }: HlsParts): Promise<void> {
  remote.sweep()
  for (const viewer of viewers.idle(sessionMs())) {
    viewers.forget(viewer)
    viewer.cut()
    void closeSession(ctx, viewer.sessionId, 'left')
  }
}
