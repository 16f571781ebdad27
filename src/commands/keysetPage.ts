import { err, ok, type Result } from '../base/result.ts'
import { failure, type Failure } from '../core/errors.ts'
import { type CursorScope, decodeCursor, encodeCursor, type KeyPart, type Mac } from '../core/page/cursor.ts'
import { pageOf } from '../core/page/page.ts'

export interface KeysetPage<T> {
  data: T[]
  pagination: { hasMore: boolean; cursor?: string }
}

/** Where a list goes on; empty at its start. Refuses a cursor that was not made for this list and these filters. */
export function startOf(scope: CursorScope, cursor: string | undefined, mac: Mac): Result<KeyPart[], Failure> {
  const key = cursor === undefined ? ok([]) : decodeCursor(cursor, scope, mac)
  return key.ok ? key : err(failure('bad_request', 'invalid_cursor: start again without a cursor'))
}

/** The page of rows that were read with `limit + 1`, and the cursor of the next one when there is one. */
export function keysetPage<R, T>(
  rows: readonly R[],
  list: { scope: CursorScope; limit: number; mac: Mac; keyOf: (row: R) => KeyPart[]; toEntry: (row: R) => T },
): KeysetPage<T> {
  const { data, hasMore, last } = pageOf(rows, list.limit, list.keyOf)
  const next = last === null ? {} : { cursor: encodeCursor(list.scope, last, list.mac) }
  return { data: data.map(list.toEntry), pagination: { hasMore, ...next } }
}
