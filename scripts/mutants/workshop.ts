import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Answer, DONE, type Request, WANTED, type Wanted } from './messages.ts'
import { type Mutant, mutate } from './operators.ts'
import { type Numbered, withSwitches } from './switches.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
/** Too large, or not the project's. The last two are of unbroken sources, and made again where a test needs them. */
const NOT_COPIED = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', 'compile-cache', 'test-program'])

const MEMORY = '/dev/shm'

/** Tests that are run with one mutant after the other, if a run takes no longer than this. */
export interface Round {
  readonly tests: readonly string[]
  readonly mostMs: number
}

/** A mutant that never returns costs one. */
const RESTARTS_MAX = 20
/** A mutant that is tried for longer never returns: `rerun.ts` waits for no test that long. */
const STUCK_MS = 60_000

/** What the lines of `rerun.ts` say. */
function noted(lines: string) {
  const of: Record<string, Set<number>> = {
    killed: new Set(),
    survived: new Set(),
    unclear: new Set(),
    static: new Set(),
  }
  let trying: number | null = null
  for (const line of lines.split('\n')) {
    const [what = '', id] = line.split(' ')
    trying = what === 'try' ? Number(id) : null
    of[what]?.add(Number(id))
  }
  const isKilled = (id: number): boolean => of['killed']?.has(id) ?? false
  const isUnclear = (id: number): boolean => (of['unclear']?.has(id) ?? false) || (of['static']?.has(id) ?? false)
  const isOver = (id: number): boolean => isKilled(id) || (of['unclear']?.has(id) ?? false)
  const isSurvivor = (id: number): boolean => (of['survived']?.has(id) ?? false) && !isKilled(id) && !isUnclear(id)
  return { trying, isKilled, isOver, isSurvivor }
}

/** A copy of the repository, in which one file at a time is broken, and a process that runs tests there. */
export class Workshop {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
  /** For the files of tests: in memory where there is such a place, because stores wait for the disk at each commit. */
  readonly #files = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'sluice-mutants-'))
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

  /**
   * Runs tests with each of the mutants that are to be tried, all of them in one process: in each round those tests that are
   * quick enough for it. `unclear`: it left something behind that other tests stumbled over. What is missing in the answer was
   * not reached by any test.
   */
  async rerun(mutants: readonly Numbered[], todo: ReadonlySet<number>, rounds: readonly Round[], limitMs: number) {
    const untilMs = performance.now() + limitMs
    for (const [path, own] of Map.groupBy(mutants, (one) => one.path))
      writeFileSync(join(this.#folder, path), withSwitches(original(path), own))
    let isComplete = true
    for (const round of rounds) isComplete = await this.#rerunRound(todo, round, untilMs)
    for (const path of new Set(mutants.map((one) => one.path))) writeFileSync(join(this.#folder, path), original(path))
    return { ...this.#notes(), isComplete }
  }

  /** False: there was no time for all. */
  async #rerunRound(todo: ReadonlySet<number>, { tests, mostMs }: Round, untilMs: number): Promise<boolean> {
    for (let restarts = 0; restarts < RESTARTS_MAX && performance.now() < untilMs; restarts += 1) {
      const { isOver } = this.#notes()
      const wanted: Wanted = { ids: [...todo].filter((id) => !isOver(id)), mostMs }
      writeFileSync(join(this.#folder, WANTED), JSON.stringify(wanted))
      const process = (this.#process = await this.#start('rerun'))
      process.send({ changed: [], tests } satisfies Request)
      const answer = await Promise.race([answerOf(process, untilMs - performance.now()), this.#stuck(process)])
      this.#kill()
      if (answer !== 'timeout') return true
      const { trying } = this.#notes()
      appendFileSync(join(this.#folder, DONE), trying === null ? '' : `unclear ${trying} \n`)
    }
    return false
  }

  /** Resolves when one mutant has been tried for too long. */
  async #stuck(process: ChildProcess): Promise<'timeout'> {
    const path = join(this.#folder, DONE)
    const written = (): number => (existsSync(path) ? statSync(path).size : 0)
    for (let before = -1; process.connected && (before !== written() || this.#notes().trying === null); ) {
      before = written()
      await delay(STUCK_MS, undefined, { ref: false })
    }
    return 'timeout'
  }

  #notes(): ReturnType<typeof noted> {
    const path = join(this.#folder, DONE)
    return noted(existsSync(path) ? readFileSync(path, 'utf8') : '')
  }

  close(): void {
    this.#kill()
    for (const folder of [this.#folder, this.#files]) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }

  async #start(...args: string[]): Promise<ChildProcess> {
    const script = join(this.#folder, 'scripts/mutants/testRun.ts')
    // What it prints is what broken code prints. It leads a group, so that what tests start ends with it.
    const child = fork(script, args, {
      cwd: this.#folder,
      env: { ...process.env, TMPDIR: this.#files },
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    await once(child, 'message')
    return child
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
