import type { Result } from '../../base/result.ts'
import type { BodyReader } from './bodyReader.ts'

/**
 * A list in canonical form without duplicates, in the order of the body; undefined when the body has none. Entries that do not
 * parse are reported with their index.
 */
export function readEach<N extends string>(
  body: BodyReader<{ readonly [name in N]?: readonly string[] | null }>,
  name: N,
  parse: (text: string) => Result<string, string>,
): string[] | undefined {
  if (!body.names(name)) return undefined
  const seen = new Set<string>()
  for (const { at, item } of body.items(name)) {
    const parsed = parse(item as string)
    if (parsed.ok) seen.add(parsed.value)
    else body.problems.add(at, parsed.error)
  }
  return [...seen]
}
