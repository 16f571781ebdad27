import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Answer, Request } from './messages.ts'
import { type Mutant, mutate } from './operators.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
/** Too large, or not the project's. */
const NOT_COPIED = new Set(['node_modules', '.git', 'data', 'dist', 'coverage'])

/** A copy of the repository, in which one file at a time is broken, and a process that runs tests there. */
export class Workshop {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
  #process: ChildProcess | null = null
  #changed: string | null = null

  constructor() {
    cpSync(repository, this.#folder, { recursive: true, filter: isCopied })
    symlinkSync(join(repository, 'node_modules'), join(this.#folder, 'node_modules'))
  }

  /** Runs tests with a mutant, or with none. `timeout`: they did not end within `limitMs`, and were killed. */
  async run(mutant: Mutant | null, tests: readonly string[], limitMs: number): Promise<Answer | 'timeout'> {
    const process = (this.#process ??= await this.#start())
    const changed = [...new Set([this.#changed, mutant?.path].filter((path) => typeof path === 'string'))]
    if (this.#changed !== null) writeFileSync(join(this.#folder, this.#changed), original(this.#changed))
    if (mutant) writeFileSync(join(this.#folder, mutant.path), mutate(original(mutant.path), mutant))
    this.#changed = mutant?.path ?? null
    process.send({ changed, tests } satisfies Request)
    const answer = await answerOf(process, limitMs)
    if (answer === 'timeout') this.#kill()
    return answer
  }

  close(): void {
    this.#kill()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 })
  }

  async #start(): Promise<ChildProcess> {
    const script = join(this.#folder, 'scripts/mutants/testRun.ts')
    // What it prints is what broken code prints. It leads a group, so that what tests start ends with it.
    const process = fork(script, { cwd: this.#folder, detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    await once(process, 'message')
    return process
  }

  #kill(): void {
    const pid = this.#process?.pid
    this.#process = null
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It is gone.
    }
  }
}

const isCopied = (path: string): boolean => !NOT_COPIED.has(basename(relative(repository, path)))
const original = (path: string): string => readFileSync(join(repository, path), 'utf8')

function answerOf(process: ChildProcess, limitMs: number): Promise<Answer | 'timeout'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle('timeout'), limitMs)
    const settle = (answer: Answer | 'timeout'): void => {
      clearTimeout(timer)
      process.off('message', settle as (message: unknown) => void).off('exit', gone)
      resolve(answer)
    }
    // A mutant that ends the whole process is noticed as one that never returns is.
    const gone = (): void => settle('timeout')
    process.once('message', settle as (message: unknown) => void).once('exit', gone)
  })
}
