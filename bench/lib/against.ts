import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './report.ts'

/** A figure may be this much worse than that of the other tree. */
const WORSE_MAX = 1.05

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The figures of a bench, by what they are of, with the values of each round. */
type Figures = Map<string, { readonly isHigherBetter: boolean; readonly values: number[] }>

/**
 * Runs benches in this tree and in that of a commit in turns, and prints the medians of each figure and their ratio.
 * Returns false if a figure is worse by more than 5%, or if a tree has no figures.
 */
export function compareWith(commit: string, names: readonly string[], rounds: number): boolean {
  const other = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  git('worktree', 'add', '--detach', '--force', other, commit)
  try {
    prepare(other)
    return names.map((name) => comparePair(other, commit, name, rounds)).every(Boolean)
  } finally {
    git('worktree', 'remove', '--force', other)
    rmSync(other, { recursive: true, force: true })
  }
}

/** Takes the packages of this tree where they are the same. */
function prepare(tree: string): void {
  const lock = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8')
  if (lock(tree) === lock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: tree, stdio: 'ignore' })
  execFileSync(process.execPath, ['scripts/setup.mjs'], { cwd: tree, stdio: 'ignore' })
}

function comparePair(other: string, commit: string, name: string, rounds: number): boolean {
  console.log(`\n# ${name}: this tree against ${commit}, medians of ${rounds}`)
  const [ours, theirs]: [Figures, Figures] = [new Map(), new Map()]
  for (let round = 0; round < rounds; round += 1) {
    measure(root, name, ours)
    measure(other, name, theirs)
  }
  const both = [...ours].flatMap(([what, one]) => {
    const old = theirs.get(what)
    return old === undefined ? [] : [{ what, ...one, now: median(one.values), before: median(old.values) }]
  })
  if (both.length === 0) console.log('no figure that both trees have')
  return both.map(printPair).every(Boolean) && both.length > 0
}

function printPair(pair: { what: string; isHigherBetter: boolean; now: number; before: number }): boolean {
  const { what, isHigherBetter, now, before } = pair
  const isWorse = (isHigherBetter ? before / now : now / before) > WORSE_MAX
  console.log(
    `${what}: ${now.toPrecision(3)} against ${before.toPrecision(3)}, ratio ${(now / before).toFixed(3)}${isWorse ? ' WORSE' : ''}`,
  )
  return !isWorse
}

/** Adds what a bench reports in a tree: lines as `report` prints them. */
function measure(tree: string, name: string, figures: Figures): void {
  const { stdout } = spawnSync(process.execPath, [`bench/${name}.ts`], { cwd: tree, encoding: 'utf8' })
  for (const [, what = '', ratio, target = ''] of stdout.matchAll(
    /^(.+): (-?[\d.]+) \(target (.+?): (?:met|MISSED)\)/gm,
  )) {
    const figure = figures.get(what) ?? { isHigherBetter: target.startsWith('>'), values: [] }
    figure.values.push(Number(ratio))
    figures.set(what, figure)
  }
}

function git(...command: string[]): void {
  execFileSync('git', command, { cwd: root, stdio: 'ignore' })
}
