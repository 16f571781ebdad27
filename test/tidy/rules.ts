import { importsOf } from './imports.ts'
import { finding, isNode, lineAt, type Module, nameOf, type Source, type SyntaxNode } from './source.ts'

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 70
const MAX_LINE_LENGTH = 150

/** Globals that bring a clock, randomness, timers or input and output into a pure folder. */
const IMPURE = new Set([
  'Date.now',
  'Math.random',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'performance',
  'process',
  'crypto',
  'console',
])

/** Uses of time, randomness and timers, which core and commands must get as arguments. */
export function impurities(module: Module): string[] {
  const named = module.nodes
    .filter((node) => IMPURE.has(dotted(node)) && !isOnlyAName(module, node))
    .map((node) =>
      finding(module, node.start, `${dotted(node)} is not pure; take a clock or randomness as an argument`),
    )
  const dates = module.nodes
    .filter((node) => node.type === 'NewExpression' && dotted(node['callee']) === 'Date' && isEmpty(node['arguments']))
    .map((node) => finding(module, node.start, 'new Date() reads the clock; take the time as an argument'))
  return [...named, ...dates]
}

/** `a` for a variable, `a.b` for a plain member, '' for everything else. */
function dotted(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'Identifier') return nameOf(node)
  if (node.type !== 'MemberExpression' || node['computed'] === true) return ''
  return `${dotted(node['object'])}.${nameOf(node['property'])}`
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** The `process` of `job.process` or of `{ process: 1 }` is a name, not the global. */
function isOnlyAName(module: Module, node: SyntaxNode): boolean {
  return module.nodes.some(
    (parent) =>
      parent['computed'] !== true &&
      ((parent.type !== 'Property' && parent['property'] === node) || parent['key'] === node),
  )
}

/** Functions that open outbound connections. Servers and accepted sockets are allowed. */
const CALLS_OUT: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['request', 'get', 'Agent'],
  'node:https': ['request', 'get', 'Agent'],
  'node:http2': ['connect'],
  'node:net': ['connect', 'createConnection', 'Socket'],
  'node:tls': ['connect'],
}

/** Outbound calls outside of the guarded network. */
export function callsOut(module: Module): string[] {
  const found = [...fetches(module), ...namedCalls(module), ...memberCalls(module)]
  return found.map(({ start, what }) => finding(module, start, `${what} belongs into src/net/egress.ts`))
}

interface Found {
  start: number
  what: string
}

const calls = (module: Module): SyntaxNode[] =>
  module.nodes.filter(({ type }) => type === 'CallExpression' || type === 'NewExpression')

const fetches = (module: Module): Found[] =>
  calls(module)
    .filter(({ callee }) => ['fetch', 'globalThis.fetch', 'WebSocket', 'EventSource'].includes(dotted(callee)))
    .map(({ start, callee }) => ({ start, what: dotted(callee) }))

const namedCalls = (module: Module): Found[] =>
  importsOf(module)
    .filter(({ target, names, typeOnly }) => !typeOnly && (target === 'undici' || intersects(names, CALLS_OUT[target])))
    .map(({ start, target }) => ({ start, what: `calling out with ${target}` }))

const intersects = (a: readonly string[], b: readonly string[] = []): boolean => a.some((item) => b.includes(item))

/** `http.request(…)` after `import http from 'node:http'`, under any local name. */
function memberCalls(module: Module): Found[] {
  const members = Object.entries(CALLS_OUT).flatMap(([target, names]) =>
    names.map((name) => `${target.slice('node:'.length)}.${name}`),
  )
  return calls(module)
    .filter(({ callee }) => members.includes(dotted(callee)))
    .map(({ start, callee }) => ({ start, what: dotted(callee) }))
}

const LEVELS = new Set(['debug', 'info', 'warn', 'error'])

/** What was thrown has one key in the log, so that one query finds it, and keeps its stack. */
export const errorKeys = (module: Module): string[] =>
  calls(module)
    .filter(({ callee }) => isNode(callee) && LEVELS.has(nameOf(callee['property'])))
    .flatMap((call) => (Array.isArray(call['arguments']) ? (call['arguments'] as unknown[]) : []))
    .flatMap((fields) => (isNode(fields) && fields.type === 'ObjectExpression' ? propertiesOf(fields) : []))
    .filter(({ key, value }) => nameOf(key) === 'error' || (nameOf(key) !== 'problem' && isTextOfError(module, value)))
    .map(({ start }) => finding(module, start, 'the log has what was thrown as err, with its stack'))

const propertiesOf = (node: SyntaxNode): SyntaxNode[] =>
  (node['properties'] as SyntaxNode[]).filter(({ type }) => type === 'Property')

/** `String(error)`, `error.message` and the like. */
const isTextOfError = (module: Module, value: unknown): boolean =>
  isNode(value) && /\bString\(e|\.message\b/.test(module.text.slice(value.start, value.end))

export const anys = (module: Module): string[] =>
  module.nodes
    .filter(({ type }) => type === 'TSAnyKeyword')
    .map(({ start }) => finding(module, start, 'any switches the type checker off; unknown does not'))

/** A class, an escape or a character. */
const UNIT = String.raw`\\[pu]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|[^\\[(^$)?+*{|]`
/** Units up to the first that is repeated without a bound, with something behind it. */
const BEGINNING = new RegExp(String.raw`^((?:${UNIT})*)(${UNIT})(?:[+*]|\{\d+,\})\??\)*[^)]`)
const OPENED_GROUPS = /\((?:\?:|\?<\w+>|(?!\?))/g

/** Whether a text of such units alone could begin this pattern at each of its places: each begins what the first repeat takes too. */
function beginsInItsRepeat(pattern: string, flags: string): boolean {
  const [, before = '', repeated] = BEGINNING.exec(pattern.replaceAll(OPENED_GROUPS, '')) ?? []
  if (repeated === undefined) return false
  return (before.match(new RegExp(UNIT, 'g')) ?? []).every((unit) => haveCharacterInCommon([unit, repeated], flags))
}

function haveCharacterInCommon(units: readonly string[], flags: string): boolean {
  const patterns = units.map((unit) => new RegExp(`^${unit}$`, flags.replaceAll(/[gm]/g, '')))
  return Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).some((character) =>
    patterns.every((pattern) => pattern.test(character)),
  )
}

/** Those that are in no group. */
function alternativesOf(pattern: string): string[] {
  const alternatives = ['']
  let depth = 0
  for (const [token] of pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|./gu)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === '|' && depth === 0) alternatives.push('')
    else alternatives.push(`${alternatives.pop()}${token}`)
  }
  return alternatives
}

/**
 * Patterns that are tried again at each place of a run, and look at the rest of it each time: a text of 64 kB takes them seconds. Texts
 * of strangers reach many of them.
 */
export const slowPatterns = (module: Module): string[] =>
  module.nodes.flatMap(({ start, regex }) => {
    const { pattern = '', flags = '' } = (regex ?? {}) as { pattern?: string; flags?: string }
    const isSlow = !flags.includes('y') && alternativesOf(pattern).some((one) => beginsInItsRepeat(one, flags))
    return isSlow
      ? [finding(module, start, `/${pattern}/ begins in what it repeats: bound it, or put (?<!…) in front`)]
      : []
  })

export function longFunctions(module: Module): string[] {
  const functions = module.nodes.filter(({ type }) => /^(FunctionDeclaration|FunctionExpression|Arrow.*)$/.test(type))
  return functions
    .map((node) => ({ node, lines: lineAt(module.text, node.end) - lineAt(module.text, node.start) + 1 }))
    .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
    .map(({ node, lines }) =>
      finding(module, node.start, `a function of ${lines} lines; ${MAX_FUNCTION_LINES} is the most`),
    )
}

export function longFiles(source: Source): string[] {
  const lines = source.text.split('\n').length - 1
  return lines > MAX_FILE_LINES ? [finding(source, 0, `${lines} lines; ${MAX_FILE_LINES} is the most`)] : []
}

export const longLines = (source: Source): string[] =>
  matches(source, new RegExp(`^.{${MAX_LINE_LENGTH + 1},}$`, 'gm'), () => `longer than ${MAX_LINE_LENGTH} characters`)

/** Paths that exist on one machine only. */
export const machinePaths = (source: Source): string[] =>
  matches(
    source,
    /(?<![\w.])\/(home|root|work|Users)\/[\w.-]+|[A-Z]:\\Users\\/g,
    (path) => `${path} is a place on one machine`,
  )

/** Postponed work belongs into the plan, not into the code. */
export const putOff = (source: Source): string[] =>
  matches(source, /\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b/g, (word) => `${word}: do it or plan it`)

const matches = (source: Source, pattern: RegExp, say: (found: string) => string): string[] =>
  [...source.text.matchAll(pattern)].map((match) => finding(source, match.index, say(match[0])))
