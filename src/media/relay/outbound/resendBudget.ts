/** Of what a viewer is sent, as much again may go to what it asks for and to nothing else. */
const SHARE = 0.5
/**
 * What is not asked for may be asked for later: as much as is sent in a second, and in any case about a keyframe of a
 * small stream.
 */
const LEAST_BYTES = 48_000
const MEASURE_MS = 1000

/**
 * How many bytes may go to retransmissions for one viewer. They are earned by what the viewer is really sent, and by
 * nothing that it says: estimates and losses are its claims, and cost it nothing.
 */
export class ResendBudget {
  #left = LEAST_BYTES
  #sent = 0
  #perSecond = 0
  #measuredAtMs: number | null = null
  #measuredSent = 0

  /** Call it several times a second, and before `left` is read. `sent`: bytes of media so far. */
  earn(sent: number, nowMs: number): void {
    this.#measure(sent, nowMs)
    const most = Math.max(LEAST_BYTES, this.#perSecond)
    this.#left = Math.min(most, this.#left + (sent - this.#sent) * SHARE)
    this.#sent = sent
  }

  /** Whether anything is left. */
  get isLeft(): boolean {
    return this.#left > 0
  }

  spend(bytes: number): void {
    this.#left -= bytes
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
