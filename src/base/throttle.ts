import { MINUTE_MS } from './time.ts'

/**
 * Limits each key to a number of actions per minute or another time, at once or spread out, without counters or timers. For each key
 * it stores the time at which the whole budget is available again (virtual scheduling, ITU-T I.371). Time is an
 * argument, in milliseconds. Memory is bounded: the least recently used key is dropped first, which is in its
 * favour.
 */
export class Throttle {
  readonly #most: () => number
  readonly #keysMax: number
  readonly #windowMs: number
  readonly #fullAtMs = new Map<string, number>()

  /** @param most in each window, at least 1; Infinity: no limit. A function is read at each use */
  constructor(most: number | (() => number), keysMax: number, windowMs = MINUTE_MS) {
    this.#most = typeof most === 'number' ? () => most : most
    this.#keysMax = keysMax
    this.#windowMs = windowMs
  }

  /**
   * Takes one action from the budget. 0: it passed. Otherwise: milliseconds until one may pass, and nothing was
   * taken.
   */
  take(key: string, nowMs: number): number {
    const wait = this.waitOf(key, nowMs)
    if (wait > 0 || this.#costMs === 0) return wait
    const fullAtMs = Math.max(this.#fullAtMs.get(key) ?? 0, nowMs) + this.#costMs
    this.#fullAtMs.delete(key)
    this.#makeRoom(nowMs)
    this.#fullAtMs.set(key, fullAtMs)
    return 0
  }

  /** Gives one action back that was taken: it does not count after all. */
  giveBack(key: string): void {
    const fullAtMs = this.#fullAtMs.get(key)
    if (fullAtMs !== undefined) this.#fullAtMs.set(key, fullAtMs - this.#costMs)
  }

  get #costMs(): number {
    return this.#windowMs / this.#most()
  }

  /** Milliseconds until an action may pass; 0: it may now. Takes nothing. */
  waitOf(key: string, nowMs: number): number {
    const fullAtMs = this.#fullAtMs.get(key)
    return fullAtMs === undefined ? 0 : Math.max(0, fullAtMs + this.#costMs - this.#windowMs - nowMs)
  }

  #makeRoom(nowMs: number): void {
    for (const [key, fullAtMs] of this.#fullAtMs) {
      if (this.#fullAtMs.size < this.#keysMax && fullAtMs > nowMs) return
      this.#fullAtMs.delete(key)
    }
  }
}
