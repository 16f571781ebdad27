import { isNode, type Module, nameOf, type SyntaxNode } from './source.ts'

/** The names that a module declares and exports. Re-exports of other modules do not count. */
function exportedNames(module: Module): string[] {
  return module.nodes
    .filter((node) => node.type === 'ExportNamedDeclaration')
    .flatMap((node) => declaredIn(node['declaration']))
}

function declaredIn(declaration: unknown): string[] {
  if (!isNode(declaration)) return []
  if (declaration.type !== 'VariableDeclaration') return [nameOf(declaration['id'])]
  return (declaration['declarations'] as SyntaxNode[]).map((each) => nameOf(each['id']))
}

/** Names that more than one file exports, with the files. */
export function sharedNames(modules: readonly Module[]): Map<string, string[]> {
  const files = new Map<string, Set<string>>()
  for (const module of modules)
    for (const name of exportedNames(module)) files.set(name, (files.get(name) ?? new Set()).add(module.path))
  return new Map([...files].filter(([, paths]) => paths.size > 1).map(([name, paths]) => [name, [...paths].toSorted()]))
}
