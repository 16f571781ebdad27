import { TEST_MS, WAIT_MS } from '../lanes.ts'
import { finding, isNode, type Module, nameOf, type SyntaxNode } from './source.ts'

const TESTS = new Set(['test', 'it', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach'])

/** Limits of tests and waits that are below those of their project, which only a slow machine reaches. */
export function shortLimits(module: Module): string[] {
  const say = (node: SyntaxNode, text: string): string => finding(module, node.start, text)
  return module.nodes
    .filter(({ type }) => type === 'CallExpression')
    .flatMap((call) => {
      const limits = limitsOf(module, call)
      if (isTest(call))
        return limits.some((ms) => !(ms >= TEST_MS)) ? [say(call, 'a test has the limit of its project')] : []
      if (!isWait(call)) return []
      const isShort = limits.some((ms) => !(ms >= WAIT_MS)) || (limits.length === 0 && isOfVitest(call))
      return isShort ? [say(call, `a wait ends with its condition; its limit is ${WAIT_MS} ms or more`)] : []
    })
}

/** `test(…)`, `test.each(…)(…)`, `describe.skipIf(…)(…)` and the like. */
function isTest({ callee, object }: SyntaxNode): boolean {
  const inner = callee ?? object
  return isNode(inner) && (inner.type === 'Identifier' ? TESTS.has(nameOf(inner)) : isTest(inner))
}

const memberOf = ({ callee }: SyntaxNode): string => (isNode(callee) ? nameOf(callee['property']) : '')

const isWait = (call: SyntaxNode): boolean => /^(poll|waitFor|waitUntil)$/.test(memberOf(call))

/** Without a limit `vi.waitFor` waits for a second, in each project. */
const isOfVitest = ({ callee }: SyntaxNode): boolean => isNode(callee) && nameOf(callee['object']) === 'vi'

/** The limits after the first argument, milliseconds; NaN for one that is computed. */
function limitsOf(module: Module, { arguments: given }: SyntaxNode): number[] {
  const [, ...options] = Array.isArray(given) ? (given as unknown[]) : []
  return options.flatMap((option) => limitsIn(module, option))
}

function limitsIn(module: Module, option: unknown): number[] {
  if (!isNode(option)) return []
  if (option.type === 'Literal') return typeof option['value'] === 'number' ? [option['value']] : []
  if (option.type === 'BinaryExpression') return [Number.NaN]
  if (option.type === 'Identifier') return limitsIn(module, constantOf(module, nameOf(option)))
  if (option.type !== 'ObjectExpression') return []
  return (option['properties'] as SyntaxNode[]).flatMap((property) => {
    if (property.type === 'SpreadElement') return limitsIn(module, property['argument'])
    return nameOf(property['key']) === 'timeout' ? limitsIn(module, property['value']) : []
  })
}

/** What a constant of this module was set to. */
const constantOf = (module: Module, name: string): unknown =>
  module.nodes.find(({ type, id }) => type === 'VariableDeclarator' && isNode(id) && nameOf(id) === name)?.['init']
