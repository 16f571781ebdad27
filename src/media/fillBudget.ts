/** How much is filled at once at most. */
const AT_ONCE_MAX_US = 30_000_000
/** The clock of a source may run a little fast, for weeks. */
const CLOCK_DRIFT = 1.01

/** How much of a track may be filled: what there was time for. A source whose times run faster would get any amount for a few bytes. */
export class FillBudget {
  #leftUs = AT_ONCE_MAX_US
  #atMs: number | null = null

  /** @param nowMs monotonic milliseconds */
  leftUs(nowMs: number): number {
    const passedUs = (nowMs - (this.#atMs ?? nowMs)) * 1000 * CLOCK_DRIFT
    this.#atMs = nowMs
    this.#leftUs = Math.min(AT_ONCE_MAX_US, this.#leftUs + passedUs)
    return this.#leftUs
  }

  take(us: number): void {
    this.#leftUs -= us
  }
}
