import type { Clock } from '../../base/clock.ts'

/** What a connection begins with (draft-sharabayko-srt-01 section 4.10). */
const BEGIN_US = 100_000
/** Acknowledgements whose answer is awaited. */
const PENDING_MAX = 64
/** Losses are not reported more often. */
const REPORT_MIN_MS = 20

/** Measures the round trip by the answers to acknowledgements. */
export class RoundTrip {
  meanUs = BEGIN_US
  varianceUs = BEGIN_US / 2
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #sentAtMs = new Map<number, number>()
  #latest = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** The time after which a loss is reported again. */
  get reportEveryMs(): number {
    return Math.max(REPORT_MIN_MS, (this.meanUs + 4 * this.varianceUs) / 2000)
  }

  /** The number of an acknowledgement that is sent now. */
  begin(): number {
    this.#latest = (this.#latest + 1) >>> 0
    this.#sentAtMs.set(this.#latest, this.#clock.monotonic())
    const [oldest] = this.#sentAtMs.keys()
    if (oldest !== undefined && this.#sentAtMs.size > PENDING_MAX) this.#sentAtMs.delete(oldest)
    return this.#latest
  }

  /** Weights as in section 4.10. */
  end(number: number): void {
    const sentAtMs = this.#sentAtMs.get(number)
    if (sentAtMs === undefined) return
    this.#sentAtMs.delete(number)
    const sampleUs = (this.#clock.monotonic() - sentAtMs) * 1000
    this.varianceUs = (3 * this.varianceUs + Math.abs(this.meanUs - sampleUs)) / 4
    this.meanUs = (7 * this.meanUs + sampleUs) / 8
  }
}
