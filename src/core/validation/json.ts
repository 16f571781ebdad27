import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from './problems.ts'

/** Why a text is refused as JSON. The message quotes nothing of the text. */
export interface JsonProblem {
  /** A predicate without its subject: `is not valid JSON`. */
  readonly message: string
  /** Errors of properties, by path; absent when the text as a whole is wrong. */
  readonly errors?: FieldErrors
}

/** More than any of our bodies needs. Deeper nesting costs the sender nothing and us stack space. */
const DEPTH_MAX = 64
const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Parses JSON in which each member has one meaning. A repeated member of an object is refused: readers pick
 * different ones (RFC 8259 section 4), and one of the two may be a restriction. `__proto__` is refused too.
 */
export function readJson(text: string): Result<unknown, JsonProblem> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // A parser may ignore a byte order mark (RFC 8259 section 8.1). We look for one only after parsing has
    // failed.
    if (text.startsWith(BYTE_ORDER_MARK) && text[1] !== BYTE_ORDER_MARK) return readJson(text.slice(1))
    return err({ message: `is not valid JSON${positionOf(error)}` })
  }
  if (isUnambiguous(text, value, DEPTH_MAX) && !mayNamePrototype(text)) return ok(value)
  const problem = findProblem(text)
  return problem === null ? ok(value) : err(problem)
}

/** Escapes can spell a name: `"\u005f_proto__"` is `__proto__`. */
const mayNamePrototype = (text: string): boolean => text.includes('__proto__') || text.includes('\\u')

function positionOf(error: unknown): string {
  const found = /position (\d+)/.exec(error instanceof Error ? error.message : '')
  return found ? `: something is wrong at character ${found[1]}` : ''
}

/**
 * Whether no object repeats a member and at most `depth` levels are nested. Compares the members in the text with
 * those left in the value, because `JSON.parse` keeps the last of several. Linear, without allocations.
 * @param value the result of `JSON.parse(text)`
 */
export function isUnambiguous(text: string, value: unknown, depth: number): boolean {
  const members = membersOf(value, depth)
  // The upper bound is usually exact and costs half as much as counting.
  return members === membersAtMost(text) || members === membersIn(text)
}

/** NaN: nested too deeply. */
function membersOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return Number.NaN
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += membersOf(item, depth - 1)
    return members
  }
  // Objects from JSON have only own members.
  for (const name in value) members += 1 + membersOf((value as Record<string, unknown>)[name], depth - 1)
  return members
}

/**
 * Before the colon of a member there is a quote or white space. Strings may contain such colons too, so this is an
 * upper bound.
 */
function membersAtMost(text: string): number {
  let members = 0
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    if (text.charCodeAt(colon - 1) <= QUOTE) members++
  }
  return members
}

/** `text` is valid JSON, so a string is a name exactly when a colon follows it. */
function membersIn(text: string): number {
  let members = 0
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfString(text, start)
    if (isName(text, end)) members++
    start = text.indexOf('"', end)
  }
  return members
}

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

/** Index after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end + 1
}

/**
 * Whether an odd number of backslashes precedes the quote. No run of them is counted twice, because a quote ends it.
 */
function isEscaped(text: string, quote: number): boolean {
  let first = quote
  while (text.charCodeAt(first - 1) === BACKSLASH) first--
  return (quote - first) % 2 === 1
}

/**
 * JSON has four kinds of white space, all below the colon in ASCII. Only they may stand between a name and its
 * colon.
 */
function isName(text: string, end: number): boolean {
  let at = end
  while (text.charCodeAt(at) <= 0x20) at++
  return text.charCodeAt(at) === COLON
}

/** An object or a list that is being parsed. */
interface Level {
  /** Its path in the body; '' for the body itself. */
  readonly path: string
  /** Names so far; null for a list. */
  readonly names: Set<string> | null
  /** The next item or value, as part of a path. */
  next: string
  index: number
}

/** Locates what `isUnambiguous` only detects, and names that reach a prototype. `text` is valid JSON. */
function findProblem(text: string): JsonProblem | null {
  const problems = new Problems()
  const open: Level[] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    const level = open.at(-1)
    if (char === '"') {
      const end = endOfString(text, at)
      if (level?.names && isName(text, end)) noteName(level, text.slice(at, end), problems)
      at = end - 1
    } else if (char === '{' || char === '[') {
      if (open.length === DEPTH_MAX) return { message: `must not be nested more than ${DEPTH_MAX} levels deep` }
      open.push(levelIn(level, char === '{'))
    } else if (char === '}' || char === ']') {
      open.pop()
    } else if (char === ',' && level?.names === null) {
      level.next = `[${++level.index}]`
    }
  }
  const settled = problems.settle(null)
  return settled.ok ? null : { message: MESSAGE, errors: settled.error }
}

const MESSAGE = 'has a property that comes twice, or that is named __proto__'

function levelIn(parent: Level | undefined, isObject: boolean): Level {
  const path = parent === undefined ? '' : parent.path + parent.next
  return { path, names: isObject ? new Set() : null, next: isObject ? '' : '[0]', index: 0 }
}

const PATH_NAME_MAX = 64

function noteName(level: Level, quoted: string, problems: Problems): void {
  const name = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
  const shown = name.slice(0, PATH_NAME_MAX)
  level.next = level.path === '' ? shown : `.${shown}`
  const path = level.path + level.next
  if (name === '__proto__') problems.add(path, 'is not allowed as the name of a property')
  else if (level.names?.has(name) && !problems.has(path)) problems.add(path, 'comes twice; send it once')
  level.names?.add(name)
}
