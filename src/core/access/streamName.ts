import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js'
import { err, ok, type Result } from '../../base/result.ts'
import { codePoints, nameProblem } from '../validation/text.ts'

/** One element of a token's `streams`: an exact name, or an RE2 pattern that must match the whole name. */
export interface StreamEntry {
  streamName: string
  isRegex: boolean
}

/** A compiled RE2 pattern. */
export interface Pattern {
  readonly text: string
  /** What it takes to compile it and to compare it with a name, in instructions. */
  readonly steps: number
  /**
   * Whether the pattern matches the whole name, whatever anchors and alternations it has. Linear in the name's
   * length.
   */
  matches(name: string): boolean
}

/** The compiled `streams` of a token. */
export interface CompiledStreams {
  readonly exact: ReadonlySet<string>
  readonly patterns: readonly Pattern[]
}

/**
 * The most instructions of a compiled pattern. At 500 the first use takes about 50 ms at most; at 1,900 it took 220
 * ms.
 */
const PROGRAM_SIZE_MAX = 500

/**
 * The most steps of the patterns that one name is compared with: those of a token, or the filters of the webhooks of an
 * account. At that a hostile name takes about 30 ms; without a bound a token with 1,000 patterns took four seconds.
 */
export const PATTERN_STEPS_MAX = 20_000
export const TOO_MANY_STEPS = `compile to more than ${PATTERN_STEPS_MAX} steps together; use fewer, or smaller repeat counts`

/** A class of characters such as `\pL` has hundreds of ranges, two numbers each. So many numbers take as long as an instruction. */
const NUMBERS_PER_STEP = 20

/** What a pattern counts that is refused: it may have taken as long to compile as any. */
const REFUSED_STEPS = 2_000

/** Size of the cache of compiled patterns. The least recently used is dropped first. */
export const PATTERN_CACHE_MAX = 2_000

/**
 * Bytes that the automaton of one pattern may take (by the library's own estimate; its default is 8 MiB), 64 MB of all that
 * are cached. A pattern that needs more runs without an automaton: slower but still linear.
 */
const AUTOMATON_BYTES = 32_768

/** The last name that passed: one decision checks the same name several times. */
let lastValid: string | null = null

/** What is wrong with a stream name; null when it is valid. Characters are code points. */
export function checkStreamName(name: string): string | null {
  if (name === lastValid) return null
  const problem = nameProblem(name) ?? dotsProblem(name)
  if (problem === null) lastValid = name
  return problem
}

/** Clients resolve these segments of a path before they send it (RFC 3986, section 5.2.4). */
const dotsProblem = (name: string): string | null =>
  name === '.' || name === '..' ? 'must not be . or .., which no URL can have in its path' : null

/** Compiles an RE2 pattern. Pure, so results are cached. The error says what is wrong and where. */
export function compilePattern(text: string): Result<Pattern, string> {
  const cached = compiled.get(text)
  if (cached !== undefined) return ok(remember(text, cached))
  const invalid = nameProblem(text)
  if (invalid !== null) return err(invalid)
  const fresh = compileFresh(text)
  return fresh.ok ? ok(remember(text, fresh.value)) : fresh
}

/** Compiles the entries of a token. All errors at once, by index. */
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

/** The steps of a compiled pattern, or of one that was refused. */
export const stepsOf = (pattern: Result<Pattern, string>): number => (pattern.ok ? pattern.value.steps : REFUSED_STEPS)

/** Whether these patterns have more steps together than one name is compared with. */
export function haveTooManySteps(patterns: Iterable<string>): boolean {
  let steps = 0
  for (const text of patterns) if ((steps += stepsOf(compilePattern(text))) > PATTERN_STEPS_MAX) return true
  return false
}

/** Whether one of the entries covers this name. No entry, not even `.*`, covers an invalid name. */
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

/** A `Map` iterates in order of insertion. Inserting an entry again on use keeps the least recently used first. */
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
 * Compiles the text unchanged; the engine anchors it at both ends. Wrapping it as `^(?:text)$` instead would let
 * `a)|(b` escape the brackets, and `\Qa` would swallow the closing one.
 */
function compileFresh(text: string): Result<Pattern, string> {
  try {
    const regex = RE2JS.compile(text)
    const size = regex.programSize()
    if (size > PROGRAM_SIZE_MAX) return err(tooCostly(size))
    const { dfa: automaton, prog } = regex.re2()
    automaton.stateBudget = AUTOMATON_BYTES
    automaton.memBudget = AUTOMATON_BYTES
    const steps = size + Math.floor(numbersIn(prog.inst as readonly Instruction[]) / NUMBERS_PER_STEP)
    return ok({ text, steps, matches: (name) => regex.testExact(name) })
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return err(explain(text, error))
    if (error instanceof RE2JSException) return err('the pattern is too large to compile')
    throw error
  }
}

/** An instruction of a compiled pattern; `runes`: the ranges of characters that it takes. */
interface Instruction {
  readonly runes?: readonly number[] | null
}

const numbersIn = (instructions: readonly Instruction[]): number =>
  instructions.reduce((sum, { runes }) => sum + (runes?.length ?? 0), 0)

const tooCostly = (size: number): string =>
  `the pattern is too costly: it compiles to ${size} steps, at most ${PROGRAM_SIZE_MAX} are allowed; use smaller repeat counts`

/** The library names the offending part but not its position. */
function explain(text: string, error: RE2JSSyntaxException): string {
  const part = error.getPattern() ?? ''
  const position = `at character ${codePoints(text.slice(0, positionOf(text, part, error.getDescription()))) + 1}`
  if (/^\(\?<?[=!]/.test(part)) return `look-around is not supported in RE2 syntax, ${position}: ${part}`
  if (/^\\(?:[1-9]|[gk])/.test(part)) return `back-references are not supported in RE2 syntax, ${position}: ${part}`
  const shown = part === '' || part === text ? '' : `: ${part}`
  return `not a valid RE2 pattern, ${position}: ${error.getDescription()}${shown}`
}

/** Assumes the first occurrence of the offending part. For a missing bracket the part is the whole text. */
function positionOf(text: string, part: string, description: string): number {
  if (description.startsWith('unexpected )')) return unopened(text)
  if (part === '' || description.startsWith('missing closing )')) return text.length
  return Math.max(0, text.indexOf(part))
}

/** Index of the first unmatched `)`. Escaped brackets and those in a class do not count. */
function unopened(text: string): number {
  let depth = 0
  for (const { 0: item, index } of text.matchAll(/\\.|\[\]?[^\]]*\]|[()]/gsu)) {
    if (item === '(') depth++
    if (item === ')' && --depth < 0) return index
  }
  return Math.max(0, text.lastIndexOf(')'))
}
