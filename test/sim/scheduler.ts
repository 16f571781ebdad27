import { setImmediate as nextTurn } from 'node:timers/promises'
import { createHash } from 'node:crypto'
import type { Random } from '../../src/base/random.ts'

/** Random numbers that depend on the seed alone (mulberry32). */
export class SeededRandom implements Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)))
  }
}

/** What becomes of a call of the store: it fails, or it is done and its answer is lost. */
export type Fate = 'done' | 'fails' | 'loses its answer'

/** A process. While it stands still, none of its calls continues. */
export interface Runner {
  readonly isRunning: boolean
}

interface Waiting {
  readonly runner: Runner
  readonly resume: () => void
}

/** Turns of the event loop without a call of the store, after which all that can run has run. */
const QUIET_TURNS = 3

/**
 * Decides which of the calls that wait goes on, one at a time. Between two of them it waits until nothing runs any more, so
 * that the order of everything depends on the seed alone.
 */
export class Scheduler {
  readonly random: SeededRandom
  #waiting: Waiting[] = []
  /** Rises with each call, so that a quiet turn can be told from a busy one. */
  #calls = 0
  /** Calls that the real store works on. */
  #working = 0
  readonly #trace = createHash('sha256')

  constructor(random: SeededRandom) {
    this.random = random
  }

  /** The digest of all that was decided so far. */
  get trace(): string {
    return this.#trace.copy().digest('hex')
  }

  /** Resolves when it is the turn of this call. */
  turn(runner: Runner): Promise<void> {
    this.#calls++
    return new Promise((resume) => this.#waiting.push({ runner, resume }))
  }

  /** Runs work of the real store, which takes turns of the event loop of its own. */
  async work<T>(run: () => Promise<T>): Promise<T> {
    this.#working++
    try {
      return await run()
    } finally {
      this.#calls++
      this.#working--
    }
  }

  /** Lets one of the waiting calls go on, and waits for what follows. False: none can. */
  async step(): Promise<boolean> {
    const ready = this.#waiting.filter(({ runner }) => runner.isRunning)
    const at = this.random.below(ready.length)
    const chosen = ready[at]
    this.#trace.update(`${at} of ${ready.length}, `)
    if (chosen === undefined) return false
    this.#waiting.splice(this.#waiting.indexOf(chosen), 1)
    chosen.resume()
    await this.settle()
    return true
  }

  /** Drops the calls of a process that has died. */
  drop(runner: Runner): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.runner !== runner)
  }

  /** Resolves when every part waits for its turn or for time. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const calls = this.#calls
      await nextTurn()
      quiet = this.#working === 0 && this.#calls === calls ? quiet + 1 : 0
    }
  }
}
