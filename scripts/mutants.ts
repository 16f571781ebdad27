// npm run test:mutants -- [FOLDER …] [--sample 100] [--seed 1] [--minutes 5]: breaks the code of these folders in small ways, one at a
// time and in a copy, and counts how often a test notices. Writes build/mutants.md. The order is that of the seed, so what
// was tried when the time is up is a sample as well.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readSources } from '../test/tidy/source.ts'
import { type Mutant, mutantsOf } from './mutants/operators.ts'
import { testsByFile } from './mutants/reach.ts'
import { render, type Tried } from './mutants/report.ts'
import { Workshop } from './mutants/workshop.ts'

const ROOMS = ['src/core', 'src/delivery', 'src/media/relay', 'src/media/rtmp']
/** A mutant may take this much longer than the code as it is, on a machine that is busy with other things. */
const SLOWER_TIMES = 5
const SLOWER_MS = 15_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '5' },
  },
})
const untilMs = performance.now() + Number(values.minutes) * 60_000
const folders = positionals.length > 0 ? positionals : ROOMS
const all = readSources(folders, /\.ts$/).flatMap(mutantsOf)
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

const tried: Tried[] = []
const baselineMs = await measure(new Set(sample.flatMap(({ path }) => testsOf(path))))
for (const mutant of sample) {
  if (performance.now() > untilMs) break
  tried.push(await attempt(mutant))
}
mkdirSync('build', { recursive: true })
const report = render(tried, { all: all.length, seed: values.seed, folders })
writeFileSync('build/mutants.md', report)
console.log(report)
process.exit()

function rankOf({ path, start, end, replacement }: Mutant): string {
  return createHash('sha256').update([values.seed, path, start, end, replacement].join()).digest('hex')
}

/** How long each test file takes. One that fails without a mutant could not tell anything, and is left out. */
async function measure(tests: ReadonlySet<string>): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const test of tests) {
    const answer = await workshop.run(null, [test], 120_000)
    if (answer !== 'timeout' && answer.failed === null) found.set(test, answer.ms)
    else console.log(`left out, because it fails as it is: ${test}`)
  }
  return found
}

async function attempt(mutant: Mutant): Promise<Tried> {
  const tests = testsOf(mutant.path).filter((test) => baselineMs.has(test))
  if (tests.length === 0) return { mutant, outcome: 'survived', by: 'no test imports it' }
  const usualMs = tests.reduce((sum, test) => sum + (baselineMs.get(test) ?? 0), 0)
  const answer = await workshop.run(mutant, tests, usualMs * SLOWER_TIMES + SLOWER_MS)
  const outcome = answer === 'timeout' ? answer : answer.failed === null ? 'survived' : 'killed'
  console.log(`${tried.length + 1}/${sample.length} ${outcome} ${mutant.path}`)
  return { mutant, outcome, by: answer === 'timeout' ? null : answer.failed }
}
