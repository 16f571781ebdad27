import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

const LOOK_MS = 60_000
const LONG_MS = 4 * 60_000

/**
 * Names, once a minute, the files that run for long, each with its test. A test that blocks its process cannot time out by
 * itself: then this is all that a log shows of it.
 */
export default class LongRunning implements Reporter {
  readonly #running = new Map<string, { readonly sinceMs: number; test: string }>()
  #timer: NodeJS.Timeout | undefined

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#look(performance.now()), LOOK_MS).unref()
  }

  onTestModuleStart({ moduleId }: TestModule): void {
    this.#running.set(moduleId, { sinceMs: performance.now(), test: 'before its first test' })
  }

  onTestCaseReady({ module, fullName }: TestCase): void {
    const running = this.#running.get(module.moduleId)
    if (running) running.test = fullName
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#running.delete(moduleId)
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
  }

  #look(nowMs: number): void {
    for (const [moduleId, { sinceMs, test }] of this.#running) {
      const seconds = Math.round((nowMs - sinceMs) / 1000)
      if (seconds * 1000 >= LONG_MS) console.log(`runs for ${seconds} s: ${relative('.', moduleId)}, ${test}`)
    }
  }
}
