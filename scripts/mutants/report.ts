import { readFileSync } from 'node:fs'
import { lineAt } from '../../test/tidy/source.ts'
import type { Mutant } from './operators.ts'

export interface Tried {
  readonly mutant: Mutant
  /** A mutant that never returns is noticed too. `untried`: there was no time, so nothing is known of it. */
  readonly outcome: 'killed' | 'timeout' | 'survived' | 'untried'
}

/** How many were noticed in each folder, and those that were not. */
export function render(tried: readonly Tried[], of: { all: number; seed: string; folders: readonly string[] }): string {
  const folders = Map.groupBy(tried, ({ mutant }) => mutant.path.slice(0, mutant.path.lastIndexOf('/')))
  const rows = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, ones]) => rowOf(folder, ones))
  return [
    `# Mutants of ${of.folders.join(', ')}`,
    `${tried.length - count(tried, 'untried')} of ${of.all} tried, with seed ${of.seed}.`,
    [
      '| Folder | Tried | Killed | Of these by time | Survived | Share | No time for |',
      '|---|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
    rowOf('All', tried),
    '## Survivors',
    listOf(tried, 'survived'),
    '## No time for',
    listOf(tried, 'untried'),
    '',
  ].join('\n\n')
}

const count = (ones: readonly Tried[], which: Tried['outcome']): number =>
  ones.filter(({ outcome }) => outcome === which).length

const listOf = (ones: readonly Tried[], which: Tried['outcome']): string =>
  ones
    .filter(({ outcome }) => outcome === which)
    .map(({ mutant }) => `- ${describe(mutant)}`)
    .sort()
    .join('\n')

/** The share is that of the mutants that were tried. */
function rowOf(folder: string, ones: readonly Tried[]): string {
  const [slow, survived, untried] = [count(ones, 'timeout'), count(ones, 'survived'), count(ones, 'untried')]
  const all = ones.length - untried
  const share = all === 0 ? '' : `${Math.round((1 - survived / all) * 100)}%`
  return `| \`${folder}\` | ${all} | ${all - survived} | ${slow} | ${survived} | ${share} | ${untried} |`
}

/** `path:line: code → code`, on one line. */
export function describe({ path, start, end, replacement }: Mutant): string {
  const text = readFileSync(path, 'utf8')
  const flat = (code: string): string => code.replace(/\s+/g, ' ').slice(0, 90)
  return `${path}:${lineAt(text, start)}: \`${flat(text.slice(start, end))}\` → \`${flat(replacement)}\``
}
