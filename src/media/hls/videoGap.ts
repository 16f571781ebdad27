/** While video is filled it stays this far behind audio, so that it is not late when it comes back. */
const MARGIN_US = 250_000
/** A server that was busy reads audio of a second before the video of the same time. So video has to be missing for longer. */
const CONFIRM_MS = 300
/** Frames of audio are not that far apart. */
const AUDIO_GAP_US = 500_000
/** Video that stays behind what was filled for this long of audio is taken after all. */
const LATE_MAX_US = 5_000_000

/**
 * Follows a source that sends audio and no video. Audio is the clock here: what matters is how long no video came, however
 * far a source sends the one ahead of the other. All times are of the stream, in microseconds.
 */
export class VideoGap {
  #audioUs: number | null = null
  /** The time of audio when the latest frame of video came. */
  #atVideoUs: number | null = null
  /** Since when video seems to be missing, monotonic milliseconds. */
  #missingSinceMs: number | null = null
  /** Where the video ended; null: it is not filled. */
  #fromUs: number | null = null
  /** The time of audio when the first keyframe came that was too late. */
  #lateAtUs: number | null = null

  /** Video is missing, and is filled. */
  get isOpen(): boolean {
    return this.#fromUs !== null
  }

  /** How much audio came since the latest video. */
  get lengthUs(): number {
    return (this.#audioUs ?? 0) - (this.#atVideoUs ?? 0)
  }

  /** How far video can be filled. Audio may also be behind. */
  get endUs(): number {
    return Math.min((this.#fromUs ?? 0) + this.lengthUs, this.#audioUs ?? 0)
  }

  /** Video seems to be missing now. True: it has seemed so for a while. */
  isConfirmed(nowMs: number): boolean {
    this.#missingSinceMs ??= nowMs
    return nowMs - this.#missingSinceMs >= CONFIRM_MS
  }

  /** How far it is filled while it is missing. */
  get fillUntilUs(): number {
    return this.endUs - MARGIN_US
  }

  /** Audio of this time came. */
  audio(us: number): void {
    const stepUs = us - (this.#audioUs ?? us)
    this.#audioUs = us
    this.#atVideoUs ??= us
    // A gap in the audio, or a clock that is set: there is nothing that video could be missing beside.
    if (stepUs < 0 || stepUs > AUDIO_GAP_US) this.#atVideoUs += stepUs
  }

  /** Video came. */
  video(): void {
    this.#missingSinceMs = null
    this.#atVideoUs = this.#audioUs
  }

  /** The video ended here, and is filled from now on. */
  open(endUs: number): void {
    this.#fromUs = endUs
  }

  /** A keyframe came whose time was filled already. True: video has been as late for so long that it has to be taken. */
  isLateForLong(): boolean {
    this.#lateAtUs ??= this.#audioUs
    return (this.#audioUs ?? 0) - (this.#lateAtUs ?? 0) > LATE_MAX_US
  }

  /** Video is back. */
  close(): void {
    this.#fromUs = null
    this.#lateAtUs = null
  }

  /** The times of the stream change. */
  reset(): void {
    this.close()
    this.#missingSinceMs = null
    this.#audioUs = null
    this.#atVideoUs = null
  }
}
