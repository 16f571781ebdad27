import type { KeyPart } from './cursor.ts'

/** How a list that is held whole is ordered. The parts of a key are numbers, or text of ASCII. */
export interface WholeOrder<R> {
  readonly direction: 'asc' | 'desc'
  readonly keyOf: (row: R) => KeyPart[]
}

/**
 * At most `limit` rows in order, from behind `position`, which need not be there any more; from the start when it is
 * empty. For lists that are bounded to a few hundred rows, which other lists are not.
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
