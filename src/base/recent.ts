/** A value at one moment, epoch milliseconds. */
interface Sample {
  readonly atMs: number
}

/**
 * Samples of the last `windowMs`, oldest first, and at most `most` of them. Callers add them in the order of their
 * times.
 */
export class Recent<T extends Sample> {
  readonly #windowMs: number
  readonly #most: number
  #samples: T[] = []

  constructor(windowMs: number, most: number) {
    this.#windowMs = windowMs
    this.#most = most
  }

  add(sample: T): void {
    const since = sample.atMs - this.#windowMs
    this.#samples.push(sample)
    const old = this.#samples.findIndex(({ atMs }) => atMs >= since)
    this.#samples.splice(0, Math.max(old, this.#samples.length - this.#most))
  }

  /** Samples of a time span, half open. */
  within(fromMs: number, untilMs: number): T[] {
    return this.#samples.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs)
  }

  get all(): readonly T[] {
    return this.#samples
  }

  /** The time of the last sample; null when there is none. */
  get lastAtMs(): number | null {
    return this.#samples.at(-1)?.atMs ?? null
  }
}
