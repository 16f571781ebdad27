/** Retransmissions may take this share of the media bytes. */
const SHARE = 0.5
/**
 * An unused budget is kept for later: as much as the media of one second, and at least about a keyframe of a small stream.
 */
const LEAST_BYTES = 48_000
const MEASURE_MS = 1000

/**
 * Caps the retransmission bandwidth of one viewer. Media that was really sent earns it, and no claim of the viewer does: REMB and
 * loss reports cost it nothing.
 */
export class ResendBudget {
  #left = LEAST_BYTES
  #sent = 0
  #perSecond = 0
  #measuredAtMs: number | null = null
  #measuredSent = 0

  /** Call it several times a second, and before `isLeft` is read. `sent`: bytes of media so far. */
  earn(sent: number, nowMs: number): void {
    this.#measure(sent, nowMs)
    this.#left = Math.min(this.#most, this.#left + (sent - this.#sent) * SHARE)
    this.#sent = sent
  }

  /** Whether anything is left. */
  get isLeft(): boolean {
    return this.#left > 0
  }

  /** Whether half of what it keeps is left: enough to send a packet more often than it was requested. */
  get isPlenty(): boolean {
    return this.#left > this.#most / 2
  }

  spend(bytes: number): void {
    this.#left -= bytes
  }

  get #most(): number {
    return Math.max(LEAST_BYTES, this.#perSecond)
  }

  #measure(sent: number, nowMs: number): void {
    this.#measuredAtMs ??= nowMs
    const elapsedMs = nowMs - this.#measuredAtMs
    if (elapsedMs < MEASURE_MS) return
    this.#perSecond = ((sent - this.#measuredSent) * 1000) / elapsedMs
    this.#measuredAtMs = nowMs
    this.#measuredSent = sent
  }
}
