import type { Frame } from '../../frame.ts'

/** A segment of the source's rendition. Times are presentation times of the source, microseconds. */
export interface SourceSegment {
  readonly n: number
  readonly startUs: number
  /** Null: it is open. */
  readonly endUs: number | null
  /** Its date, epoch milliseconds. */
  readonly startMs: number
}

/** Times in whole milliseconds that are closer together than this are the same. */
const SAME_US = 2000
/** Encoded renditions are far less than this number of segments behind. */
const SEGMENTS_KEPT = 32

/** The segments of one run of the source's rendition, as far as they are known. */
export class SourceTimeline {
  readonly #startUs: number
  #segments: SourceSegment[] = []
  /** Where the run has ended, by the lengths of its segments; infinite: it has not. */
  overUs = Number.POSITIVE_INFINITY
  #hasJustClosed = false

  constructor(startUs: number) {
    this.#startUs = startUs
  }

  /** The first part of a segment is there. */
  opened(n: number, startMs: number): void {
    const startUs = this.#segments.at(-1)?.endUs ?? this.#startUs
    this.#segments = [...this.#segments.slice(1 - SEGMENTS_KEPT), { n, startUs, endUs: null, startMs }]
  }

  /** The latest segment is complete. */
  closed(seconds: number): void {
    this.#endAt((startUs) => startUs + seconds * 1_000_000)
    this.#hasJustClosed = true
  }

  /** A frame of video came, after what it closed. With B-frames, only a keyframe says where exactly the next segment begins. */
  frame({ key, timeUs }: Frame): void {
    if (this.#hasJustClosed && key) this.#endAt(() => timeUs)
    this.#hasJustClosed = false
  }

  /** The run is over. All frames that still come belong to its last segment: with B-frames, some are shown after its end. */
  end(): void {
    this.overUs = this.#segments.at(-1)?.endUs ?? Number.POSITIVE_INFINITY
    this.#endAt(() => Number.POSITIVE_INFINITY)
  }

  #endAt(endOf: (startUs: number) => number): void {
    const last = this.#segments.at(-1)
    if (last) this.#segments = [...this.#segments.slice(0, -1), { ...last, endUs: endOf(last.startUs) }]
  }

  /** The segment that begins with this frame. `later`: one does, but nothing more is known. Null: none does. */
  beginningWith({ timeUs }: Frame): SourceSegment | 'later' | null {
    const found = this.#segments.find(({ startUs }) => isSame(startUs, timeUs))
    if (found) return found
    return isSame(this.#segments.at(-1)?.endUs ?? (this.#segments.length === 0 ? this.#startUs : null), timeUs)
      ? 'later'
      : null
  }

  /** This segment as it is known now. */
  find(n: number): SourceSegment | undefined {
    return this.#segments.find((segment) => segment.n === n)
  }
}

const isSame = (oneUs: number | null, otherUs: number): boolean => oneUs !== null && Math.abs(oneUs - otherUs) < SAME_US

/** Whether a frame comes after all frames of a segment. */
export const isPast = ({ endUs }: SourceSegment, { timeUs }: Frame): boolean =>
  endUs !== null && timeUs > endUs - SAME_US
