// Runs in the worker of the tests, in place of the usual runner: runs each test as it is, and then with each mutant on which
// it depends. What came of it is appended to a file line by line, so that it outlasts a worker that is killed.
import { appendFileSync, readFileSync } from 'node:fs'
import { type RunnerTestCase, TestRunner } from 'vitest'
import { DONE, WANTED } from './messages.ts'

/** A place that is passed this much more often than without the mutant is a loop without an end. */
const MORE_OFTEN = 100
const AT_LEAST = 100_000
const SLOWER_TIMES = 20
const SLOWER_MS = 2000
const REPEATED_MS = 1000

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

// Tests may put clocks of their own in their place.
const { setTimeout, clearTimeout } = globalThis

const left = new Set(JSON.parse(readFileSync(WANTED, 'utf8')) as number[])

export default class extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test) as () => Promise<void>
    // What ran before the first test ran only once: when a module was loaded, or tests were described.
    for (const id of counts.keys()) note('static', id)
    counts.clear()
    await run()
    const passed = new Map(counts)
    const startedAtMs = performance.now()
    // A test that cannot be repeated as it is says nothing of mutants, and one that takes long takes too long for all of them.
    if (!(await passes(run, REPEATED_MS))) return
    const limitMs = (performance.now() - startedAtMs) * SLOWER_TIMES + SLOWER_MS
    for (const [id, count] of passed) {
      if (!left.has(id)) continue
      note('try', id)
      most = AT_LEAST + count * MORE_OFTEN
      counts.clear()
      active = id
      const survived = await passes(run, limitMs)
      active = -1
      if (!survived) {
        left.delete(id)
        // Whatever it has left behind: what follows has to mean something.
        const isSound = await passes(run, limitMs)
        note(isSound ? 'killed' : 'unclear', id, test.name)
        if (!isSound) break
      } else note('survived', id)
    }
    counts.clear()
  }
}

async function passes(run: () => Promise<void>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, limitMs, false)))
  const done = (async () => {
    try {
      await run()
      return true
    } catch {
      return false
    }
  })()
  const passed = await Promise.race([done, late])
  clearTimeout(timer)
  return passed
}

function note(what: string, id: number, by = ''): void {
  appendFileSync(DONE, `${what} ${id} ${by.replace(/\s+/g, ' ')}\n`)
}
