import type { KeyPart } from './cursor.ts'

/** The order of a list that is held whole in memory. The parts of a key are numbers, or text of ASCII. */
export interface WholeOrder<R> {
  readonly direction: 'asc' | 'desc'
  readonly keyOf: (row: R) => KeyPart[]
}

/**
 * At most `limit` rows in order after `position`, whose row may be gone; from the start when `position` is empty.
 * Use it only for lists that are bounded to a few hundred rows.
 */
export function rowsAfter<R>(
  rows: readonly R[],
  { direction, keyOf }: WholeOrder<R>,
  position: readonly KeyPart[],
  limit: number,
): R[] {
  const sign = direction === 'asc' ? 1 : -1
  const compare = (a: readonly KeyPart[], b: readonly KeyPart[]): number => sign * compareKeys(a, b)
  const behind = rows.filter((row) => position.length === 0 || compare(keyOf(row), position) > 0)
  return behind.toSorted((a, b) => compare(keyOf(a), keyOf(b))).slice(0, limit)
}

function compareKeys(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? ''
    if (left !== right) return (left ?? '') < right ? -1 : 1
  }
  return 0
}
