import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/objects.ts'
import { err, ok, type Result } from '../base/result.ts'
import { otherDatabase } from './dataDirectory.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { readConfigFile } from './file.ts'
import type { Key } from './keys.ts'
import type { ConfigProblem } from './problem.ts'
import { allKeys, type Config, isKey, type PartialConfig, root, type ConfigSection } from './schema.ts'
import { type Branch, type Reading, readTree } from './tree.ts'

export interface ConfigSources {
  /** The file to read. Without it SLUICE_CONFIG names the file; otherwise `config.yaml` is read if it exists. */
  file?: string | undefined
  /** The directory of `config.yaml`; the working directory when omitted. */
  directory?: string | undefined
  env: Environment
  /** The settings from the command line. */
  flags?: PartialConfig | undefined
}

/**
 * Loads the configuration from the defaults, the file, the environment and the command line. Later sources override
 * earlier ones.
 * @returns a deeply frozen configuration, or every problem of every source at once. Never throws.
 */
export function loadConfig({ file, directory = '', env, flags = {} }: ConfigSources): Result<Config, ConfigProblem[]> {
  const readings = [fromFile(configFileOf({ file, directory, env })), fromEnvironment(env), fromFlags(flags)]
  const problems = readings.flatMap((reading) => reading.problems)
  if (problems.length > 0) return err(problems)
  const config = build(new Map(readings.flatMap((reading) => reading.values)))
  const problem = otherDatabase(config)
  return problem === null ? ok(config) : err([problem])
}

/** The file that `loadConfig` reads; undefined: none. */
export const configFileOf = ({ file, directory = '', env }: Omit<ConfigSources, 'flags'>): string | undefined =>
  file ?? fileOf(env, directory)

/** Where the value of a key comes from. */
export interface Origin {
  readonly kind: 'file' | 'environment' | 'flag'
  /** `config.yaml:12`, `SLUICE_SERVER_PORT`, or `command line`. */
  readonly name: string
}

/** A value with its origin; null: the default. */
interface Originated {
  readonly value: unknown
  readonly origin: Origin | null
}

/** The checked values of one source. */
interface Checked {
  values: (readonly [path: string, value: Originated])[]
  problems: ConfigProblem[]
}

/** Beside the values, and not in them: a configuration is compared and passed on as plain data. */
const origins = new WeakMap<Config, ReadonlyMap<string, Originated>>()

/** Where the value of a key comes from; null: it is the default. */
export const originOf = (config: Config, path: string): Origin | null => origins.get(config)?.get(path)?.origin ?? null

const keyAt = new Map(allKeys())

function fileOf(env: Environment, directory: string): string | undefined {
  const usual = join(directory, 'config.yaml')
  return env['SLUICE_CONFIG'] || (existsSync(usual) ? usual : undefined)
}

const fromFile = (file: string | undefined): Checked =>
  file === undefined ? { values: [], problems: [] } : checkReading('file', readConfigFile(file))

function fromFlags(flags: object): Checked {
  return checkReading('flag', readTree(branchesOf(flags)))
}

function branchesOf(object: object): Branch[] {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined)
  return entries.map(([name, value]: [string, unknown]) => {
    const branches = isObject(value) ? branchesOf(value) : undefined
    return { name, source: 'command line', branches, value }
  })
}

function fromEnvironment(env: Environment): Checked {
  const { settings, problems } = readEnvironment(env)
  const checked = settings.map(({ path, text, source }) =>
    settle(path, { kind: 'environment', name: source }, (key) => key.parse(text)),
  )
  return merge(checked, problems)
}

function checkReading(kind: Origin['kind'], { settings, problems }: Reading): Checked {
  const checked = settings.map(({ path, value, source }) =>
    settle(path, { kind, name: source }, (key) => key.check(value)),
  )
  return merge(checked, problems)
}

function settle(path: string, origin: Origin, read: (key: Key<unknown>) => Result<unknown, string>): Checked {
  const key = keyAt.get(path)
  if (key === undefined) throw new Error(`no such key: ${path}`)
  const value = read(key)
  if (value.ok) return { values: [[path, { value: value.value, origin }]], problems: [] }
  return { values: [], problems: [{ key: path, source: origin.name, reason: value.error, allowed: key.allowed }] }
}

const merge = (parts: readonly Checked[], problems: readonly ConfigProblem[]): Checked => ({
  values: parts.flatMap((part) => part.values),
  problems: [...problems, ...parts.flatMap((part) => part.problems)],
})

/** The configuration with these values at their paths, and the defaults elsewhere. Deeply frozen. */
export function build(values: ReadonlyMap<string, Originated>): Config {
  const config = buildSection(root, values) as Config
  origins.set(config, values)
  return config
}

function buildSection(section: ConfigSection, values: ReadonlyMap<string, Originated>, parent = ''): unknown {
  const entries = Object.entries(section).map(([name, entry]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    if (!isKey(entry)) return [name, buildSection(entry, values, path)]
    const found = values.get(path)
    const value = found === undefined ? entry.default : found.value
    return [name, Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : value]
  })
  return Object.freeze(Object.fromEntries(entries))
}
