export interface AllowanceOptions {
  /** How much at once, after a while without any. */
  readonly burst: number
  readonly perSecond: number
}

/**
 * A bound on what a peer can make us do: a token bucket, without timers. What is kept is the moment at which it is full
 * again (the virtual scheduling of ITU-T I.371).
 */
export class Allowance {
  readonly #burstMs: number
  readonly #costMs: number
  #fullAtMs = Number.NEGATIVE_INFINITY

  constructor({ burst, perSecond }: AllowanceOptions) {
    this.#costMs = 1000 / perSecond
    this.#burstMs = burst * this.#costMs
  }

  /** Whether one more is allowed now; it is taken then. */
  take(nowMs: number): boolean {
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + this.#costMs
    if (fullAtMs - nowMs > this.#burstMs) return false
    this.#fullAtMs = fullAtMs
    return true
  }
}
