import type { FastifyReply, FastifyRequest } from 'fastify'
import { endShared } from '../../../commands/sessions/endShared.ts'
import { TICKET_SHARED } from '../../../core/access/refusals.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { Piece } from './names.ts'
import { type HlsParts, requestPlaceOf } from './parts.ts'
import type { HlsViewer } from './viewers.ts'

export const SHARED: HttpRefusal = { status: TICKET_SHARED.status, text: TICKET_SHARED.text }

/**
 * Counts the use of a piece. False: the viewer's ticket is in use by several players. Init segments hold no media, and
 * players fetch them as often as they like.
 *
 * @param share how much of the piece is sent, 0 to 1
 */
export const usesAlone = (
  { refuseShared, ctx }: HlsParts,
  { budget }: HlsViewer,
  rendition: string,
  { kind, name }: Piece,
  share = 1,
): boolean => !refuseShared() || kind === 'init' || budget.use(rendition, name, share, ctx.clock.monotonic())

/** Counts a request for a playlist. False: the viewer's ticket is in use by several players. */
export const reloadsAlone = (
  { refuseShared, ctx }: HlsParts,
  { budget }: HlsViewer,
  rendition: string,
  stepSeconds: number,
): boolean => !refuseShared() || budget.reload(rendition, stepSeconds, ctx.clock.monotonic())

/** Ends the session of a shared ticket, and cuts what is being sent, but for this answer. */
export function refuseSharing(
  parts: HlsParts,
  viewer: HlsViewer,
  request: FastifyRequest,
  reply: FastifyReply,
): HttpRefusal {
  viewer.spare(reply.raw)
  parts.viewers.end(viewer, SHARED)
  endShared(parts.ctx, viewer.sessionId, requestPlaceOf(parts, request.raw))
  return SHARED
}
