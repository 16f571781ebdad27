import { nameOfType } from './keys.ts'
import { type ConfigProblem, nearest } from './problem.ts'
import { isKey, root, type ConfigSection } from './schema.ts'

/** A value that a source gives for a key, and where it stands there. */
export interface Setting {
  readonly path: string
  readonly value: unknown
  readonly source: string
}

/** What one source says: settings of keys that exist, and problems of everything else. */
export interface Reading {
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
}

/** A name in a tree of names, as the YAML file and the command line both give it. */
export interface Branch {
  readonly name: string
  readonly source: string
  /** The names below, or undefined when this is no section. */
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
  // Own properties only: `constructor` and `__proto__` are names like any other in a file.
  const entry = Object.hasOwn(section, branch.name) ? section[branch.name] : undefined
  if (entry === undefined) return problem(branch, path, unknownName(branch.name, section))
  if (isKey(entry)) return { settings: [{ path, value: branch.value, source: branch.source }], problems: [] }
  if (branch.branches !== undefined) return readTree(branch.branches, entry, path)
  // `server:` with nothing below is what is left when somebody comments out its keys.
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
