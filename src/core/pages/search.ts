import { err, ok, type Result } from '../../base/result.ts'
import { codePoints } from '../validation/text.ts'

/** A part of a stream's name is no longer than the name. */
const SEARCH_MAX = 128

/** Parses a parameter that finds streams by a part of their name. */
export function readSearch(text: string): Result<{ search: string }, string> {
  if (text === '' || codePoints(text) > SEARCH_MAX) return err(`must be 1 to ${SEARCH_MAX} characters`)
  return text.includes('\0') || !text.isWellFormed() ? err('must be plain text') : ok({ search: text })
}
