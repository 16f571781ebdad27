/** Clocks of publishers and of this machine drift apart by at most this part of the time. */
export const CLOCK_DRIFT = 200e-6
/** A time that is further from its arrival is of a clock that was set. */
const MAX_APART_MS = 5000

/** Maps a publisher's clock to ours. Audio and video share one mapping, so that they stay in sync. */
export class PublisherClock {
  /** Our wall clock minus the publisher's, in milliseconds; null before its first sender report. */
  #offsetMs: number | null = null
  #atMs = 0

  /**
   * Follows the drift of the publisher's clock, so slowly that delays of single reports do not count. `wallMs`: the time of the
   * report on that clock; `nowMs`: when it came here. Returns it on our clock.
   */
  localize(wallMs: number, nowMs: number): number {
    const measuredMs = nowMs - wallMs
    const mostMs = Math.max(0, nowMs - this.#atMs) * CLOCK_DRIFT
    this.#atMs = nowMs
    this.#offsetMs ??= measuredMs
    const apartMs = measuredMs - this.#offsetMs
    this.#offsetMs += Math.abs(apartMs) > MAX_APART_MS ? apartMs : Math.min(mostMs, Math.max(-mostMs, apartMs))
    return wallMs + this.#offsetMs
  }
}

/** Maps the RTP time of one track to our clock. */
export class Timeline {
  readonly #rate: number
  #anchor: { readonly timestamp: number; readonly wallMs: number } | null = null

  /** `rate`: ticks per second. */
  constructor(rate: number) {
    this.#rate = rate
  }

  /** A packet arrived. The first one is the reference until the first sender report. */
  seen(timestamp: number, nowMs: number): void {
    this.#anchor ??= { timestamp, wallMs: nowMs }
  }

  /** A sender report: `timestamp` was at `wallMs` of our clock. */
  reported(timestamp: number, wallMs: number): void {
    this.#anchor = { timestamp, wallMs }
  }

  /** Forgets the reference, after a change of SSRC. */
  reset(): void {
    this.#anchor = null
  }

  /** What times are reckoned from: another object after each report and each change of SSRC. */
  get reference(): object | null {
    return this.#anchor
  }

  /** The RTP time at `wallMs`; null before the first packet. */
  timestampAt(wallMs: number): number | null {
    if (this.#anchor === null) return null
    const ticks = Math.round(((wallMs - this.#anchor.wallMs) * this.#rate) / 1000)
    return (this.#anchor.timestamp + ticks) >>> 0
  }

  /** Our time at which `timestamp` was, in milliseconds; null before the first packet. */
  wallAt(timestamp: number): number | null {
    if (this.#anchor === null) return null
    return this.#anchor.wallMs + (((timestamp - this.#anchor.timestamp) | 0) * 1000) / this.#rate
  }
}
