import { posix } from 'node:path'
import { isNode, type Module, nameOf, type SyntaxNode } from './source.ts'

/** One import of a module. */
export interface Import {
  readonly start: number
  /** A path from the root of the repository for our own files, otherwise as written: `node:fs`, `fastify`. */
  readonly target: string
  readonly isOurs: boolean
  /** Only types are imported, so nothing remains of it at run time. */
  readonly typeOnly: boolean
  /** The imported names, as in the other module; `*` for everything. */
  readonly names: readonly string[]
}

/** The target of `import(x)`. */
export const COMPUTED = 'a computed name'

const WITH_SOURCE = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

/** Every import of a module: declarations, re-exports, `import()` and `import('…').T`. */
export function importsOf(module: Module): Import[] {
  return module.nodes
    .filter((node) => WITH_SOURCE.has(node.type) && isNode(node['source']))
    .map((node) => describeImport(module.path, node, writtenTarget(node['source'])))
}

function describeImport(from: string, node: SyntaxNode, written: string): Import {
  const isOurs = written.startsWith('.')
  const target = isOurs ? posix.join(posix.dirname(from), written) : written
  return { start: node.start, target, isOurs, typeOnly: isTypeOnly(node), names: namesOf(node) }
}

/** A computed import remains visible, as one that no wall allows. */
const writtenTarget = (source: unknown): string =>
  isNode(source) && typeof source['value'] === 'string' ? source['value'] : COMPUTED

function isTypeOnly(node: SyntaxNode): boolean {
  if (node.type === 'TSImportType' || node['importKind'] === 'type' || node['exportKind'] === 'type') return true
  const specifiers = specifiersOf(node)
  return specifiers.length > 0 && specifiers.every((s) => s['importKind'] === 'type' || s['exportKind'] === 'type')
}

function namesOf(node: SyntaxNode): string[] {
  if (node.type !== 'ImportDeclaration' && node.type !== 'ExportNamedDeclaration') return ['*']
  return specifiersOf(node).map((specifier) => {
    if (specifier.type === 'ImportNamespaceSpecifier') return '*'
    if (specifier.type === 'ImportDefaultSpecifier') return 'default'
    return nameOf(specifier['imported'] ?? specifier['local'])
  })
}

const specifiersOf = (node: SyntaxNode): SyntaxNode[] =>
  Array.isArray(node['specifiers']) ? (node['specifiers'] as unknown[]).filter(isNode) : []

/** The values (not types) that a module exports, with their offsets. */
export function exportsOf(module: Module): { name: string; start: number }[] {
  return module.nodes
    .filter(
      (node) => node.type === 'ExportNamedDeclaration' && node['exportKind'] !== 'type' && !isNode(node['source']),
    )
    .flatMap((node) =>
      [...declared(node['declaration']), ...specifiersOf(node).map((s) => nameOf(s['exported']))].map((name) => ({
        name,
        start: node.start,
      })),
    )
}

function declared(declaration: unknown): string[] {
  if (!isNode(declaration) || declaration.type.startsWith('TS')) return []
  if (!Array.isArray(declaration['declarations'])) return [nameOf(declaration['id'])]
  return (declaration['declarations'] as unknown[]).map((d) => (isNode(d) ? nameOf(d['id']) : ''))
}
