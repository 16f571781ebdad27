/** What the distance between keyframes means for a rendition that is copied. */
export type KeyframeVerdict = 'long' | 'too_long'

/** Segments get a beginning without a keyframe, so players wait for one. */
export const LONG_SECONDS = 4
/** A player would wait too long for a keyframe: such video is not copied. */
export const TOO_LONG_SECONDS = 10

/** Measures the distance between the keyframes of a source. */
export class KeyframeWatch {
  #keyUs: number | null = null
  #found: KeyframeVerdict | null = null

  /** Says once that the distance is long, and once that it is too long. */
  look(timeUs: number, key: boolean): KeyframeVerdict | null {
    const seconds = (timeUs - (this.#keyUs ?? timeUs)) / 1_000_000
    if (key) this.#keyUs = timeUs
    const verdict = verdictOf(seconds)
    if (verdict === null || verdict === this.#found || this.#found === 'too_long') return null
    this.#found = verdict
    return verdict
  }
}

const verdictOf = (seconds: number): KeyframeVerdict | null =>
  seconds > TOO_LONG_SECONDS ? 'too_long' : seconds > LONG_SECONDS ? 'long' : null
