import { readFileSync } from 'node:fs'
import { lineAt } from '../../test/tidy/source.ts'
import type { Mutant } from './operators.ts'

export interface Tried {
  readonly mutant: Mutant
  /** A mutant that never returns is noticed too. */
  readonly outcome: 'killed' | 'timeout' | 'survived'
}

/** How many were noticed in each folder, and those that were not. */
export function render(tried: readonly Tried[], of: { all: number; seed: string; folders: readonly string[] }): string {
  const folders = Map.groupBy(tried, ({ mutant }) => mutant.path.slice(0, mutant.path.lastIndexOf('/')))
  const rows = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, ones]) => rowOf(folder, ones))
  const survivors = tried.filter(({ outcome }) => outcome === 'survived').map(({ mutant }) => `- ${describe(mutant)}`)
  return [
    `# Mutants of ${of.folders.join(', ')}`,
    `${tried.length} of ${of.all} tried, with seed ${of.seed}.`,
    ['| Folder | Tried | Killed | Of these by time | Survived | Share |', '|---|---|---|---|---|---|', ...rows].join(
      '\n',
    ),
    rowOf('All', tried),
    '## Survivors',
    survivors.sort().join('\n'),
    '',
  ].join('\n\n')
}

function rowOf(folder: string, ones: readonly Tried[]): string {
  const survived = ones.filter(({ outcome }) => outcome === 'survived').length
  const slow = ones.filter(({ outcome }) => outcome === 'timeout').length
  const share = Math.round((1 - survived / ones.length) * 100)
  return `| \`${folder}\` | ${ones.length} | ${ones.length - survived} | ${slow} | ${survived} | ${share}% |`
}

/** `path:line: code → code`, on one line. */
export function describe({ path, start, end, replacement }: Mutant): string {
  const text = readFileSync(path, 'utf8')
  const flat = (code: string): string => code.replace(/\s+/g, ' ').slice(0, 90)
  return `${path}:${lineAt(text, start)}: \`${flat(text.slice(start, end))}\` → \`${flat(replacement)}\``
}
