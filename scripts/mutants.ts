// npm run test:mutants -- [PATH …] [--sample 100] [--seed 1] [--minutes 5] [--share 0.7]: breaks the code of these folders and
// files in small ways, one at a time and in a copy, and counts how often a test notices. Writes build/mutants.md.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readCommandLine } from './commandLine.ts'
import { readSources, type Source } from '../test/tidy/source.ts'
import type { Answer } from './mutants/messages.ts'
import { mutantsOf } from './mutants/operators.ts'
import { testsByFile } from './mutants/reach.ts'
import { describe, render, type Tried } from './mutants/report.ts'
import type { Numbered } from './mutants/switches.ts'
import { Workshop } from './mutants/workshop.ts'

const ROOMS = ['src/core', 'src/delivery', 'src/media/relay', 'src/media/rtmp']
/** A mutant may take this much longer than the code as it is, on a machine that is busy with other things. */
const SLOWER_TIMES = 5
const SLOWER_MS = 15_000
/** A file of tests that takes longer is no quick test: it takes part in the first pass, with those of its tests that are quick. */
const QUICK_MS = 10_000

const { values, positionals } = readCommandLine({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '5' },
    /** Of the time: for trying all at once. Tests with a store that keeps what a mutant left behind need more time for each alone. */
    share: { type: 'string', default: '0.7' },
  },
})
const untilMs = performance.now() + Number(values.minutes) * 60_000
const folders = positionals.length > 0 ? positionals : ROOMS
const all = folders
  .flatMap(sourcesOf)
  .flatMap(mutantsOf)
  .map((mutant, id): Numbered => ({ ...mutant, id }))
const sample = all
  .map((mutant) => ({ mutant, rank: rankOf(mutant) }))
  .sort((a, b) => (a.rank < b.rank ? -1 : 1))
  .slice(0, Number(values.sample))
  .map(({ mutant }) => mutant)
const testsOf = testsByFile()
console.log(`${all.length} mutants in ${folders.join(', ')}; trying ${sample.length} with seed ${values.seed}`)

const workshop = new Workshop()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.on('exit', () => workshop.close())

// First all at once, each behind a switch. What survives that, or cannot be tried so, is tried alone, in a process of its own.
const tried: Tried[] = []
const paths = new Set(sample.map(({ path }) => path))
/** Random input and whole networks take long: what other tests notice need not wait for them. */
const SLOW = /^test\/(fuzz\/|media\/relay\/(amplification|returnPath|engine)\.)/
const slowLast = (tests: readonly string[]): string[] =>
  tests.toSorted((a, b) => Number(SLOW.test(a)) - Number(SLOW.test(b)))
const tests = slowLast([...new Set([...paths].flatMap(testsOf))])
/** What a quick test notices no slow one has to try. */
const rounds = [
  { tests: tests.filter((test) => !SLOW.test(test)), mostMs: 60 },
  { tests, mostMs: 1500 },
]
const notes = await workshop.rerun(
  all.filter(({ path }) => paths.has(path)),
  new Set(sample.map(({ id }) => id)),
  rounds,
  (untilMs - performance.now()) * Number(values.share),
)
for (const mutant of sample) if (notes.isKilled(mutant.id)) tried.push({ mutant, outcome: 'killed' })
// Those first of which the first pass says nothing.
const rest = sample
  .filter(({ id }) => !notes.isKilled(id))
  .toSorted((a, b) => Number(notes.isSurvivor(a.id)) - Number(notes.isSurvivor(b.id)))
const unfinished = notes.isComplete ? '' : ' (there was no time to try all at once)'
console.log(`${tried.length} are killed at once${unfinished}; ${rest.length} are tried alone`)
const baselineMs = new Map<string, number | null>()
for (const mutant of rest) {
  tried.push(performance.now() < untilMs ? await attempt(mutant) : { mutant, outcome: 'untried' })
}
mkdirSync('build', { recursive: true })
const report = render(tried, { all: all.length, seed: values.seed, folders })
writeFileSync('build/mutants.md', report)
console.log(report)
process.exit()

function sourcesOf(place: string): Source[] {
  const isFile = place.endsWith('.ts')
  return readSources([isFile ? dirname(place) : place], /\.ts$/).filter(({ path }) => !isFile || path === place)
}

function rankOf({ path, start, end, replacement }: Numbered): string {
  return createHash('sha256').update([values.seed, path, start, end, replacement].join()).digest('hex')
}

/** How long a test file takes; null: it fails or hangs without a mutant, so that it could not tell anything. */
async function measure(test: string): Promise<number | null> {
  const known = baselineMs.get(test)
  if (known !== undefined) return known
  const answer = await workshop.run(null, [test], 120_000)
  const failed = answer === 'timeout' ? 'it does not end' : answer.failed
  const ms = answer === 'timeout' || failed !== null ? null : answer.ms
  if (ms === null) console.log(`left out, because it fails as it is, with "${failed}": ${test}`)
  else if (ms > QUICK_MS) console.log(`left out, because it takes ${Math.round(ms)} ms: ${test}`)
  baselineMs.set(test, ms)
  return ms
}

async function attempt(mutant: Numbered): Promise<Tried> {
  const reached: string[] = []
  let usualMs = 0
  for (const test of slowLast(testsOf(mutant.path))) {
    const ms = await measure(test)
    if (ms === null || ms > QUICK_MS) continue
    reached.push(test)
    usualMs += ms
  }
  if (reached.length === 0) return { mutant, outcome: 'survived' }
  const answer = await runInTime(mutant, reached, usualMs)
  const outcome = answer === 'timeout' ? answer : answer.failed === null ? 'survived' : 'killed'
  console.log(`${tried.length + 1}/${sample.length} ${outcome} ${describe(mutant)}`)
  return { mutant, outcome }
}

/** A run that takes too long is repeated if the same tests take much longer without the mutant too: the machine is busy. */
async function runInTime(mutant: Numbered, tests: readonly string[], usualMs: number): Promise<Answer | 'timeout'> {
  const limitMs = (ms: number): number => ms * SLOWER_TIMES + SLOWER_MS
  const answer = await workshop.run(mutant, tests, limitMs(usualMs))
  if (answer !== 'timeout') return answer
  const now = await workshop.run(null, tests, limitMs(usualMs) * 4)
  if (now === 'timeout' || now.ms < usualMs * 2) return answer
  return workshop.run(mutant, tests, limitMs(now.ms))
}
