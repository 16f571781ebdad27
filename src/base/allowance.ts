export interface AllowanceOptions {
  /** The size of the bucket. */
  readonly burst: number
  readonly perSecond: number
}

/**
 * A rate limit: a token bucket without timers. It stores the time at which the bucket is full again (the virtual scheduling
 * algorithm of ITU-T I.371).
 */
export class Allowance {
  readonly #burstMs: number
  readonly #costMs: number
  #fullAtMs = Number.NEGATIVE_INFINITY

  constructor({ burst, perSecond }: AllowanceOptions) {
    this.#costMs = 1000 / perSecond
    this.#burstMs = burst * this.#costMs
  }

  /** Takes a token. Returns false if there is none. */
  take(nowMs: number): boolean {
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + this.#costMs
    if (fullAtMs - nowMs > this.#burstMs) return false
    this.#fullAtMs = fullAtMs
    return true
  }
}
