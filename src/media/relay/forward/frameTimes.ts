import { timestampDistance } from '../wire/rtp.ts'
import type { RtpTrack } from './rtpTrack.ts'
import { CLOCK_DRIFT } from './timeline.ts'

/** Times that are this far from the clock are set to it. Nearer ones follow it, no faster than clocks drift. */
const MAX_APART_MS = 80
/** A time that is further from its arrival is from another clock: the publisher set that of its RTP packets. */
const MAX_LATE_MS = 5000
/** So is one that is this far before the frame before it; packets out of order go back less. */
const MAX_BACK_MS = 500

/** The times of one track's frames: as regular as its RTP clock, and never far from the clock that audio and video share. */
export class FrameTimes {
  readonly #track: RtpTrack
  #lastMs = Number.NEGATIVE_INFINITY
  #last: { readonly timestamp: number; readonly wallMs: number } | null = null
  #reference: object | null = null
  /** Added to what the RTP clock says, from a jump of it until its reports are right again. */
  #shiftMs = 0

  constructor(track: RtpTrack) {
    this.#track = track
  }

  /** The next time is later than all of those. */
  follow(times: FrameTimes): void {
    this.#lastMs = times.#lastMs
  }

  /** @param arrivesMs null: it is cached, and came at a time that is not known */
  at(timestamp: number, arrivesMs: number | null): number {
    const saidMs = this.#track.timeline.wallAt(timestamp) ?? 0
    const stepMs = this.#sinceLastMs(timestamp)
    if (arrivesMs !== null) this.#correct(saidMs, arrivesMs, stepMs < -MAX_BACK_MS)
    const clockMs = saidMs + this.#shiftMs
    const evenMs = (this.#last?.wallMs ?? clockMs) + stepMs
    const mostMs = Math.abs(stepMs) * CLOCK_DRIFT
    const apartMs = clockMs - evenMs
    const isFar = Math.abs(apartMs) > MAX_APART_MS
    const wallMs = isFar ? clockMs : evenMs + Math.min(mostMs, Math.max(-mostMs, apartMs))
    this.#last = { timestamp, wallMs }
    return this.#forward(wallMs)
  }

  /** After a jump the frames are timed as they arrive, until a report is nearer to that. */
  #correct(saidMs: number, arrivesMs: number, hasGoneBack: boolean): void {
    const apartMs = (shiftMs: number): number => Math.abs(saidMs + shiftMs - arrivesMs)
    const { reference } = this.#track.timeline
    if (reference !== this.#reference && apartMs(0) < apartMs(this.#shiftMs)) this.#shiftMs = 0
    this.#reference = reference
    if (hasGoneBack || apartMs(this.#shiftMs) > MAX_LATE_MS) this.#shiftMs = arrivesMs - saidMs
  }

  /** 0 before the first. */
  #sinceLastMs(timestamp: number): number {
    const ticks = timestampDistance(timestamp, this.#last?.timestamp ?? timestamp)
    return (ticks * 1000) / this.#track.shape.rate
  }

  /** Strictly growing: a muxer refuses a frame that is older than the one before it. */
  #forward(wallMs: number): number {
    this.#lastMs = Math.max(wallMs, this.#lastMs + 0.01)
    return this.#lastMs
  }
}
