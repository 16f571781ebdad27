/** Things that were true at some moment, epoch milliseconds. */
interface Sample {
  readonly atMs: number
}

/** Samples of the last `keptMs`, oldest first, and never more than `most`. They are given in the order of their times. */
export class Recent<T extends Sample> {
  readonly #keptMs: number
  readonly #most: number
  #samples: T[] = []

  constructor(keptMs: number, most: number) {
    this.#keptMs = keptMs
    this.#most = most
  }

  add(sample: T): void {
    const since = sample.atMs - this.#keptMs
    this.#samples.push(sample)
    const old = this.#samples.findIndex(({ atMs }) => atMs >= since)
    this.#samples.splice(0, Math.max(old, this.#samples.length - this.#most))
  }

  /** Those of a time, half open. */
  within(fromMs: number, untilMs: number): T[] {
    return this.#samples.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs)
  }

  /** When the last one was; null when there is none. */
  get lastAtMs(): number | null {
    return this.#samples.at(-1)?.atMs ?? null
  }
}
