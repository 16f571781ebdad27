/** A keyframe may come a little early. */
const EARLY_US = 100_000
/** Times of one frame in several renditions differ by less than this. */
const SAME_US = 1000
/** Marks that are kept: renditions are far less than this number of segments apart. */
const KEPT = 64

export interface MarkRules {
  /** A segment begins at the first keyframe after this, seconds. */
  readonly segmentSeconds: number
  /** Without a keyframe it begins before the one before gets longer than this, seconds. */
  readonly maxSeconds: number
}

/** A frame of one rendition, with the time at which it would be shown if frames were shown in the order of decoding. */
export interface MarkedFrame {
  readonly timeUs: number
  readonly key: boolean
}

/**
 * Where segments begin in renditions that follow the keyframes of a source. The rendition that comes first to a frame
 * decides, and the others follow, so that inexact times do not cut them apart.
 */
export class SegmentMarks {
  readonly #rules: MarkRules
  /** The number of the next mark of each rendition. */
  readonly #next: number[]
  readonly #latestUs: (number | null)[]
  #marks: MarkedFrame[] = []
  #forgotten = 0

  constructor(renditions: number, rules: MarkRules) {
    this.#rules = rules
    this.#next = Array.from({ length: renditions }, () => 0)
    this.#latestUs = Array.from({ length: renditions }, () => null)
  }

  /** A discontinuity: the next frame of each rendition begins a segment. */
  restart(): void {
    this.#forgotten += this.#marks.length
    this.#marks = []
    this.#next.fill(this.#forgotten)
    this.#latestUs.fill(null)
  }

  /** Whether a segment begins with this frame. */
  begins(rendition: number, frame: MarkedFrame): boolean {
    const next = this.#next[rendition] ?? 0
    const stepUs = frame.timeUs - (this.#latestUs[rendition] ?? frame.timeUs)
    this.#latestUs[rendition] = frame.timeUs
    const decided = this.#marks[next - this.#forgotten]
    const isMark = decided ? frame.timeUs >= decided.timeUs - SAME_US : this.#decides(frame, stepUs)
    if (!isMark) return false
    if (!decided) this.#add(frame)
    this.#next[rendition] = next + 1
    return true
  }

  #decides({ timeUs, key }: MarkedFrame, stepUs: number): boolean {
    const last = this.#marks.at(-1)
    if (last === undefined) return true
    const lengthUs = timeUs - last.timeUs
    const { segmentSeconds, maxSeconds } = this.#rules
    // A segment that had to begin without a keyframe ends at the next one.
    if (key && (!last.key || lengthUs >= segmentSeconds * 1_000_000 - EARLY_US)) return true
    return lengthUs + stepUs > maxSeconds * 1_000_000 + SAME_US
  }

  #add(frame: MarkedFrame): void {
    this.#marks.push(frame)
    if (this.#marks.length <= KEPT) return
    this.#marks.shift()
    this.#forgotten += 1
  }
}
