import { importsOf } from './imports.ts'
import type { Module } from './source.ts'

/** Folders beside each other that import each other, by values or by types: `a <-> b: an import of each way`. */
export function siblingCircles(modules: readonly Module[]): string[] {
  const crossings = new Map<string, string>()
  for (const { path, target } of modules.flatMap((module) =>
    importsOf(module).map((each) => ({ ...each, path: module.path })),
  )) {
    const [from, to] = siblingsOf(path, target)
    if (from !== undefined && to !== undefined) crossings.set(`${from} ${to}`, `${path} imports ${target}`)
  }
  return [...crossings].flatMap(([pair, first]) => {
    const [from = '', to = ''] = pair.split(' ')
    const back = from < to ? crossings.get(`${to} ${from}`) : undefined
    return back === undefined ? [] : [`${from} <-> ${to}: ${first}; ${back}`]
  })
}

/** The folders in which two paths part; none if one of the files is beside the folder of the other. */
function siblingsOf(path: string, target: string): string[] {
  const [from, to] = [path.split('/'), target.split('/')]
  const parting = from.findIndex((part, index) => part !== to[index])
  const depth = parting + 1
  return depth < from.length && depth < to.length ? [from, to].map((parts) => parts.slice(0, depth).join('/')) : []
}
