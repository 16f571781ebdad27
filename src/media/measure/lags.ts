/** Remembered, in slices of about a second, and those that count as now. */
const SLICES = 60
const RECENT = 5

/**
 * How late the media of a track comes: arrival less its time. The least of each second counts, so that a burst after a pause tells
 * nothing.
 */
export class Lags {
  readonly #slices: number[] = []
  #least = Number.POSITIVE_INFINITY

  came(timeMs: number, nowMs: number): void {
    const lag = nowMs - timeMs
    if (lag < this.#least) this.#least = lag
  }

  /** Ends a slice. Call it once a second. */
  slice(): void {
    this.#slices.push(this.#least)
    if (this.#slices.length > SLICES) this.#slices.shift()
    this.#least = Number.POSITIVE_INFINITY
  }

  /** The clock was set: what came before tells nothing of what comes. */
  restart(): void {
    this.#slices.length = 0
    this.#least = Number.POSITIVE_INFINITY
  }

  /** Of the last seconds; infinite: nothing came. */
  get recentMs(): number {
    return Math.min(...this.#slices.slice(-RECENT))
  }

  /** How much later media comes now than at its best in the last minute; null: not known. */
  get behindMs(): number | null {
    const { recentMs } = this
    return Number.isFinite(recentMs) ? recentMs - Math.min(...this.#slices) : null
  }
}
