import { err, ok, type Result } from '../../base/result.ts'

const LIMIT_MAX = 100
export const LIMIT_DEFAULT = 20

/** Parses `limit` from a query. The error is the text of `invalid_limit`; nothing is clamped. */
export function readLimit(text: unknown): Result<number, string> {
  if (text === undefined) return ok(LIMIT_DEFAULT)
  const limit = typeof text === 'string' && /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  const inRange = limit >= 1 && limit <= LIMIT_MAX
  return inRange ? ok(limit) : err(`limit must be sent once, as a whole number from 1 to ${LIMIT_MAX}`)
}

/** One page. `last` is the sort key to continue after; null on the last page. */
export interface Page<T, K> {
  data: T[]
  hasMore: boolean
  last: K | null
}

/** Makes a page of rows that were fetched with `limit + 1`. The extra row only shows that there is another page. */
export function pageOf<T, K>(rows: readonly T[], limit: number, keyOf: (row: T) => K): Page<T, K> {
  const data = rows.slice(0, limit)
  const final = data.at(-1)
  const hasMore = rows.length > limit
  return { data, hasMore, last: hasMore && final !== undefined ? keyOf(final) : null }
}
