import type { Mutant } from './operators.ts'

/** A mutant with the number under which it can be switched on. */
export interface Numbered extends Mutant {
  readonly id: number
}

/** What the code of a file asks at each place that a mutant changes; `rerun.ts` answers. In other processes nothing does. */
const ASK = 'globalThis.__isMutant?.'

/**
 * The text of a file with all of its mutants in it, each behind a switch: to try the next one nothing has to be loaded. Mutants
 * lie within each other or apart, as the nodes of the syntax tree do.
 */
export function withSwitches(text: string, mutants: readonly Numbered[]): string {
  const outermostFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end)
  return render(text, 0, text.length, outermostFirst)
}

function render(text: string, from: number, until: number, mutants: readonly Numbered[]): string {
  let written = ''
  let at = from
  for (let next = 0; next < mutants.length; ) {
    const { start, end } = mutants[next] as Numbered
    const count = mutants.slice(next).findIndex((one) => one.start >= end)
    const within = mutants.slice(next, count < 0 ? mutants.length : next + count)
    const [here, inside] = [
      within.filter((one) => one.start === start && one.end === end),
      within.filter((one) => one.start !== start || one.end !== end),
    ]
    written += text.slice(at, start) + choice(here, render(text, start, end, inside))
    at = end
    next += within.length
  }
  return written + text.slice(at, until)
}

/** A statement that is left out, and an expression that is another one. Without semicolons both may have the same place. */
function choice(mutants: readonly Numbered[], code: string): string {
  const [gone, others] = [
    mutants.find(({ replacement }) => replacement === ';'),
    mutants.filter(({ replacement }) => replacement !== ';'),
  ]
  const cases = others.map(({ id, replacement }) => `${ASK}(${id}) ? (${replacement}) : `).join('')
  const expression = others.length > 0 ? `(${cases}${code})` : code
  return gone ? `{ if (!${ASK}(${gone.id})) ${expression} }` : expression
}
