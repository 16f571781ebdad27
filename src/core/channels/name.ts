import { checkLabel } from '../validation/text.ts'
import type { BodyReader } from '../validation/bodyReader.ts'

/** Parses a display name. */
export function readName(body: BodyReader<{ name?: string }>): string | undefined {
  const name = body.value('name')
  checkLabel(`${body.at}name`, name, body.problems)
  return name
}
