import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js'
import { err, ok, type Result } from '../../base/result.ts'
import type { StreamEntry } from '../tokens/types.ts'

/** A compiled RE2 pattern. */
export interface Pattern {
  readonly text: string
  /** Whether the pattern matches the whole name, whatever anchors and alternations it has. Linear in the name. */
  matches(name: string): boolean
}

/** The `streams` of a token, ready to be asked. */
export interface CompiledStreams {
  readonly exact: ReadonlySet<string>
  readonly patterns: readonly Pattern[]
}

const STREAM_NAME_MAX = 128

/** Instructions of a compiled pattern. At 500 the first use costs at most some 50 ms, at 1,900 it was 220 ms. */
const PROGRAM_SIZE_MAX = 500

/** Compiled patterns that are kept, least recently used out first. */
export const PATTERN_CACHE_MAX = 2_000

/**
 * Bytes that one pattern's automaton may take (the library's own estimate and own default: 8 MiB). The largest patterns
 * that are allowed settle in half of this; one that needs more is run without an automaton, slower but still linear.
 */
const AUTOMATON_BYTES = 1_048_576

/** The name that was found sound last: on its way through a decision a name is looked at several times. */
let sound = ''

/** What is wrong with a stream name, or null. Characters are code points. */
export function checkStreamName(name: string): string | null {
  if (name === sound && name !== '') return null
  const problem = problemOf(name)
  if (problem === null) sound = name
  return problem
}

function problemOf(name: string): string | null {
  const tooLong = name.length > STREAM_NAME_MAX && codePoints(name) > STREAM_NAME_MAX
  if (name.length === 0 || tooLong) return `must have 1 to ${STREAM_NAME_MAX} characters`
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters'
  return name.isWellFormed() ? null : 'must be well-formed Unicode (it has half of a surrogate pair)'
}

/** Compiles an RE2 pattern. Pure, so the result is remembered. The error says what is wrong and where. */
export function compilePattern(text: string): Result<Pattern, string> {
  const known = compiled.get(text)
  if (known !== undefined) return ok(remember(text, known))
  const invalid = checkStreamName(text)
  if (invalid !== null) return err(invalid)
  const fresh = compileFresh(text)
  return fresh.ok ? ok(remember(text, fresh.value)) : fresh
}

/** Compiles the entries of a token; all errors at once, by index. */
export function compileStreams(
  entries: readonly StreamEntry[],
): Result<CompiledStreams, { index: number; message: string }[]> {
  const exact = new Set<string>()
  const patterns: Pattern[] = []
  const errors: { index: number; message: string }[] = []
  for (const [index, entry] of entries.entries()) {
    const message = entry.isRegex ? addPattern(patterns, entry.streamName) : addName(exact, entry.streamName)
    if (message !== null) errors.push({ index, message })
  }
  return errors.length === 0 ? ok({ exact, patterns }) : err(errors)
}

/** Whether one of the entries covers this name. A name that no stream can have is covered by none, not even by `.*`. */
export function covers(streams: CompiledStreams, name: string): boolean {
  if (streams.exact.has(name)) return true
  if (streams.patterns.length === 0 || checkStreamName(name) !== null) return false
  return streams.patterns.some((pattern) => pattern.matches(name))
}

function addName(exact: Set<string>, name: string): string | null {
  const message = checkStreamName(name)
  if (message === null) exact.add(name)
  return message
}

function addPattern(patterns: Pattern[], text: string): string | null {
  const pattern = compilePattern(text)
  if (!pattern.ok) return pattern.error
  patterns.push(pattern.value)
  return null
}

const compiled = new Map<string, Pattern>()

/** A `Map` iterates in order of insertion, so inserting again on use keeps the oldest first. */
function remember(text: string, pattern: Pattern): Pattern {
  compiled.delete(text)
  compiled.set(text, pattern)
  if (compiled.size > PATTERN_CACHE_MAX) {
    for (const oldest of compiled.keys()) {
      compiled.delete(oldest)
      break
    }
  }
  return pattern
}

/**
 * The text is compiled as it stands and the engine anchors it at both ends. Wrapping it as `^(?:text)$` instead would
 * let `a)|(b` out of its brackets and would be closed by nothing after `\Qa`.
 */
function compileFresh(text: string): Result<Pattern, string> {
  try {
    const regex = RE2JS.compile(text)
    const size = regex.programSize()
    if (size > PROGRAM_SIZE_MAX) return err(tooCostly(size))
    const automaton = regex.re2().dfa
    automaton.stateBudget = AUTOMATON_BYTES
    automaton.memBudget = AUTOMATON_BYTES
    return ok({ text, matches: (name) => regex.testExact(name) })
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return err(explain(text, error))
    if (error instanceof RE2JSException) return err('the pattern is too large to compile')
    throw error
  }
}

const tooCostly = (size: number): string =>
  `the pattern is too costly: it compiles to ${size} steps, at most ${PROGRAM_SIZE_MAX} are allowed; use smaller repeat counts`

/** The library names the offending part but not its place. */
function explain(text: string, error: RE2JSSyntaxException): string {
  const part = error.getPattern() ?? ''
  const place = `at character ${codePoints(text.slice(0, placeOf(text, part, error.getDescription()))) + 1}`
  if (/^\(\?<?[=!]/.test(part)) return `look-around is not supported in RE2 syntax, ${place}: ${part}`
  if (/^\\(?:[1-9]|[gk])/.test(part)) return `back-references are not supported in RE2 syntax, ${place}: ${part}`
  const shown = part === '' || part === text ? '' : `: ${part}`
  return `not a valid RE2 pattern, ${place}: ${error.getDescription()}${shown}`
}

/**
 * The first place where the offending part stands is the likely one. Of a missing bracket the part is the whole text.
 */
function placeOf(text: string, part: string, description: string): number {
  if (description.startsWith('unexpected )')) return unopened(text)
  if (part === '' || description.startsWith('missing closing )')) return text.length
  return Math.max(0, text.indexOf(part))
}

/** Index of the first `)` that closes nothing; brackets that are escaped or in a class do not count. */
function unopened(text: string): number {
  let depth = 0
  for (const { 0: item, index } of text.matchAll(/\\.|\[\]?[^\]]*\]|[()]/gsu)) {
    if (item === '(') depth++
    if (item === ')' && --depth < 0) return index
  }
  return Math.max(0, text.lastIndexOf(')'))
}

/** Without building an array of the characters. */
function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
