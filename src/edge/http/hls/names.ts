import type { PieceKey } from '../../../core/hls/facts.ts'
import { kindOf } from '../../../core/hls/numbers.ts'

export type Piece = Pick<PieceKey, 'kind' | 'name'>

/** The piece with this file name, or null. */
export function pieceOf(name: string): Piece | null {
  const kind = kindOf(name)
  return kind === null ? null : { kind, name }
}

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
