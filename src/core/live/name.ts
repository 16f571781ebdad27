import { checkLabel } from '../tokens/canonical.ts'
import type { Sound } from '../tokens/shape.ts'

/** Reads a name that people may see. */
export function readName(body: Sound<{ name?: string }>): string | undefined {
  const name = body.value('name')
  checkLabel(`${body.at}name`, name, body.problems)
  return name
}
