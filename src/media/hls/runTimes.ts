import type { Clock } from '../../base/clock.ts'
import { MediaDates } from '../../core/hls/dates.ts'

/** Segments of two renditions that begin closer together than this are the same one. */
const SAME_MS = 500
/** The dates that are kept: renditions are far less than this number of segments apart. */
const DATES_KEPT = 8

export interface RenditionEnd {
  /** The time of the stream, microseconds. */
  readonly us: number
  /** Epoch milliseconds. */
  readonly dateMs: number
}

/** The times and dates that the renditions of one source share. */
export class RunTimes {
  readonly #clock: Clock
  #dates = new MediaDates()
  #segments: { readonly sourceMs: number; readonly offsetMs: number }[] = []
  #offsetUs: number | null = null
  /** How far the renditions have got: microseconds, and the date, epoch milliseconds. */
  #endUs = 0
  #endMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A frame with this time of the source came now. */
  observe(sourceMs: number): void {
    this.#dates.observe(sourceMs, this.#clock.now())
  }

  /** A source begins, with a clock of its own. */
  restart(): void {
    this.#dates = new MediaDates()
    this.#segments = []
  }

  /** The date at which the renditions have ended before the latest discontinuity, epoch milliseconds. */
  get endMs(): number {
    return this.#endMs
  }

  /** The date of a time of the source, epoch milliseconds; the same for all renditions. */
  dateOf(sourceMs: number): number {
    const same = this.#segments.find((segment) => Math.abs(segment.sourceMs - sourceMs) < SAME_MS)
    if (same) return sourceMs + same.offsetMs
    // A source repeats its latest keyframe for a new process, and dates never go back.
    const date = Math.max(this.#dates.dateOf(sourceMs), this.#endMs)
    this.#segments = [...this.#segments.slice(1 - DATES_KEPT), { sourceMs, offsetMs: date - sourceMs }]
    return date
  }

  /** What is added to times of the source, so that all renditions go on at the same time. Microseconds. */
  offsetOf(decodeTimeUs: number): number {
    this.#offsetUs ??= this.#endUs - decodeTimeUs
    return this.#offsetUs
  }

  /** The renditions have ended here, and go on after a discontinuity. */
  discontinue(ends: readonly RenditionEnd[], clockWentBack: boolean): void {
    this.#endUs = Math.max(this.#endUs, ...ends.map(({ us }) => us))
    this.#endMs = Math.max(this.#endMs, ...ends.map(({ dateMs }) => dateMs))
    this.#offsetUs = null
    this.#segments = []
    if (clockWentBack) this.#dates.reset()
    else this.#dates.release()
  }
}
