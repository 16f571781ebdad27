import type { FastifyReply, FastifyRequest } from 'fastify'
import { countCacheLog } from '../../../commands/sessions/cacheLog.ts'
import { parseAddress } from '../../../core/access/address.ts'
import { readCacheLogBatch } from '../../../core/usage/cacheLog.ts'
import { type HttpRefusal, sendRefusal } from '../media/refusal.ts'
import type { SessionTicket } from '../media/tickets.ts'
import type { DistributionViewers } from './admissions.ts'
import type { HlsParts } from './parts.ts'
import { isPassedOn } from '../peer.ts'
import type { ViewerRequest } from '../viewerRequest.ts'

/** For caches: what they sent to viewers, from their logs. */
export const CACHE_LOG = '/hls/cache-log'

const NOT_A_CACHE: HttpRefusal = {
  status: 403,
  text: 'Forbidden: only caches in server.trustedProxies and hls.reportingCaches may report',
}
const NOT_ITSELF: HttpRefusal = {
  status: 403,
  text: 'Forbidden: a cache must report by itself. This request was passed on by it',
}

/** Counts a range of a cache's log, once. Tickets that are forged or of another installation are left out. */
export async function countLog(
  parts: HlsParts,
  distributions: DistributionViewers,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const refused = refuseReport(parts, request)
  if (refused !== null) return sendRefusal(reply, refused)
  const batch = readCacheLogBatch(request.body)
  if (!batch.ok) return sendRefusal(reply, { status: 400, text: `Bad request: ${batch.error}` })
  const { log: id, from, to, sent } = batch.value
  const genuine = sent.flatMap(({ ticket, stream, bytes }) => {
    const read = parts.tickets.read(ticket, stream)
    return read === null ? [] : [{ read, bytes }]
  })
  const ofSessions = genuine.flatMap(({ read, bytes }) =>
    read.kind === 'session' ? [{ sessionIds: sessionsOf(parts, read), bytesOut: bytes }] : [],
  )
  const served = await Promise.all(
    genuine.flatMap(({ read, bytes }) => (read.kind === 'grant' ? [distributions.servedByCache(read, bytes)] : [])),
  )
  const ofDistributions = served.filter((one) => one !== null)
  const counted = await countCacheLog(parts.ctx, { id, from, to }, ofSessions, ofDistributions)
  const { isCounted, position } = counted
  const deleted = isCounted ? served.length - ofDistributions.length : 0
  const ignored = { forged: sent.length - genuine.length, unknown: counted.unknown + deleted }
  if (isCounted) noteIgnored(parts, ignored)
  return reply.header('Cache-Control', 'no-store').send({ isCounted, position, ignored })
}

function refuseReport({ ctx, isReporting }: HlsParts, { socket, headers }: FastifyRequest): HttpRefusal | null {
  const asking = parseAddress(socket.remoteAddress ?? '')
  if (asking === null || !ctx.isProxy(asking) || !isReporting(asking)) return NOT_A_CACHE
  return isPassedOn(headers) ? NOT_ITSELF : null
}

/** The sessions that bytes of a ticket count for, the preferred one first: it may have another one at this node. */
function sessionsOf({ viewers }: HlsParts, { sessionId }: SessionTicket): string[] {
  const here = viewers.find(sessionId)?.sessionId
  return here === undefined || here === sessionId ? [sessionId] : [here, sessionId]
}

/** No line of the log contains a ticket. */
function noteIgnored({ ctx }: HlsParts, ignored: Readonly<Record<'forged' | 'unknown', number>>): void {
  for (const reason of ['forged', 'unknown'] as const) ctx.sessions.counts.cacheTickets.add(reason, ignored[reason])
  if (ignored.forged + ignored.unknown > 0)
    ctx.sampled.refusals.warn(ignored, 'a cache reported tickets that count for no session')
}

/**
 * Whether a cache reports what it sends on this request. Then Sluice does not count its own answer: the log has it, and it
 * may be for many viewers. Master playlists are not kept by caches, and are not in their logs.
 */
export const isReported = (
  { isReporting, peerOf }: Pick<HlsParts, 'isReporting' | 'peerOf'>,
  { url, socket }: ViewerRequest,
): boolean => url?.startsWith('/hls/~') === true && isReporting(peerOf(socket.remoteAddress, {}))
