import type { Piece } from '../../../media/hls/segments.ts'

/** The file name of a piece, in playlists and in requests. */
export function fileOf(piece: Piece): string {
  if (piece.kind === 'init') return `init-${piece.run}.mp4`
  if (piece.kind === 'segment') return `segment-${piece.sequence}.m4s`
  return `part-${piece.sequence}-${piece.part}.m4s`
}

/** The piece with this file name, or null. */
export function pieceOf(file: string): Piece | null {
  const [, kind, first, second] = /^(init|segment|part)-(\d{1,9})(?:-(\d{1,9}))?\.(?:mp4|m4s)$/.exec(file) ?? []
  const [number, part] = [Number(first), second === undefined ? null : Number(second)]
  const piece = madeOf(kind, number, part)
  return piece !== null && fileOf(piece) === file ? piece : null
}

function madeOf(kind: string | undefined, number: number, part: number | null): Piece | null {
  if (kind === 'init') return { kind, run: number }
  if (kind === 'segment') return { kind, sequence: number }
  return kind === 'part' && part !== null ? { kind, sequence: number, part } : null
}

/**
 * The part that a player waits for: `_HLS_msn` and `_HLS_part` (draft-pantos-hls-rfc8216bis section 6.2.5.2). Null:
 * none.
 */
export function wantedPartOf(query: {
  _HLS_msn?: unknown
  _HLS_part?: unknown
}): { sequence: number; part: number | null } | null | 'malformed' {
  const { _HLS_msn: msn, _HLS_part: part } = query
  if (msn === undefined) return part === undefined ? null : 'malformed'
  if (!isNumber(msn) || (part !== undefined && !isNumber(part))) return 'malformed'
  return { sequence: Number(msn), part: part === undefined ? null : Number(part) }
}

const isNumber = (text: unknown): text is string => typeof text === 'string' && /^\d{1,9}$/.test(text)
