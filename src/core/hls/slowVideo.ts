import type { Rung } from '../channels/runs/rungs.ts'

/** A segment is two seconds long. One longer step is a gap in a source, and several are the way of a source. */
const FAR_US = 2_000_000
const FAR_STEPS = 2
/** After a longer step than this a source begins again. */
const FAR_MAX_US = 10_000_000
const NEAR_US = 1_000_000
/** Each change is a new process, so a source that moves for a moment between two stills goes on as it is. */
const NEAR_STEPS = 100

/** Tells whether the frames of a source are too far apart for segments. Pure. */
export class SlowVideoWatch {
  #isSlow: boolean
  #lastUs: number | null = null
  /** Steps in a row that say the opposite. */
  #steps = 0

  constructor(isSlow: boolean) {
    this.#isSlow = isSlow
  }

  /** A frame of video came. Null: nothing has changed. */
  look(decodeTimeUs: number): boolean | null {
    const stepUs = decodeTimeUs - (this.#lastUs ?? decodeTimeUs)
    this.#lastUs = decodeTimeUs
    const isOpposite = this.#isSlow ? stepUs < NEAR_US : stepUs > FAR_US && stepUs <= FAR_MAX_US
    this.#steps = isOpposite ? this.#steps + 1 : 0
    if (this.#steps < (this.#isSlow ? NEAR_STEPS : FAR_STEPS)) return null
    this.#isSlow = !this.#isSlow
    this.#steps = 0
    return this.#isSlow
  }
}

const SLOW_RATE = { value: 5, scale: 1 }

/** The rung with frames that are repeated, so that each segment has some. */
export const forSlowVideo = (rung: Rung): Rung => ({ ...rung, frameRate: rung.frameRate ?? SLOW_RATE })
