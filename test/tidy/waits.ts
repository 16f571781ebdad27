import { importsOf } from './imports.ts'
import { finding, isNode, type Module, nameOf, type SyntaxNode } from './source.ts'

/** Where tests get their waits from, and the client that reloads playlists as a player does. */
const WAITS = new Set(['test/support/until.ts', 'test/hls/client.ts'])

const USE_UNTIL = 'a fixed time proves nothing on a slow machine; wait for a condition (test/support/until.ts)'
const LOOP = /^(For|While|DoWhile)/

/**
 * Waits of a test for a fixed time. What has not happened after some time may happen later on a slower machine: wait for
 * something that comes after it instead. `pace` is for sources and players, and therefore stands in their loop.
 */
export function fixedWaits(module: Module): string[] {
  if (WAITS.has(module.path)) return []
  const found = [...timerImports(module), ...timerPromises(module), ...clockSleeps(module)]
  return [
    ...found.map(({ start }) => finding(module, start, USE_UNTIL)),
    ...callsOf(module, 'pace')
      .filter((call) => !module.nodes.some((node) => LOOP.test(node.type) && isWithin(call, node)))
      .map(({ start }) => finding(module, start, 'pace stands outside of a loop; wait for a condition')),
  ]
}

/**
 * Times that a test measures. It would compare them with others, which is a figure of the machine. A clock for what is
 * tested, `() => performance.now()`, measures nothing.
 */
export function measuredTimes(module: Module): string[] {
  if (!module.path.endsWith('.test.ts')) return []
  const clocks = module.nodes.filter(
    ({ type, body }) => type === 'ArrowFunctionExpression' && isNode(body) && body.type !== 'BlockStatement',
  )
  return module.nodes
    .filter(({ type, callee }) => type === 'CallExpression' && MEASURES.test(textOf(module, callee)))
    .filter((call) => !clocks.some((clock) => isWithin(call, clock)))
    .map(({ start }) => finding(module, start, 'a duration is a figure of the machine; assert an order or a count'))
}

const MEASURES = /^(performance\.now|process\.hrtime(\.bigint)?)$/

const timerImports = (module: Module): { start: number }[] =>
  importsOf(module).filter(
    ({ target, names }) => target === 'node:timers/promises' && names.some((name) => name !== 'setImmediate'),
  )

/** `new Promise((resolve) => setTimeout(resolve, ms))`. */
const timerPromises = (module: Module): SyntaxNode[] => {
  const promises = module.nodes.filter(({ type, callee }) => type === 'NewExpression' && nameOf(callee) === 'Promise')
  return callsOf(module, 'setTimeout').filter((call) =>
    promises.some((promise) => isWithin(call, promise) && argumentsOf(call)[0]?.type === 'Identifier'),
  )
}

/**
 * `systemClock.sleep(100)`. A clock that passes its signal on is part of another one; the clocks of tests
 * move with what happens.
 */
const clockSleeps = (module: Module): SyntaxNode[] =>
  /\b(Manual|Fast)Clock\b/.test(module.text)
    ? []
    : module.nodes.filter(
        (node) =>
          node.type === 'CallExpression' &&
          /clock\.sleep$/i.test(textOf(module, node['callee'])) &&
          argumentsOf(node).length === 1,
      )

const callsOf = (module: Module, name: string): SyntaxNode[] =>
  module.nodes.filter(
    ({ type, callee }) =>
      type === 'CallExpression' && isNode(callee) && callee.type === 'Identifier' && nameOf(callee) === name,
  )

const argumentsOf = (call: SyntaxNode): SyntaxNode[] => call['arguments'] as SyntaxNode[]
const textOf = (module: Module, node: unknown): string => (isNode(node) ? module.text.slice(node.start, node.end) : '')
const isWithin = (inner: SyntaxNode, outer: SyntaxNode): boolean => outer.start <= inner.start && inner.end <= outer.end
