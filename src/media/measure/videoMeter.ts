/** Slices that rates are of. */
const SLICES_RECENT = 10
/** A second of video without a frame is a gap; so are three steps of one that has fewer. */
const GAP_US = 1_000_000
const GAP_STEPS = 3
/** A gap that is not over yet. Slices of audio alone: a second of video at least is in none of them. */
const EMPTY_SLICES = 3
/** A frame this much of a step late is uneven: half of one, so that rounding to milliseconds never counts. */
const UNEVEN = 1.5

export interface TimedFrame {
  /** Microseconds, of presentation and of decoding. */
  readonly timeUs: number
  readonly decodeTimeUs: number
  readonly key: boolean
  readonly isJump?: boolean
}

/** Of about one second. */
class Slice {
  frames = 0
  steps = 0
  stepsUs = 0
  uneven = 0
  reordered = 0
  gaps = 0
  longestKeyUs = 0
}

export interface VideoFigures {
  readonly sentFrameRate?: number
  readonly unevenFrames?: number
  readonly keyframeMs?: number
  readonly longestKeyframeMs?: number
  readonly bFrames?: number
  readonly videoGaps: number
}

/** Measures frames of video as they come: rate, evenness, keyframes, order and gaps. A few comparisons for each frame. */
export class VideoMeter {
  readonly #slices: Slice[] = []
  readonly #slicesMax: number
  #now = new Slice()
  #decodedUs: number | null = null
  /** The latest time of presentation so far. */
  #shownUs = Number.NEGATIVE_INFINITY
  #keyUs: number | null = null
  #keyStepUs: number | null = null
  #stepUs: number | null = null
  /** Slices without a frame until now. */
  #empty = 0

  /** @param slicesMax how many calls of `slice` it remembers */
  constructor(slicesMax: number) {
    this.#slicesMax = slicesMax
  }

  frame({ timeUs, decodeTimeUs, key, isJump = false }: TimedFrame): void {
    if (isJump) this.#restart()
    this.#now.frames += 1
    if (this.#decodedUs !== null) this.#step(decodeTimeUs - this.#decodedUs)
    this.#decodedUs = decodeTimeUs
    if (timeUs < this.#shownUs) this.#now.reordered += 1
    else this.#shownUs = timeUs
    if (key) this.#keyframe(decodeTimeUs)
  }

  /** Ends a slice. Call it once a second. @param declaredRate frames per second; null: not known */
  slice(declaredRate: number | null): void {
    this.#empty = this.#now.frames === 0 ? this.#empty + 1 : 0
    this.#slices.push(this.#now)
    if (this.#slices.length > this.#slicesMax) this.#slices.shift()
    this.#now = new Slice()
    const { steps, stepsUs } = sumOf(this.#recent())
    this.#stepUs = declaredRate === null ? (steps === 0 ? null : stepsUs / steps) : 1_000_000 / declaredRate
  }

  figures(): VideoFigures {
    const [recent, all] = [sumOf(this.#recent()), sumOf(this.#slices)]
    const openUs = this.#keyUs === null || this.#decodedUs === null ? null : this.#decodedUs - this.#keyUs
    const keyUs = openUs === null ? null : Math.max(openUs, this.#keyStepUs ?? 0)
    return {
      ...(recent.stepsUs > 0 && {
        sentFrameRate: Math.round((recent.steps * 10_000_000) / recent.stepsUs) / 10,
        unevenFrames: shareOf(recent.uneven, recent.steps),
        bFrames: shareOf(recent.reordered, recent.frames),
      }),
      ...(keyUs !== null &&
        keyUs > 0 && {
          keyframeMs: Math.round(keyUs / 1000),
          longestKeyframeMs: Math.round(Math.max(keyUs, all.longestKeyUs) / 1000),
        }),
      videoGaps: all.gaps + (this.#empty >= EMPTY_SLICES ? 1 : 0),
    }
  }

  /** Times on the other side of a jump tell nothing of each other. */
  #restart(): void {
    this.#decodedUs = null
    this.#shownUs = Number.NEGATIVE_INFINITY
    this.#keyUs = null
  }

  #step(us: number): void {
    if (us < 0) return
    this.#now.steps += 1
    this.#now.stepsUs += us
    const usualUs = this.#stepUs ?? us
    if (us > usualUs * UNEVEN) this.#now.uneven += 1
    if (us >= Math.max(GAP_US, usualUs * GAP_STEPS)) this.#now.gaps += 1
  }

  #keyframe(timeUs: number): void {
    if (this.#keyUs !== null) {
      this.#keyStepUs = timeUs - this.#keyUs
      this.#now.longestKeyUs = Math.max(this.#now.longestKeyUs, this.#keyStepUs)
    }
    this.#keyUs = timeUs
  }

  #recent(): readonly Slice[] {
    return this.#slices.slice(-SLICES_RECENT)
  }
}

function sumOf(slices: readonly Slice[]): Slice {
  const sum = new Slice()
  for (const slice of slices) {
    sum.frames += slice.frames
    sum.steps += slice.steps
    sum.stepsUs += slice.stepsUs
    sum.uneven += slice.uneven
    sum.reordered += slice.reordered
    sum.gaps += slice.gaps
    sum.longestKeyUs = Math.max(sum.longestKeyUs, slice.longestKeyUs)
  }
  return sum
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part * 1000) / whole) / 1000)
