/**
 * Runs costly work at most so many at a time; further work waits its turn, in order. The queue is bounded too.
 */
export class Turns {
  readonly #atOnce: number
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: { atOnce: number; waitingMax: number }) {
    this.#atOnce = limits.atOnce
    this.#waitingMax = limits.waitingMax
  }

  /** Null: too much work waits already, and this was not begun. */
  async run<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) return null
      // The one that ends passes its place on.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}
