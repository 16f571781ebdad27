import { err, ok, type Result } from '../base/result.ts'
import { failure, type Failure } from '../core/errors.ts'
import { type CursorScope, decodeCursor, encodeCursor, type KeyPart, type Mac } from '../core/pages/cursor.ts'
import { pageOf } from '../core/pages/page.ts'

export interface KeysetPage<T> {
  data: T[]
  pagination: { hasMore: boolean; cursor?: string }
}

/** A list with cursor pagination. Every list uses it, except that of tokens, which has page numbers. */
export interface KeysetList<R> {
  scope: CursorScope
  limit: number
  cursor: string | undefined
  /** Reads at most `limit` rows in order, after `position`; from the start if that is empty. */
  read(position: readonly KeyPart[], limit: number): Promise<R[]>
  /** The sort key of a row. `read` orders by it; it is unique and never changes. */
  keyOf(row: R): KeyPart[]
}

/** One page of a list. Refuses a cursor of another list or with other filters. */
export async function paginate<R>(mac: Mac, list: KeysetList<R>): Promise<Result<KeysetPage<R>, 'invalid_cursor'>> {
  const position = list.cursor === undefined ? ok([]) : decodeCursor(list.cursor, list.scope, mac)
  if (!position.ok) return position
  // One more row than requested, to see whether there are more.
  const rows = await list.read(position.value, list.limit + 1)
  const { data, hasMore, last } = pageOf(rows, list.limit, (row) => list.keyOf(row))
  const next = last === null ? {} : { cursor: encodeCursor(list.scope, last, mac) }
  return ok({ data, pagination: { hasMore, ...next } })
}

export const INVALID_CURSOR = 'This cursor is not one of this list with these filters: start again without it'

/** The page in the format of the token interface, each row converted by `toEntry`. */
export function mapPage<R, T>(
  page: Result<KeysetPage<R>, 'invalid_cursor'>,
  toEntry: (row: R) => T,
): Result<KeysetPage<T>, Failure> {
  if (!page.ok) return err(failure('bad_request', `invalid_cursor: ${INVALID_CURSOR}`))
  return ok({ ...page.value, data: page.value.data.map(toEntry) })
}

/** The position of a list that is ordered newest first by time and id. */
export function newestAfter([atMs, id]: readonly KeyPart[]): { after?: { atMs: number; id: string } } {
  return typeof atMs === 'number' && typeof id === 'string' ? { after: { atMs, id } } : {}
}
