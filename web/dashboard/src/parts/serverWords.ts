import { words } from '../words/words.ts'

const text = words.problems

/** How the server describes what a schema allows, and how the page says it to a person. */
const PHRASES: readonly (readonly [RegExp, (...numbers: readonly number[]) => string])[] = [
  [/a string of (\d+) to (\d+) characters/, (from = 0, to = 0) => text.characters(from, to)],
  [/a list of (\d+) to (\d+) entries; it has (\d+)/, (from = 0, to = 0, has = 0) => text.entries(from, to, has)],
  [/a whole number from (-?\d+) to (\d+)/, (from = 0, to = 0) => words.tokens.checks.whole(from, to)],
  [/a date and time with an offset/, () => text.dateTime],
]

/** The server speaks to programs about types. What it says of a single field, said to a person. */
export function inWords(error: string): string {
  if (!/^(?:must be|is required:)/.test(error)) return error
  for (const [phrase, say] of PHRASES) {
    const found = phrase.exec(error)
    if (found) return say(...found.slice(1).map(Number))
  }
  return error
}
