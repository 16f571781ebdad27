import type { PieceKey } from '../../../core/hls/facts.ts'
import { kindOf } from '../../../core/hls/numbers.ts'

export type Piece = Pick<PieceKey, 'kind' | 'name'>

/** The piece with this file name, or null. */
export function pieceOf(name: string): Piece | null {
  const kind = kindOf(name)
  return kind === null ? null : { kind, name }
}

/** Whether a rendition may have this name. It becomes a part of an address at another node, so it holds no path. */
export const isRendition = (name: string): boolean => /^[\w-]{1,64}$/.test(name)
