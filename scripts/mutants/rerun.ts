// Runs in the worker of the tests, in place of the usual runner: runs each test as it is, and then with each mutant on which
// it depends. What came of it is appended to a file line by line, so that it outlasts a worker that is killed.
import { appendFileSync, readFileSync } from 'node:fs'
import { type RunnerTestCase, type RunnerTestSuite, TestRunner, vi } from 'vitest'
import { DONE, WANTED, type Wanted } from './messages.ts'

/** A place that is passed this much more often than without the mutant is a loop without an end. */
const MORE_OFTEN = 100
const AT_LEAST = 100_000
const SLOWER_TIMES = 6
const SLOWER_MS = 1500

const counts = new Map<number, number>()
let active = -1
let most = Infinity
const isMutant = (id: number): boolean => {
  const count = (counts.get(id) ?? 0) + 1
  counts.set(id, count)
  if (id !== active) return false
  if (count > most) throw new Error('the mutant runs for ever')
  return true
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
    const passed = new Map(counts)
    const startedAtMs = performance.now()
    // A test that cannot be repeated as it is says nothing of mutants, and one that takes long takes too long for all of them.
    if ((await outcomeOf(run, wanted.mostMs)) !== 'passed') return
    const limitMs = (performance.now() - startedAtMs) * SLOWER_TIMES + SLOWER_MS
    for (const [id, count] of passed) {
      if (!left.has(id)) continue
      note('try', id)
      most = AT_LEAST + count * MORE_OFTEN
      counts.clear()
      if ((await outcomeWith(id, run, limitMs)) === 'passed') {
        note('survived', id)
        continue
      }
      left.delete(id)
      // Whatever it has left behind: what follows has to mean something.
      const isValid = (await outcomeOf(run, limitMs)) === 'passed'
      note(isValid ? 'killed' : 'unclear', id, test.name)
      if (!isValid) break
    }
    counts.clear()
  }
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

/** On a busy machine a test may be late by chance, so that being late counts when the test is not late without the mutant. */
async function outcomeWith(id: number, run: () => Promise<void>, limitMs: number): Promise<Outcome> {
  active = id
  const outcome = await outcomeOf(run, limitMs)
  active = -1
  if (outcome !== 'late' || (await outcomeOf(run, limitMs)) !== 'passed') return outcome
  active = id
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
