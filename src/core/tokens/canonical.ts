import { parseAddressRule } from '../access/address.ts'
import { parseCountry } from '../access/country.ts'
import { parseOriginRule } from '../access/origin.ts'
import {
  checkStreamName,
  compilePattern,
  PATTERN_STEPS_MAX,
  type StreamEntry,
  stepsOf,
  TOO_MANY_STEPS,
} from '../access/streamName.ts'
import { ok, type Result } from '../../base/result.ts'
import type { BodyReader } from '../validation/bodyReader.ts'
import { type Problems, shown } from '../validation/problems.ts'
import { readEach } from '../validation/readEach.ts'

/**
 * Brings the lists of a token into canonical form. Entries that do not parse are added to the problems, with their
 * index.
 */

type Parse = (text: string) => Result<string, string>

const text = (parsed: Result<{ text: string }, string>): Result<string, string> =>
  parsed.ok ? ok(parsed.value.text) : parsed

const origin: Parse = (entry) => text(parseOriginRule(entry))
const address: Parse = (entry) => text(parseAddressRule(entry))

const PARSERS = {
  allowedOrigins: origin,
  updateAllowedOrigins: origin,
  allowedIpAddresses: address,
  updateAllowedIpAddresses: address,
  allowedCountries: parseCountry,
  updateAllowedCountries: parseCountry,
  deniedCountries: parseCountry,
  updateDeniedCountries: parseCountry,
} as const satisfies Record<string, Parse>

type Lists = { readonly [N in keyof typeof PARSERS]?: readonly string[] | null }

export const canonicalList = (body: BodyReader<Lists>, name: keyof Lists): string[] | undefined =>
  readEach(body, name, PARSERS[name])

interface Streams {
  streams?: readonly StreamInput[] | null
  addTokenStreams?: readonly StreamInput[] | null
}

interface StreamInput {
  streamName: string
  isRegex?: boolean | null
}

/** Stream entries in the order of the body. A pattern that does not compile and a repeated name are problems. */
export function canonicalStreams(body: BodyReader<Streams>, name: keyof Streams): StreamEntry[] {
  const entries: StreamEntry[] = []
  const unique = uniqueNames(body.problems)
  let steps = 0
  for (const { at, item } of body.items(name)) {
    const { streamName, isRegex } = item
    const path = `${at}.streamName`
    const pattern = isRegex === true ? compilePattern(streamName) : null
    if (pattern !== null) steps += stepsOf(pattern)
    if (steps > PATTERN_STEPS_MAX) {
      body.problems.add(name, `patterns ${TOO_MANY_STEPS}`)
      break
    }
    const wrong = pattern === null ? checkStreamName(streamName) : pattern.ok ? null : pattern.error
    if (wrong !== null) body.problems.add(path, wrong)
    else if (unique(path, streamName)) entries.push({ streamName, isRegex: isRegex === true })
  }
  return entries
}

interface Removals {
  removeTokenStreams?: readonly (string | { streamName: string })[] | null
}

/** The names to remove, in the order of the body. */
export function namesToRemove(body: BodyReader<Removals>): string[] {
  const unique = uniqueNames(body.problems)
  return body
    .items('removeTokenStreams')
    .map(({ at, item }) => ({ at, name: typeof item === 'string' ? item : item.streamName }))
    .filter(({ at, name }) => unique(at, name))
    .map(({ name }) => name)
}

function uniqueNames(problems: Problems): (path: string, name: string) => boolean {
  const seen = new Set<string>()
  return (path, name) => {
    if (seen.has(name)) problems.add(path, `${shown(name)} is listed twice; names are unique within a token`)
    return seen.size < seen.add(name).size
  }
}

/** The two country lists exclude each other. */
export function checkCountries(
  lists: { allowedCountries?: readonly string[]; deniedCountries?: readonly string[] },
  problems: Problems,
): void {
  if ((lists.allowedCountries?.length ?? 0) === 0 || (lists.deniedCountries?.length ?? 0) === 0) return
  problems.add('deniedCountries', 'allowedCountries and deniedCountries exclude each other; send only one of them')
}
