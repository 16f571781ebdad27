import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

/** A node of the syntax tree (ESTree with TypeScript), with the properties that the rules use. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [property: string]: unknown
}

/** A file of the repository. */
export interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** A TypeScript file with every node of its syntax tree, outermost first. */
export interface Module extends Source {
  readonly nodes: readonly SyntaxNode[]
}

const repository = fileURLToPath(new URL('../../', import.meta.url))

const NOT_OURS = new Set(['node_modules', '.git', 'data', 'build', 'dist', 'coverage'])

/** Every existing text file in the given folders and files, in a fixed order. */
export function readSources(places: readonly string[], names: RegExp): Source[] {
  const paths = places.flatMap((place) => (existsSync(repository + place) ? filesBelow(place) : []))
  return paths
    .filter((path) => names.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(repository + path, 'utf8') }))
}

function filesBelow(place: string): string[] {
  const entries = readdirSync(repository + place, { withFileTypes: true }).filter(({ name }) => !NOT_OURS.has(name))
  return entries.flatMap((entry) => {
    const path = place === '.' ? entry.name : `${place}/${entry.name}`
    if (entry.isDirectory()) return filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}

export function parse(source: Source): Module {
  const nodes: SyntaxNode[] = []
  const lang = source.path.endsWith('.tsx') ? 'tsx' : 'ts'
  collect(parseAst(source.text, { lang }, source.path) as unknown as SyntaxNode, nodes)
  return { ...source, nodes }
}

/** Into one list, because generators in generators cost several times as much on thousands of files. */
function collect(node: SyntaxNode, nodes: SyntaxNode[]): void {
  nodes.push(node)
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const child of value as unknown[]) if (isNode(child)) collect(child, nodes)
    } else if (isNode(value)) collect(value, nodes)
  }
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

/** The form of a finding, so that an editor can jump to it. */
export const finding = (source: Source, offset: number, what: string): string =>
  `${source.path}:${lineAt(source.text, offset)}: ${what}`

/** The name of an identifier, or of a literal property. */
export function nameOf(node: unknown): string {
  const name = isNode(node) ? (node['name'] ?? node['value']) : undefined
  return typeof name === 'string' ? name : ''
}
