import { importsOf } from './imports.ts'
import type { Module } from './source.ts'

/** Groups of modules that import one another, by values or by types, each with its paths in order. */
export function circles(modules: readonly Module[]): string[][] {
  const targets = new Map(modules.map((module) => [module.path, importsOf(module).map(({ target }) => target)]))
  const found: string[][] = []
  const numbers = new Map<string, { at: number; low: number }>()
  const open: string[] = []
  // Tarjan, "Depth-first search and linear graph algorithms", 1972.
  const visit = (path: string): { at: number; low: number } => {
    const own = { at: numbers.size, low: numbers.size }
    numbers.set(path, own)
    open.push(path)
    for (const next of targets.get(path) ?? []) {
      if (!targets.has(next)) continue
      const seen = numbers.get(next)
      if (seen === undefined) own.low = Math.min(own.low, visit(next).low)
      else if (open.includes(next)) own.low = Math.min(own.low, seen.at)
    }
    if (own.low === own.at) {
      const group = open.splice(open.indexOf(path))
      if (group.length > 1) found.push(group.toSorted())
    }
    return own
  }
  for (const path of targets.keys()) if (!numbers.has(path)) visit(path)
  return found
}
