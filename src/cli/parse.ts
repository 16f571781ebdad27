import { parseArgs } from 'node:util'
import { err, ok, type Result } from '../base/result.ts'
import { nearest } from '../config/problem.ts'
import { type CliCommand, type Globals, commandName } from './command.ts'
import { type Flags } from './flag.ts'
import { quote } from '../base/quote.ts'
import { GLOBAL_FLAGS } from './globals.ts'

/** A parsed command line. */
export type Request =
  | { kind: 'version'; json: boolean }
  /** Help on `path`: everything, a group, or one command. `asked` is false when a command was missing. */
  | { kind: 'help'; path: readonly string[]; asked: boolean; json: boolean }
  | {
      kind: 'run'
      command: CliCommand
      flags: Record<string, unknown>
      args: Record<string, unknown>
      globals: Globals
    }

type Typed = ReadonlyMap<string, readonly string[]>

const MAX_ARGUMENTS = 4096

/** The error in a command line, and the path of the help that explains the right usage. */
export interface Misuse {
  readonly message: string
  readonly path: readonly string[]
}

/** Parses a command line. Flags may stand anywhere. The error is a sentence for the user. */
export function parse(commands: readonly CliCommand[], argv: readonly string[]): Result<Request, Misuse> {
  if (argv.length > MAX_ARGUMENTS) return err({ message: `more than ${MAX_ARGUMENTS} arguments`, path: [] })
  const { words: written, typed, problem } = split(commands, argv)
  const words = withVerb(commands, written)
  const json = typed.has('json')
  const [first, ...rest] = words
  if (first === undefined ? typed.has('version') : words.length === 1 && first === 'version')
    return ok({ kind: 'version', json })
  if (problem === null && first === 'help') return helpOn(commands, rest, json)
  const found = find(commands, words)
  if (problem !== null) {
    const message = problem(found ? flagsOf(found) : allFlags(commands))
    return err({ message, path: found?.path ?? [] })
  }
  if (typed.has('help')) return helpOn(commands, found?.path ?? words, json)
  if (found) return readCall(found, words.slice(found.path.length), typed)
  return isGroup(commands, words)
    ? ok({ kind: 'help', path: words, asked: false, json })
    : err(unknown(commands, words))
}

/** The message about a flag depends on the flags of the command. */
type Problem = (known: Flags) => string

interface Split {
  words: string[]
  typed: Typed
  problem: Problem | null
}

/**
 * Separates the words from the flags. A flag takes a value in every command or in none, so this does not need the
 * command.
 */
function split(commands: readonly CliCommand[], argv: readonly string[]): Split {
  const known = allFlags(commands)
  const entries = Object.entries(known).map(([name, flag]) => {
    const type = flag.placeholder === '' ? ('boolean' as const) : ('string' as const)
    return [name, { type, ...(name === 'help' ? { short: 'h' } : {}) }] as const
  })
  const version = { type: 'boolean' as const }
  const options: Record<string, { type: 'boolean' | 'string' }> = { ...Object.fromEntries(entries), version }
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true, allowPositionals: true })
  const words: string[] = []
  const typed = new Map<string, string[]>()
  let problem: Problem | null = null
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    problem ??= problemOf(options[token.name]?.type, token)
    typed.set(token.name, [...(typed.get(token.name) ?? []), token.value ?? ''])
  }
  return { words, typed, problem }
}

interface OptionToken {
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

function problemOf(type: 'boolean' | 'string' | undefined, token: OptionToken): Problem | null {
  const { rawName, value, inlineValue } = token
  if (type === undefined) return (known) => unknownFlag(known, rawName)
  if (type === 'boolean') return value === undefined ? null : () => `${rawName} takes no value`
  if (value === undefined) return () => `${rawName} needs a value`
  const looksLikeFlag = inlineValue === false && value.length > 1 && value.startsWith('-')
  return looksLikeFlag ? () => `${rawName} needs a value (for one that begins with a dash: ${rawName}=VALUE)` : null
}

const unknownFlag = (known: Flags, rawName: string): string =>
  `unknown flag ${quote(rawName).slice(1, -1)}${didYouMean(rawName.replace(/^-+/, ''), Object.keys(known), '--')}`

function didYouMean(typed: string, candidates: readonly string[], prefix = ''): string {
  const guess = nearest(typed, candidates)
  return guess === undefined ? '' : `; did you mean ${prefix}${guess}?`
}

const flagsOf = (command: CliCommand): Flags => ({ ...command.flags, ...GLOBAL_FLAGS })

const allFlags = (commands: readonly CliCommand[]): Flags =>
  Object.assign({}, ...commands.map(flagsOf), GLOBAL_FLAGS) as Flags

const startsWith = (path: readonly string[], words: readonly string[]): boolean =>
  words.every((word, index) => path[index] === word)

const find = (commands: readonly CliCommand[], words: readonly string[]): CliCommand | undefined =>
  commands.find(({ path }) => startsWith(words, path))

/** The words with the verb that a group lets its users leave out: `backup FILE` is `backup create FILE`. */
function withVerb(commands: readonly CliCommand[], words: readonly string[]): readonly string[] {
  if (words.length < 2 || find(commands, words)) return words
  const [group = '', ...rest] = words
  const silent = commands.find(({ path, isVerbOptional }) => path[0] === group && isVerbOptional)
  return silent ? [...silent.path, ...rest] : words
}

const isGroup = (commands: readonly CliCommand[], words: readonly string[]): boolean =>
  commands.some(({ path }) => startsWith(path, words))

function helpOn(commands: readonly CliCommand[], path: readonly string[], json: boolean): Result<Request, Misuse> {
  if (isGroup(commands, path)) return ok({ kind: 'help', path, asked: true, json })
  return err(unknown(commands, path))
}

/** Names the unknown word, with the nearest command or the verbs of the group. */
function unknown(commands: readonly CliCommand[], words: readonly string[]): Misuse {
  const [group = '', verb] = words
  const verbs = commands.filter(({ path }) => path[0] === group && path.length > 1).map(({ path }) => path[1] ?? '')
  if (verb === undefined || verbs.length === 0) {
    const names = [...new Set(commands.map(({ path }) => path[0] ?? '')), 'help']
    return { message: `unknown command ${quote(group)}${didYouMean(group, names)}`, path: [] }
  }
  const guess = didYouMean(verb, verbs, `${group} `)
  const message = `unknown command ${quote(`${group} ${verb}`)}${guess || `; ${group} has ${verbs.join(', ')}`}`
  return { message, path: [group] }
}

function readCall(command: CliCommand, words: readonly string[], typed: Typed): Result<Request, Misuse> {
  const problems: string[] = []
  const known = flagsOf(command)
  for (const name of typed.keys()) {
    if (!Object.hasOwn(known, name))
      problems.push(`${commandName(command)} has no flag --${name}${didYouMean(name, Object.keys(known), '--')}`)
  }
  const args = readArgs(command, words, problems)
  const flags = readFlags(command.flags, typed, problems)
  const globals = readFlags(GLOBAL_FLAGS, typed, problems) as unknown as Globals
  if (problems.length > 0) return err({ message: problems.join('; '), path: command.path })
  return ok({ kind: 'run', command, flags, args, globals })
}

function readArgs(command: CliCommand, words: readonly string[], problems: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  const entries = Object.entries(command.args)
  for (const [index, [name, arg]] of entries.entries()) {
    const word = words[index]
    const value = arg.read(word === undefined ? [] : [word])
    if (value.ok) values[name] = value.value
    else problems.push(`${arg.placeholder} ${value.error}`)
  }
  const extra = words[entries.length]
  if (extra !== undefined) problems.push(`${commandName(command)} does not take ${quote(extra)}`)
  return values
}

function readFlags(table: Flags, typed: Typed, problems: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, flag] of Object.entries(table)) {
    const texts = typed.get(name) ?? []
    const value = texts.length > 1 && !flag.many ? err('may be given once') : flag.read(texts)
    if (value.ok) values[name] = value.value
    else problems.push(`--${name} ${value.error}`)
  }
  return values
}
