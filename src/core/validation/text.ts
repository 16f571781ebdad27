import type { Problems } from './problems.ts'

/** Checks for text that a database and a page can hold. */
export function checkPlainText(path: string, value: string | undefined, problems: Problems): void {
  if (value === undefined) return
  if (/\p{Cc}/u.test(value)) problems.add(path, 'must not contain control characters')
  else if (!value.isWellFormed()) problems.add(path, 'must be well-formed Unicode (it has half of a surrogate pair)')
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
