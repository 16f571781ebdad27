import { endShared } from '../../../commands/sessions/endShared.ts'
import type { RequestPlace } from '../../../commands/sessions/requestAccess.ts'
import { TICKET_SHARED } from '../../../core/access/refusals.ts'
import type { RenditionFacts } from '../../../core/hls/facts.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { Piece } from './names.ts'
import type { HlsParts } from './parts.ts'
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

/** Counts the request for a playlist. False: the viewer's ticket is in use by several players. */
export const reloadsAlone = (
  { refuseShared, ctx }: HlsParts,
  { budget }: HlsViewer,
  rendition: string,
  { partSeconds, targetSeconds }: RenditionFacts,
): boolean => !refuseShared() || budget.reload(rendition, partSeconds ?? targetSeconds, ctx.clock.monotonic())

/** Ends the session of a shared ticket, and cuts what is being sent. */
export function refuseSharing({ ctx, viewers }: HlsParts, { sessionId }: HlsViewer, from: RequestPlace): HttpRefusal {
  viewers.refuseShared(sessionId)
  endShared(ctx, sessionId, from)
  return SHARED
}
