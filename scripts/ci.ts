// All of .ci/run after the packages are installed: lint, format and types at once, `npm test`, then the lanes of what
// changed since the commit in .ci/passed, two at a time, until 15 minutes are over. The last lines name what failed, which
// lanes did not run, and count the tests.
//   npm run ci -- [--all [--from NAME]]
// `--all` runs every lane, however long it takes, writes each one's time and result into build/lanes.json, and when all of
// them are green at one commit, that commit into .ci/passed. `--from` skips the lanes before NAME, which ran already.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { LANE_NAMES, LANES, type LaneName } from '../test/lanes.ts'
import { lanesOf } from '../test/tidy/areas.ts'
import { countReports, type Counted } from './ci/count.ts'
import { type Outcome, runSection } from './ci/section.ts'

const path = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))
const PASSED = path('.ci/passed')
const RESULTS = path('build/lanes.json')

/** Of the gate, from the start of .ci/run. */
const GATE_SECONDS = 15 * 60
/** More than any section needs on a slow machine, so that a process that hangs ends as a failure. */
const LIMIT_SECONDS = 1500
const LANE_LIMIT_FACTOR = 5
/** Kills of the lane `crash` in `--all`; without it the test's own default. */
const CRASH_ROUNDS_OF_ALL = '200'
/** How much more random input `--all` tries than the gate. */
const FUZZ_RUNS_OF_ALL = '10'

const args = process.argv.slice(2)
const isAll = args.includes('--all')
const from = args.includes('--from') ? (args[args.indexOf('--from') + 1] ?? '') : LANE_NAMES[0]
const startedMs = Number(process.env['CI_STARTED'] ?? Math.round(Date.now() / 1000)) * 1000
const secondsLeft = (): number => (isAll ? Infinity : GATE_SECONDS - (Date.now() - startedMs) / 1000)

const failures: string[] = []
const notRun: LaneName[] = []
const reports: string[] = []

interface Result {
  readonly seconds: number
  readonly outcome: Outcome
  readonly passed: number
  readonly failed: number
}

/** Lanes by name, at one commit. */
interface Results {
  readonly commit: string
  readonly lanes: Record<string, Result>
}

if (LANE_NAMES.every((name) => name !== from)) {
  console.error(`There is no lane ${from}. Lanes: ${LANE_NAMES.join(', ')}`)
  process.exit(2)
}
mkdirSync(path('build'), { recursive: true })
const commit = git('rev-parse', 'HEAD')
const results = readResults()
const lanes = isAll ? LANE_NAMES.slice(LANE_NAMES.indexOf(from as LaneName)) : lanesOf(changed())
console.log(`lanes: ${lanes.join(', ') || 'none'}`)

if (from === LANE_NAMES[0]) await gate()
await runLanes([...lanes])
report()

/** Lint, format and types use little more than a core each; the tests need both. */
async function gate(): Promise<void> {
  await npm('types of the interface', 'build:api')
  await Promise.all([npm('lint', 'lint'), npm('format', 'format:check'), npm('types', 'typecheck')])
  await test('test', ['test'], LIMIT_SECONDS)
}

async function npm(name: string, script: string): Promise<void> {
  const { outcome } = await runSection(name, ['run', '--silent', script], { limitSeconds: LIMIT_SECONDS })
  if (outcome !== 'ok') failures.push(name)
}

/** Runs the tests of an npm script and keeps its report, unless the time was over before its end. */
async function test(name: string, script: readonly string[], limitSeconds: number): Promise<Outcome> {
  const env = isAll ? { CRASH_ROUNDS: CRASH_ROUNDS_OF_ALL, FUZZ_RUNS: FUZZ_RUNS_OF_ALL } : {}
  const stopSeconds = name === 'test' ? Infinity : secondsLeft()
  const { outcome, seconds } = await runSection(name, script, { limitSeconds, stopSeconds, env })
  if (outcome === 'stopped') return outcome
  const file = path(`build/${name}.json`)
  reports.push(file)
  const { passed, failed } = countReports([file])
  results.lanes[name] = { seconds: Math.round(seconds), outcome, passed, failed }
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`)
  if (outcome !== 'ok') failures.push(name)
  return outcome
}

/** One lane that computes beside one that waits; when one kind is at its end, both columns take of the other. */
async function runLanes(left: LaneName[]): Promise<void> {
  // Two installers of Debian's packages would wait for one another.
  const needs = [...new Set(left.map((name) => LANES[name].needs))]
  if (needs.length > 0) await setUp(needs)
  const next = (kind: 'computes' | 'waits'): LaneName | undefined => {
    const at = left.findIndex((name) => LANES[name].mostly === kind)
    const index = at === -1 ? 0 : at
    return left.splice(index, 1)[0]
  }
  const column = async (kind: 'computes' | 'waits'): Promise<void> => {
    for (let name = next(kind); name !== undefined; name = next(kind)) await runLane(name)
  }
  await Promise.all([column('computes'), column('waits')])
}

async function runLane(name: LaneName): Promise<void> {
  if (secondsLeft() < LANES[name].seconds) {
    notRun.push(name)
    return
  }
  const limitSeconds = Math.max(LIMIT_SECONDS, LANE_LIMIT_FACTOR * LANES[name].seconds)
  const outcome = await test(name, ['run', '--silent', `test:${name}`], limitSeconds)
  if (outcome === 'stopped') notRun.push(name)
}

async function setUp(needs: readonly string[]): Promise<void> {
  const { outcome } = await runSection('setup', ['run', '--silent', 'setup', '--', `--for=${needs.join(',')}`], {
    limitSeconds: LIMIT_SECONDS,
  })
  if (outcome !== 'ok') failures.push('setup')
}

/** Files that differ from the commit at which all lanes were green; without one, a path that concerns all lanes. */
function changed(): string[] {
  try {
    const base = readFileSync(PASSED, 'utf8').trim()
    return git('diff', '--name-only', base, '--').split('\n').filter(Boolean)
  } catch (error) {
    console.log(`all lanes: the commit of .ci/passed is not known here (${(error as Error).message.split('\n')[0]})`)
    return ['?']
  }
}

function git(...command: string[]): string {
  // The clone may belong to another user.
  const args = ['-c', 'safe.directory=*', ...command]
  return execFileSync('git', args, { cwd: path('.'), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

function readResults(): Results {
  const known = existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : undefined
  return known?.commit === commit ? known : { commit, lanes: {} }
}

function report(): void {
  const counted: Counted = countReports(reports)
  for (const line of counted.lines) console.log(line)
  if (failures.length > 0) console.log(`failed: ${failures.join(', ')}`)
  if (notRun.length > 0) console.log(`not run, for want of time: ${notRun.join(', ')} (.ci/run --all runs them)`)
  if (isAll) recordPassed()
  const isGreen = failures.length === 0 && counted.failed === 0 && (counted.passed > 0 || from !== LANE_NAMES[0])
  const failed = counted.failed === 0 && !isGreen ? failures.length : counted.failed
  console.log(`${counted.passed} passed, ${failed} failed`)
  process.exitCode = isGreen ? 0 : 1
}

/** The base of the next changes: all lanes are green at this commit, in one run or in several. */
function recordPassed(): void {
  const isGreen = ['test', ...LANE_NAMES].every((name) => results.lanes[name]?.outcome === 'ok')
  if (isGreen && failures.length === 0 && git('status', '--porcelain') === '') writeFileSync(PASSED, `${commit}\n`)
}
