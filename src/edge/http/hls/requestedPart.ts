import type { TicketViewer } from './admissions.ts'

/** The part, or the whole segment, that a playlist request waits for. Null: it does not wait. */
export type RequestedPart = { readonly sequence: number; readonly part: number | null } | null

/**
 * The part that a player waits for: `_HLS_msn` and `_HLS_part` (draft-pantos-hls-rfc8216bis section 6.2.5.2). Null:
 * none.
 */
export function wantedPartOf(query: { _HLS_msn?: unknown; _HLS_part?: unknown }): RequestedPart | 'malformed' {
  const { _HLS_msn: msn, _HLS_part: part } = query
  if (msn === undefined) return part === undefined ? null : 'malformed'
  if (!isNumber(msn) || (part !== undefined && !isNumber(part))) return 'malformed'
  return { sequence: Number(msn), part: part === undefined ? null : Number(part) }
}

const isNumber = (text: unknown): text is string => typeof text === 'string' && /^\d{1,10}$/.test(text)

/**
 * The requested part, or one part later after an init segment, so that the playlist holds two new parts. video.js (VHS
 * 3.17) appends the init segment again with each playlist, until it has taken two parts from one playlist. Until then
 * it shows nothing before the next keyframe. A waiting player has three parts buffered, so waiting once costs nothing.
 */
export function withOneMore(
  viewer: TicketViewer | null,
  requested: RequestedPart | 'malformed',
): RequestedPart | 'malformed' {
  if (!viewer?.hasNewInit || requested === null || requested === 'malformed' || requested.part === null)
    return requested
  viewer.hasNewInit = false
  return { ...requested, part: requested.part + 1 }
}

/** The query of a playlist request that waits for this part. */
export function queryOf(requested: RequestedPart): string {
  if (requested === null) return ''
  const { sequence, part } = requested
  return `?_HLS_msn=${sequence}${part === null ? '' : `&_HLS_part=${part}`}`
}
