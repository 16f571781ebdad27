import type { Problems } from './problems.ts'

const NAME_MAX = 128

/** What is wrong with the name of a stream, a tracking id or a `jti`; null: nothing. Characters are code points. */
export function nameProblem(name: string): string | null {
  const tooLong = name.length > NAME_MAX && codePoints(name) > NAME_MAX
  if (name.length === 0 || tooLong) return `must have 1 to ${NAME_MAX} characters`
  return plainTextProblem(name)
}

/** Counts without building an array of the characters. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Why a database or a page cannot hold a text; null: both can. */
export function plainTextProblem(text: string): string | null {
  if (/\p{Cc}/u.test(text)) return 'must not contain control characters'
  return text.isWellFormed() ? null : 'must be well-formed Unicode (it has half of a surrogate pair)'
}

/** Checks for text that a database and a page can hold. */
export function checkPlainText(path: string, value: string | undefined, problems: Problems): void {
  const problem = value === undefined ? null : plainTextProblem(value)
  if (problem !== null) problems.add(path, problem)
}

/** Checks a display name: plain text with at least one visible character. */
export function checkLabel(path: string, value: string | undefined, problems: Problems): void {
  checkPlainText(path, value, problems)
  if (value !== undefined && !problems.has(path) && !isVisible(value)) {
    problems.add(path, 'must have a character that can be seen')
  }
}

/** White space and formatting characters are invisible. */
const isVisible = (text: string): boolean => /[^\s\p{Z}\p{Cf}]/u.test(text)
