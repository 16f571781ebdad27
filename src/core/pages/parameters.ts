import { err, ok, type Result } from '../../base/result.ts'

/**
 * The parameters of a query that have one of these names. Names ignore case, and brackets behind them, with which many
 * clients write lists (`name[]`, `name[0]`); other parameters are ignored. A parameter that is repeated with one value
 * counts once; with several values it becomes a list.
 * @param query as a URL parser left it: a text, or a list of texts for a repeated parameter
 */
export function parametersOf<N extends string>(
  query: Record<string, unknown>,
  names: readonly N[],
): Partial<Record<N, string | string[]>> {
  const nameOf = new Map(names.map((name) => [name.toLowerCase(), name]))
  const given = new Map<N, Set<string>>()
  for (const [key, value] of Object.entries(query)) {
    const name = nameOf.get(key.toLowerCase().replace(/\[\d*\]$/, ''))
    if (name !== undefined) given.set(name, new Set([...(given.get(name) ?? []), ...textsOf(value)]))
  }
  const entries = [...given].map(([name, values]) => [name, oneOrAll([...values])])
  return Object.fromEntries(entries) as Partial<Record<N, string | string[]>>
}

const textsOf = (value: unknown): string[] => [value].flat().filter((text) => typeof text === 'string')

const oneOrAll = (values: string[]): string | string[] => (values.length === 1 ? (values[0] ?? values) : values)

/** The one of `words` that a text means, in any case. */
export const wordOf = <W extends string>(words: readonly W[], text: unknown): W | undefined =>
  typeof text === 'string' ? words.find((word) => word.toLowerCase() === text.toLowerCase()) : undefined

/** As `flagOf`, with the error of other text. */
export function readFlag(text: unknown): Result<boolean, string> {
  const flag = typeof text === 'string' ? flagOf(text) : undefined
  return flag === undefined ? err('must be true or false') : ok(flag)
}

/** `true` or `false` in any case, as Python and C# write them; undefined for other text. */
export function flagOf(text: string): boolean | undefined {
  const word = wordOf(['true', 'false'], text)
  return word === undefined ? undefined : word === 'true'
}
