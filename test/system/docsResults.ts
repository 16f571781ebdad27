import type { Block } from '../support/markdown.ts'

/** How an output differs from the result that a page states; null if it does not. `…` stands for anything. */
export function difference(stated: Block, output: string): string | null {
  return stated.language === 'json' ? jsonDifference(stated.code, output) : textDifference(stated.code, output)
}

/** Every line that is stated comes, in this order; others may come between. */
function textDifference(stated: string, output: string): string | null {
  const lines = output.split('\n')
  let from = 0
  for (const line of stated.trimEnd().split('\n')) {
    const found = lines.findIndex((each, at) => at >= from && pattern(line.trimEnd()).test(each.trimEnd()))
    if (found < 0) return `"${line}" is not in the output:\n${output}`
    from = found + 1
  }
  return null
}

function jsonDifference(stated: string, output: string): string | null {
  try {
    const where = valueDifference(JSON.parse(stated), JSON.parse(output), '')
    return where === null ? null : `${where} differs:\n${output}`
  } catch {
    return `is not JSON:\n${output}`
  }
}

/** The path at which a value is not what is stated. An object may have more members; a list has as many items. */
function valueDifference(stated: unknown, actual: unknown, path: string): string | null {
  if (typeof stated === 'string' && typeof actual === 'string') return pattern(stated).test(actual) ? null : path || '/'
  if (typeof stated !== 'object' || stated === null) return stated === actual ? null : path || '/'
  if (typeof actual !== 'object' || actual === null) return path || '/'
  if (Array.isArray(stated) && (!Array.isArray(actual) || actual.length !== stated.length)) return path || '/'
  for (const [name, value] of Object.entries(stated)) {
    const wrong = valueDifference(value, (actual as Record<string, unknown>)[name], `${path}/${name}`)
    if (wrong !== null) return wrong
  }
  return null
}

const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('…')
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('.*')}$`,
    's',
  )
