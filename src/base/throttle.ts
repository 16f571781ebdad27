/**
 * So many a minute for each key, all at once or spread out, without counting or timers: what is kept of a key is the
 * moment at which it has its whole budget again (the virtual scheduling of ITU-T I.371). Time is an argument, in
 * milliseconds. Memory is bounded: the key that was not seen for longest is forgotten, which is in its favour.
 */
export class Throttle {
  readonly #costMs: number
  readonly #keysMax: number
  readonly #wholeAgain = new Map<string, number>()

  /** @param perMinute at least 1; Infinity: everything may pass */
  constructor(perMinute: number, keysMax: number) {
    this.#costMs = MINUTE_MS / perMinute
    this.#keysMax = keysMax
  }

  /** 0: one more has passed; else after how many milliseconds one may, and nothing was taken. */
  take(key: string, nowMs: number): number {
    const wait = this.#waitOf(key, nowMs)
    if (wait > 0 || this.#costMs === 0) return wait
    const wholeAgain = Math.max(this.#wholeAgain.get(key) ?? 0, nowMs) + this.#costMs
    this.#wholeAgain.delete(key)
    this.#makeRoom(nowMs)
    this.#wholeAgain.set(key, wholeAgain)
    return 0
  }

  #waitOf(key: string, nowMs: number): number {
    const wholeAgain = this.#wholeAgain.get(key)
    return wholeAgain === undefined ? 0 : Math.max(0, wholeAgain + this.#costMs - MINUTE_MS - nowMs)
  }

  #makeRoom(nowMs: number): void {
    for (const [key, wholeAgain] of this.#wholeAgain) {
      if (this.#wholeAgain.size < this.#keysMax && wholeAgain > nowMs) return
      this.#wholeAgain.delete(key)
    }
  }
}

const MINUTE_MS = 60_000
