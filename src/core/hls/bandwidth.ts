/** Room for what comes: an encoder's next segments may be larger than those so far. */
const HEADROOM = 1.25

/** Bits per second. */
export interface Bandwidth {
  readonly peak: number
  readonly average: number
}

/** Measures the bitrate of a rendition whose encoder is not ours (RFC 8216 section 4.3.4.2). The peak never falls. */
export class BandwidthMeter {
  #peak = 0
  #bytes = 0
  #seconds = 0

  /** A segment is complete. */
  add(bytes: number, seconds: number): void {
    if (seconds <= 0) return
    this.#peak = Math.max(this.#peak, (bytes * 8) / seconds)
    this.#bytes += bytes
    this.#seconds += seconds
  }

  get bandwidth(): Bandwidth {
    const average = this.#seconds === 0 ? 0 : (this.#bytes * 8) / this.#seconds
    return { peak: Math.max(1, Math.ceil(this.#peak * HEADROOM)), average: Math.max(1, Math.ceil(average)) }
  }
}
