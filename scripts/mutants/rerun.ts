// Runs in the worker of the tests, in place of the usual runner: runs each test as it is, and then with each mutant on which
// it depends. What came of it is appended to a file line by line, so that it outlasts a worker that is killed.
import { appendFileSync, readFileSync } from 'node:fs'
import { type RunnerTestCase, type RunnerTestSuite, TestRunner, vi } from 'vitest'
import { DONE, WANTED, type Wanted } from './messages.ts'

/** If all places together are passed this much more often than without the mutant, there is a loop without an end. */
const MORE_OFTEN = 100
const AT_LEAST = 1_000_000
const SLOWER_TIMES = 6
const SLOWER_MS = 500
/** Without the mutant a test that takes longer than this share of the limit shows that the machine is busy. */
const BUSY_SHARE = 1 / 3
const CONTROLS_MAX = 3

const counts = new Map<number, number>()
let active = -1
let passes = 0
let most = Infinity
const isMutant = (id: number): boolean => {
  passes += 1
  if (active === -1) counts.set(id, (counts.get(id) ?? 0) + 1)
  else if (passes > most) throw new Error('the mutant runs for ever')
  return id === active
}
Object.assign(globalThis, { __isMutant: isMutant })

let patienceMs = Infinity
let hasWaited = false
/** A condition that never comes true does not hold up a repetition for as long as its test would wait for it. */
const { waitFor } = vi
vi.waitFor = (check, options = {}) => {
  const { timeout = 1000, ...others } = typeof options === 'number' ? { timeout: options } : options
  const waited = waitFor(check, { ...others, timeout: Math.min(timeout, patienceMs * 0.8) })
  return waited.catch((error: unknown) => {
    hasWaited = true
    throw error
  })
}

// Tests may put clocks of their own in their place.
const { setTimeout, clearTimeout } = globalThis

const wanted = JSON.parse(readFileSync(WANTED, 'utf8')) as Wanted
const left = new Set(wanted.ids)

export default class extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const first = TestRunner.getTestFn(test) as () => Promise<void>
    const run = repeatable(test, first)
    // What ran before the first test ran only once: when a module was loaded, or tests were described.
    for (const id of counts.keys()) note('static', id)
    counts.clear()
    patienceMs = Infinity
    const firstAtMs = performance.now()
    await first()
    if (performance.now() - firstAtMs > wanted.mostMs * 2) return counts.clear()
    counts.clear()
    passes = 0
    const startedAtMs = performance.now()
    // A test that cannot be repeated as it is says nothing of mutants, and one that takes long takes too long for all of them.
    if ((await outcomeOf(run, wanted.mostMs)) !== 'passed') return
    const passed = new Map(counts)
    most = AT_LEAST + passes * MORE_OFTEN
    const limitMs = (performance.now() - startedAtMs) * SLOWER_TIMES + SLOWER_MS
    for (const id of passed.keys()) {
      if (!left.has(id)) continue
      note('try', id)
      counts.clear()
      if ((await outcomeWith(id, run, limitMs)) === 'passed') {
        note('survived', id)
        continue
      }
      left.delete(id)
      const isValid = await passesAgain(run, limitMs)
      note(isValid ? 'killed' : 'unclear', id, test.name)
      if (!isValid) break
    }
    counts.clear()
  }
}

/** Whether what the mutant left behind is gone: what follows has to mean something. The first run may stumble over the rest. */
async function passesAgain(run: () => Promise<void>, limitMs: number): Promise<boolean> {
  for (let runs = 0; runs < CONTROLS_MAX; runs += 1) if ((await outcomeOf(run, limitMs)) === 'passed') return true
  return false
}

/** The test once more: what follows a test and what comes before one is done in between. */
function repeatable(test: RunnerTestCase, run: () => Promise<void>): () => Promise<void> {
  const suites: RunnerTestSuite[] = []
  for (let suite = test.suite ?? test.file; suite; suite = suite.suite ?? suite.file) {
    suites.push(suite)
    if (suite === suite.file) break
  }
  const hooks = suites.map((suite) => ({ suite, ...TestRunner.getSuiteHooks(suite) }))
  return async () => {
    for (const { suite, afterEach } of hooks) for (const hook of afterEach.toReversed()) await hook(test.context, suite)
    for (const { suite, beforeEach } of hooks.toReversed())
      for (const hook of beforeEach) await hook(test.context, suite)
    await run()
  }
}

/** On a busy machine a test may be late by chance: then it is tried again. */
async function outcomeWith(id: number, run: () => Promise<void>, limitMs: number): Promise<Outcome> {
  active = id
  passes = 0
  const outcome = await outcomeOf(run, limitMs)
  active = -1
  const controlAtMs = performance.now()
  if (outcome !== 'late' || (await outcomeOf(run, limitMs)) !== 'passed') return outcome
  if (performance.now() - controlAtMs < limitMs * BUSY_SHARE) return outcome
  active = id
  passes = 0
  const again = await outcomeOf(run, limitMs)
  active = -1
  return again
}

type Outcome = 'passed' | 'failed' | 'late'

async function outcomeOf(run: () => Promise<void>, limitMs: number): Promise<Outcome> {
  patienceMs = limitMs
  hasWaited = false
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Outcome>((resolve) => (timer = setTimeout(resolve, limitMs, 'late')))
  const done = (async (): Promise<Outcome> => {
    try {
      await run()
      return 'passed'
    } catch {
      return hasWaited ? 'late' : 'failed'
    }
  })()
  const outcome = await Promise.race([done, late])
  clearTimeout(timer)
  return outcome
}

function note(what: string, id: number, by = ''): void {
  appendFileSync(DONE, `${what} ${id} ${by.replace(/\s+/g, ' ')}\n`)
}
