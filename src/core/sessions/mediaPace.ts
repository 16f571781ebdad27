/** A clock of a publisher that jumps by more tells nothing of its link. */
const JUMP_MS = 2000
/** The best of this time, and of the same time before it, is what media is compared with. */
const WINDOW_MS = 5000

/** How late the media of a publisher comes, compared with the best of its last seconds: silence and slow links alike. */
export class MediaPace {
  /** Arrival less media time: the least of this window and of the one before. */
  #best = Number.POSITIVE_INFINITY
  #bestBefore = Number.POSITIVE_INFINITY
  #windowMs = 0
  #lastMs: number | null = null
  #stepMs = 0

  /** A frame came. @param timeMs of its publisher's clock @param nowMs monotonic */
  came(timeMs: number, nowMs: number): void {
    const stepMs = this.#lastMs === null ? 0 : timeMs - this.#lastMs
    if (this.#lastMs === null || Math.abs(stepMs) > JUMP_MS) this.#begin(nowMs)
    else this.#stepMs = Math.max(0, stepMs)
    if (nowMs - this.#windowMs > WINDOW_MS) {
      this.#bestBefore = this.#best
      this.#best = Number.POSITIVE_INFINITY
      this.#windowMs = nowMs
    }
    this.#best = Math.min(this.#best, nowMs - timeMs)
    this.#lastMs = timeMs
  }

  /** How late the next frame is now, milliseconds. */
  lateMs(nowMs: number): number {
    if (this.#lastMs === null) return 0
    const dueMs = this.#lastMs + this.#stepMs + Math.min(this.#best, this.#bestBefore)
    return Math.max(0, nowMs - dueMs)
  }

  #begin(nowMs: number): void {
    this.#best = Number.POSITIVE_INFINITY
    this.#bestBefore = Number.POSITIVE_INFINITY
    this.#windowMs = nowMs
    this.#stepMs = 0
  }
}
