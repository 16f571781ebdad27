import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey, parseAddress } from '../../../core/access/address.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { refuseHls } from './answering.ts'
import { admittedViewer } from './opening.ts'
import { type HlsParts, requestPlaceOf } from './parts.ts'
import { refuseSharing } from './sharing.ts'

export type CheckRequest = { Params: { ticket: string; stream: string } }

/** A cache keeps the answer this long, so it serves a revoked viewer no longer. */
const CHECK_SECONDS = 1

const NOT_A_CACHE: HttpRefusal = { status: 403, text: 'Forbidden: only proxies in server.trustedProxies may ask' }

/**
 * Answers a cache that has a piece and asks whether a viewer may have it: 204, or why not. The address of the viewer is in
 * `X-Forwarded-For`. The request counts as one of the viewer's.
 */
export async function checkTicket(
  parts: HlsParts,
  request: FastifyRequest<CheckRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ctx, tickets, refuseShared } = parts
  const { ticket, stream } = request.params
  const asking = parseAddress(request.socket.remoteAddress ?? '')
  if (asking === null || !ctx.isProxy(asking)) return refuseHls(reply, NOT_A_CACHE)
  const from = requestPlaceOf(parts, request.raw)
  const viewer = await admittedViewer(parts, tickets.read(ticket, stream), from)
  if (!viewer.ok) return refuseHls(reply, shortly(viewer.error))
  const nowMs = ctx.clock.monotonic()
  if (refuseShared() && !viewer.value.budget.seen(addressKey(from.address), nowMs))
    return refuseHls(reply, shortly(refuseSharing(parts, viewer.value, request, reply)))
  viewer.value.lastAskedMs = nowMs
  return reply.code(204).header('Cache-Control', `public, max-age=${CHECK_SECONDS}`).send()
}

/** A player that goes on asking costs a decision a second. */
const shortly = (refused: HttpRefusal): HttpRefusal =>
  refused.status === 401 || refused.status === 403 ? { ...refused, cacheSeconds: CHECK_SECONDS } : refused
