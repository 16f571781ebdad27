import { parseAst } from 'vitest/node'
import { isNode, nameOf, type Source, type SyntaxNode } from '../../test/tidy/source.ts'

/** One small change of one file that a test should notice. */
export interface Mutant {
  readonly path: string
  /** The text from `start` to `end` is replaced. */
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** By operator, what stands in its place: the boundary moved, and the opposite. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&': ['|'],
  '|': ['&'],
  '^': ['|'],
  '+=': ['-='],
  '-=': ['+='],
  '*=': ['/='],
  '|=': ['&='],
  '&=': ['|='],
  '??=': ['='],
  '||=': ['='],
}
const OTHER_METHODS = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['some', 'every'],
  ['every', 'some'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
])
/** `x.filter(f)` becomes `x`. */
const LEFT_OUT = new Set(['filter', 'slice', 'trim', 'toLowerCase', 'toUpperCase', 'sort', 'toSorted', 'reverse'])
/** Type-level nodes that hold an expression which runs. */
const TRANSPARENT = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'])

/** Every mutant of a file that is TypeScript still. What is only logged, or thrown because Sluice is broken, stays. */
export function mutantsOf({ path, text }: Source): Mutant[] {
  const found: Mutant[] = []
  const inChains = new Set<unknown>()
  const visit = (node: SyntaxNode): void => {
    if (isLeftAlone(node, text)) return
    if (node.type === 'ChainExpression') for (const link of linksOf(node['expression'])) inChains.add(link)
    // A part of `a?.b.c()` on its own is not skipped when there is no `a`.
    if (!inChains.has(node)) for (const change of changesOf(node, text)) found.push({ path, ...change })
    for (const [key, value] of Object.entries(node)) {
      // A name is no expression, unless it is computed.
      if (key === 'key' && node['computed'] !== true) continue
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) if (isNode(child)) visit(child)
    }
  }
  visit(syntaxOf(text, path))
  return found.filter((mutant) => parses(mutate(text, mutant), path))
}

/** What stands left of the last link of a chain. */
function* linksOf(node: unknown): Generator {
  if (!isNode(node)) return
  const left = node['callee'] ?? node['object'] ?? node['expression']
  yield left
  yield* linksOf(left)
}

export const mutate = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end)

const syntaxOf = (text: string, path: string): SyntaxNode =>
  parseAst(text, { lang: 'ts' }, path) as unknown as SyntaxNode

function parses(text: string, path: string): boolean {
  try {
    syntaxOf(text, path)
    return true
  } catch {
    return false
  }
}

function isLeftAlone(node: SyntaxNode, text: string): boolean {
  if (node.type.startsWith('TS')) return !TRANSPARENT.has(node.type)
  if (node.type === 'ImportDeclaration' || node.type === 'ThrowStatement') return true
  return node.type === 'CallExpression' && /(^|[.#])log(\.\w+|\[[^\]]*\])$/.test(textOf(node['callee'], text))
}

type Change = Omit<Mutant, 'path'>

function changesOf(node: SyntaxNode, text: string): Change[] {
  const { start, end } = node
  const instead = (...replacements: string[]): Change[] =>
    replacements.map((replacement) => ({ start, end, replacement }))
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return isNode(node['test'])
        ? ['true', 'false'].map((replacement) => ({ ...spanOf(node['test'] as SyntaxNode), replacement }))
        : []
    case 'LogicalExpression':
    case 'BinaryExpression':
    case 'AssignmentExpression':
      return instead(...otherOperators(node, text))
    case 'UnaryExpression':
      return ['!', '-', '~'].includes(String(node['operator'])) ? instead(textOf(node['argument'], text)) : []
    case 'UpdateExpression':
      return instead(text.slice(start, end).replace(/\+\+|--/, (sign) => (sign === '++' ? '--' : '++')))
    case 'Literal':
      return instead(...otherLiterals(node['value']))
    case 'ExpressionStatement':
      return isEffect(node['expression'], text) ? instead(';') : []
    case 'CallExpression':
      return instead(...otherCalls(node, text))
    default:
      return []
  }
}

const spanOf = ({ start, end }: SyntaxNode): { start: number; end: number } => ({ start, end })
const textOf = (node: unknown, text: string): string => (isNode(node) ? text.slice(node.start, node.end) : '')

function otherOperators(node: SyntaxNode, text: string): string[] {
  const { left, right } = node
  const operator = String(node['operator'])
  if (!isNode(left) || !isNode(right)) return []
  // Texts are put together with a plus.
  if (/^\+=?$/.test(operator) && (isText(left) || isText(right))) return []
  const at = text.indexOf(operator, left.end)
  return (OTHERS[operator] ?? []).map((other) => {
    const changed = text.slice(node.start, at) + other + text.slice(at + operator.length, node.end)
    return node.type === 'AssignmentExpression' ? changed : `(${changed})`
  })
}

const isText = (node: SyntaxNode): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string')

function otherLiterals(value: unknown): string[] {
  if (typeof value === 'boolean') return [String(!value)]
  if (typeof value === 'number') return [String(value + 1)]
  return typeof value === 'bigint' ? [`${value + 1n}n`] : []
}

/** A statement that does something, so that it can be forgotten. */
function isEffect(expression: unknown, text: string): boolean {
  if (!isNode(expression) || isLeftAlone(expression, text)) return false
  if (expression.type === 'AwaitExpression' || expression.type === 'UnaryExpression')
    return isEffect(expression['argument'], text)
  return ['CallExpression', 'AssignmentExpression', 'UpdateExpression'].includes(expression.type)
}

function otherCalls(node: SyntaxNode, text: string): string[] {
  const callee = node['callee']
  if (!isNode(callee) || callee.type !== 'MemberExpression' || !isNode(callee['property'])) return []
  const { property, object } = callee
  const other = OTHER_METHODS.get(nameOf(property))
  if (other !== undefined) return [text.slice(node.start, property.start) + other + text.slice(property.end, node.end)]
  return LEFT_OUT.has(nameOf(property)) ? [textOf(object, text)] : []
}
