/** A machine with much to do is late by less. */
const LATE_MS = 1000

/**
 * The looks of a job that judges deadlines. A suspended machine, a swap storm or a stopped process makes a look late. What
 * others sent meanwhile still waits in sockets, so the time that a late look missed counts for no deadline.
 */
export class LateLooks {
  readonly #everyMs: number
  readonly #lateMs: number
  #latestMs: number
  #resumedMs = Number.NEGATIVE_INFINITY

  /**
   * @param everyMs from one look to the next @param nowMs monotonic, as all times here
   * @param lateMs a look is late that comes later by more than this
   */
  constructor(everyMs: number, nowMs: number, lateMs = LATE_MS) {
    this.#everyMs = everyMs
    this.#lateMs = lateMs
    this.#latestMs = nowMs
  }

  /** Call it at the beginning of each look. Returns the time that it missed, milliseconds; 0: it is in time. */
  look(nowMs: number): number {
    const lateMs = nowMs - this.#latestMs - this.#everyMs
    this.#latestMs = nowMs
    if (lateMs <= this.#lateMs) return 0
    this.#resumedMs = nowMs
    return lateMs
  }

  /** For how long something has lasted since the latest pause. */
  lastedMs(sinceMs: number, nowMs: number): number {
    return nowMs - Math.max(sinceMs, this.#resumedMs)
  }
}
