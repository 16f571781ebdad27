/** How far a later estimate may move the dates, milliseconds for each segment: players do not notice it. */
const SLEW_MS = 5
/** An estimate that differs by less moves nothing. Players place segments by their dates, so these have to be steady. */
const TOLERANCE_MS = 100
/** An estimate holds between one and two of these. */
const WINDOW_MS = 30_000

/**
 * Maps the media times of a source to the wall clock. The network delays each frame, and the cache of the source delays
 * some far more, so the smallest delay of a minute counts.
 */
export class MediaDates {
  /** The least (arrival - media time), milliseconds, in the present window and in the one before. */
  #least = Number.POSITIVE_INFINITY
  #leastBefore = Number.POSITIVE_INFINITY
  #windowEndMs = Number.NEGATIVE_INFINITY
  #latest = 0
  /** Added to a media time it gives its date; null before the first one was asked for. */
  #offsetMs: number | null = null

  /** A frame of this media time arrived now. */
  observe(mediaMs: number, nowMs: number): void {
    if (nowMs >= this.#windowEndMs) {
      this.#leastBefore = this.#least
      this.#least = Number.POSITIVE_INFINITY
      this.#windowEndMs = nowMs + WINDOW_MS
    }
    this.#latest = nowMs - mediaMs
    this.#least = Math.min(this.#least, this.#latest)
  }

  /** The date of a media time, epoch milliseconds. Call it once for each segment, after `observe`. */
  dateOf(mediaMs: number): number {
    const estimateMs = Math.min(this.#least, this.#leastBefore)
    const offsetMs = this.#offsetMs ?? estimateMs
    const errorMs = estimateMs - offsetMs
    const isSteady = Math.abs(errorMs) < TOLERANCE_MS
    this.#offsetMs = offsetMs + (isSteady ? 0 : Math.sign(errorMs) * SLEW_MS)
    return mediaMs + this.#offsetMs
  }

  /** After a discontinuity the dates may jump. */
  release(): void {
    this.#offsetMs = null
  }

  /** The source has set its clock to another time: only the latest frame counts. */
  reset(): void {
    this.release()
    this.#least = this.#latest
    this.#leastBefore = Number.POSITIVE_INFINITY
  }
}
