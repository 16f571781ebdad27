import { TICKET_SHARED } from '../../../core/access/refusals.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { Admission } from './admissions.ts'
import type { Piece } from './names.ts'

export const SHARED: HttpRefusal = { status: TICKET_SHARED.status, text: TICKET_SHARED.text }

/**
 * Counts the use of a piece. False: the viewer's ticket is in use by several players. Init segments hold no media, and
 * players fetch them as often as they like.
 *
 * @param share how much of the piece is sent, 0 to 1
 * @param nowMs monotonic milliseconds
 */
export const usesAlone = (
  { refusesSharing, viewer }: Admission,
  rendition: string,
  { kind, name }: Piece,
  share: number,
  nowMs: number,
): boolean => !refusesSharing || kind === 'init' || viewer.budget.use(rendition, name, share, nowMs)

/** Counts a request for a playlist. False: the viewer's ticket is in use by several players. */
export const reloadsAlone = (
  { refusesSharing, viewer }: Admission,
  rendition: string,
  stepSeconds: number,
  nowMs: number,
): boolean => !refusesSharing || viewer.budget.reload(rendition, stepSeconds, nowMs)
