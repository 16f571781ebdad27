import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey, parseAddress } from '../../../core/access/address.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { refuseHls } from './answering.ts'
import type { HlsRoute } from './parts.ts'
import { SHARED } from './sharing.ts'
import { takeBytes } from './viewers.ts'

export type CheckRequest = { Params: { ticket: string; stream: string } }

/** A cache keeps the answer this long, so it serves a revoked viewer no longer. */
const CHECK_SECONDS = 1

const NOT_A_CACHE: HttpRefusal = { status: 403, text: 'Forbidden: only proxies in server.trustedProxies may ask' }

/**
 * Answers a cache that has a piece and asks whether a viewer may have it: 204, or why not. The address of the viewer is in
 * `X-Forwarded-For`. The request counts as one of the viewer's.
 */
export async function checkTicket(
  route: HlsRoute,
  request: FastifyRequest<CheckRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { isProxy, peerOf, clock } = route
  const { ticket, stream } = request.params
  const asking = parseAddress(request.socket.remoteAddress ?? '')
  if (asking === null || !isProxy(asking)) return refuseHls(reply, NOT_A_CACHE)
  // On a connection to a cache the next answer is another viewer's, and the check would count for that one.
  reply.raw.once('close', () => takeBytes(request.socket))
  const admitted = await route.admit(ticket, stream, request.raw)
  if (!admitted.ok) return refuseHls(reply, shortly(admitted.error))
  const { value: admission } = admitted
  const nowMs = clock.monotonic()
  const from = peerOf(request.socket.remoteAddress, request.headers)
  if (admission.refusesSharing && !admission.viewer.budget.seen(addressKey(from), nowMs)) {
    admission.endShared(reply.raw)
    return refuseHls(reply, shortly(SHARED))
  }
  admission.viewer.lastAskedMs = nowMs
  return reply.code(204).header('Cache-Control', `public, max-age=${CHECK_SECONDS}`).send()
}

/** A player that goes on asking costs a decision a second. */
const shortly = (refused: HttpRefusal): HttpRefusal =>
  refused.status === 401 || refused.status === 403 ? { ...refused, cacheSeconds: CHECK_SECONDS } : refused
