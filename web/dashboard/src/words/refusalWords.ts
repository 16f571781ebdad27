import { ownWords, words } from './words.ts'

type Say = (error: string) => string

/** How the server describes what a schema allows, and how the page says it to a person. */
const PHRASES: readonly (readonly [RegExp, (...numbers: readonly number[]) => string])[] = [
  [/a string of (\d+) to (\d+) characters/, (from = 0, to = 0) => words.problems.characters(from, to)],
  [
    /a list of (\d+) to (\d+) entries; it has (\d+)/,
    (from = 0, to = 0, has = 0) => words.problems.entries(from, to, has),
  ],
  [/a whole number from (-?\d+) to (\d+)/, (from = 0, to = 0) => words.tokens.checks.whole(from, to)],
  [/a date and time with an offset/, () => words.problems.dateTime],
]

/** The server speaks to programs about types. What it says of a single field, said to a person; null: something else. */
export function inWords(error: string): string | null {
  if (!/^(?:must be|is required:)/.test(error)) return null
  for (const [phrase, say] of PHRASES) {
    const found = phrase.exec(error)
    if (found) return say(...found.slice(1).map(Number))
  }
  return null
}

/** For a person, the refusal itself is enough: its kind stands before it for programs. */
const plain = (error: string): string =>
  error.replace(/^Unauthorized: (.)/, (_all, first: string) => first.toUpperCase())

let own: Promise<Say> | undefined

/** What says refusals of the server in the language of the page. Loaded with the first refusal: most pages meet none. */
export const refusalWords = (): Promise<Say> => (own ??= load())

async function load(): Promise<Say> {
  const say = await ownWords<Say>({
    de: async () => {
      const [{ sayRefusalIn }, { refusalsDe }] = await Promise.all([
        import('./refusalSentences.ts'),
        import('./refusalsDe.ts'),
      ])
      return sayRefusalIn(refusalsDe)
    },
  })
  return (error) => inWords(error) ?? say?.(error) ?? plain(error)
}
