/** While a track is filled it stays this far behind the other one, so that it is not late when it comes back. */
const MARGIN_US = 250_000
/** A server that was busy reads a second of one track before the other of the same time. So a track has to be missing for longer. */
const CONFIRM_MS = 300
/** A clock whose frames are usually this far apart has no gap: slides, and cameras with a picture every few seconds. */
const USUAL_STEPS = 4
/** A track that stays behind what was filled for this long is taken after all. */
const LATE_MAX_US = 5_000_000

/**
 * Follows a source that sends one of its tracks and not the other. The one that comes is the clock here: what matters is how long
 * the other one did not come, however far a source sends the one ahead of the other. All times are in microseconds.
 */
export class TrackGap {
  readonly #stepMaxUs: number
  /** Of the clock, from the frame before the latest to the latest. */
  #stepUs = 0
  #clockUs: number | null = null
  /** The time of the clock when the latest of the track came. */
  #atTrackUs: number | null = null
  /** Since when the track seems to be missing, monotonic milliseconds. */
  #missingSinceMs: number | null = null
  /** Where the track ended; null: it is not filled. */
  #fromUs: number | null = null
  /** The time of the clock when something came that was too late. */
  #lateAtUs: number | null = null

  /** @param stepMaxUs frames of the clock are not that far apart, unless those before them were */
  constructor(stepMaxUs: number) {
    this.#stepMaxUs = stepMaxUs
  }

  /** The track is missing, and is filled. */
  get isOpen(): boolean {
    return this.#fromUs !== null
  }

  /** How much of the clock came since the latest of the track. */
  get lengthUs(): number {
    return (this.#clockUs ?? 0) - (this.#atTrackUs ?? 0)
  }

  /** How far the track can be filled. The clock may also be behind. */
  get endUs(): number {
    return Math.min((this.#fromUs ?? 0) + this.lengthUs, this.#clockUs ?? 0)
  }

  /** The track seems to be missing now. True: it has seemed so for a while. */
  isConfirmed(nowMs: number): boolean {
    this.#missingSinceMs ??= nowMs
    return nowMs - this.#missingSinceMs >= CONFIRM_MS
  }

  /** How far it is filled while it is missing. */
  get fillUntilUs(): number {
    return this.endUs - MARGIN_US
  }

  /** A frame of the clock came. */
  clock(us: number): void {
    const stepUs = us - (this.#clockUs ?? us)
    this.#clockUs = us
    this.#atTrackUs ??= us
    // A gap in the clock, or one that is set: there is nothing that the track could be missing beside.
    if (stepUs < 0 || stepUs > Math.max(this.#stepMaxUs, this.#stepUs * USUAL_STEPS)) this.#atTrackUs += stepUs
    this.#stepUs = stepUs
  }

  /** A frame of the track came. */
  came(): void {
    this.#missingSinceMs = null
    this.#atTrackUs = this.#clockUs
  }

  /** The track ended here, and is filled from now on. */
  open(endUs: number): void {
    this.#fromUs = endUs
  }

  /** Something came whose time was filled already. True: it has been as late for so long that it has to be taken. */
  isLateForLong(): boolean {
    this.#lateAtUs ??= this.#clockUs
    return (this.#clockUs ?? 0) - (this.#lateAtUs ?? 0) > LATE_MAX_US
  }

  /** The track is back. */
  close(): void {
    this.#fromUs = null
    this.#lateAtUs = null
  }

  /** The times of the stream change. */
  reset(): void {
    this.close()
    this.#missingSinceMs = null
    this.#clockUs = null
    this.#atTrackUs = null
  }
}
