import { nameOfType } from './keys.ts'
import { type ConfigProblem, nearest } from './problem.ts'
import { isKey, root, type ConfigSection } from './schema.ts'

/** The value of a key in a source, and its location there. */
export interface Setting {
  readonly path: string
  readonly value: unknown
  readonly source: string
}

/** The content of one source: settings of known keys, and problems with everything else. */
export interface Reading {
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
}

/** A name in a tree of names, the form of both the YAML file and the command line. */
export interface Branch {
  readonly name: string
  readonly source: string
  /** The names below; undefined when this is not a section. */
  readonly branches: readonly Branch[] | undefined
  readonly value: unknown
}

/** Sorts a tree into settings and problems, by the schema. */
export function readTree(branches: readonly Branch[], section: ConfigSection = root, parent = ''): Reading {
  const seen = new Set<string>()
  const readings = branches.map((branch) => {
    const path = parent === '' ? branch.name : `${parent}.${branch.name}`
    if (seen.has(branch.name)) return problem(branch, path, 'is written twice')
    seen.add(branch.name)
    return readBranch(branch, path, section)
  })
  return {
    settings: readings.flatMap(({ settings }) => settings),
    problems: readings.flatMap(({ problems }) => problems),
  }
}

function readBranch(branch: Branch, path: string, section: ConfigSection): Reading {
  // Own properties only: in a file `constructor` and `__proto__` are names like any other.
  const entry = Object.hasOwn(section, branch.name) ? section[branch.name] : undefined
  if (entry === undefined) return problem(branch, path, unknownName(branch.name, section))
  if (isKey(entry)) return { settings: [{ path, value: branch.value, source: branch.source }], problems: [] }
  if (branch.branches !== undefined) return readTree(branch.branches, entry, path)
  // `server:` with nothing below remains when an operator comments out its keys.
  if (branch.value === null || branch.value === undefined) return { settings: [], problems: [] }
  return problem(branch, path, `is ${nameOfType(branch.value)}, not a section`)
}

function unknownName(name: string, section: ConfigSection): string {
  const names = Object.keys(section)
  const guess = nearest(name, names)
  return guess === undefined ? `is not known; here are: ${names.join(', ')}` : `is not known; did you mean ${guess}?`
}

const problem = ({ source }: Branch, key: string, reason: string): Reading => ({
  settings: [],
  problems: [{ key: key.slice(0, 200), source, reason }],
})
