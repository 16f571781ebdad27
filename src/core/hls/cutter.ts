/**
 * Where a stream is cut. Each part gets as many frames of the lead track (the video, or the audio without video) as fit
 * into PART-TARGET; a segment ends before a keyframe.
 */

export interface CutRules {
  /** A segment ends at the first keyframe after this, seconds. */
  readonly segmentSeconds: number
  /** Without a keyframe a segment ends before it gets longer than this, seconds. */
  readonly maxSeconds: number
  /** No part is longer, seconds. Null: segments have one part. */
  readonly partSeconds: number | null
  /** A segment ends before every keyframe. */
  readonly atEveryKey?: boolean
}

export type Lead = 'video' | 'audio'

/** Timestamps are not exact: a keyframe that comes a frame early ends a segment too. */
const EARLY_SECONDS: Readonly<Record<Lead, number>> = { video: 0.1, audio: 0 }
/** Sums of durations are not exact either. */
const ROUNDING_SECONDS = 1e-6
/** A keyframe is not shown again for a shorter time. */
const REPEAT_SECONDS = 0.02
/** Without parts a keyframe is not shown again for a longer time. */
const REPEAT_MAX_SECONDS = 0.5
/** A part that is not the last of its segment must have this share of PART-TARGET (rfc8216bis section 4.4.4.9). */
const LEAST_SHARE = 0.85

/** A long time between keyframes counts for one or two of these. */
const GOP_WINDOW_SECONDS = 30

/** Decides after each frame of the lead track whether a part or a segment ends there. */
export class Cutter {
  readonly #rules: CutRules
  readonly #earlySeconds: number
  #segmentSeconds = 0
  #partSeconds = 0
  #isIndependent = true
  #sinceKeySeconds = 0
  /** The longest time between two keyframes, in the present window and in the one before. */
  #gopSeconds = 0
  #gopBeforeSeconds = 0
  #windowSeconds = 0
  /** The duration of the latest frame, which the next one probably has too. */
  #usualSeconds = 0

  constructor(rules: CutRules, lead: Lead) {
    this.#rules = rules
    this.#earlySeconds = EARLY_SECONDS[lead]
  }

  /**
   * Whether a segment ends before a frame that begins now, with its duration as far as it is known.
   * @param isMarked whether one begins there in all renditions; absent: keyframes decide
   */
  endsSegment(key: boolean, seconds: number, isMarked?: boolean): boolean {
    const { maxSeconds, atEveryKey = false } = this.#rules
    if (this.#segmentSeconds === 0) return false
    if (isMarked ?? (key && (atEveryKey || this.#isEnough()))) return true
    return this.#segmentSeconds + Math.max(seconds, this.#usualSeconds) > maxSeconds + ROUNDING_SECONDS
  }

  /** Whether a segment that gets a keyframe now ends before it. */
  #isEnough(): boolean {
    const { segmentSeconds, maxSeconds } = this.#rules
    const gopSeconds = Math.max(this.#gopSeconds, this.#gopBeforeSeconds, this.#sinceKeySeconds)
    const isLong =
      this.#segmentSeconds >= segmentSeconds - this.#earlySeconds ||
      // Encoders add keyframes where the scene changes. The one after this may then come too late.
      this.#segmentSeconds + gopSeconds > maxSeconds
    // A segment that had to begin without a keyframe ends at the next one, so that players find a beginning there.
    return isLong || !this.#isIndependent
  }

  /**
   * Whether a segment ends before a keyframe that is shown again because video is missing. Unlike other keyframes it can come
   * at any time, so that the segment gets its full length.
   */
  endsSegmentBeforeRepeat(): boolean {
    return this.#segmentSeconds >= this.#rules.segmentSeconds - REPEAT_SECONDS
  }

  /** How long a keyframe that is shown again may last, seconds: until its part or segment ends. */
  get repeatSeconds(): number {
    const { segmentSeconds } = this.#rules
    if (this.endsSegmentBeforeRepeat()) return Math.min(segmentSeconds, this.#repeatPartSeconds)
    return Math.min(segmentSeconds - this.#segmentSeconds, this.repeatInSegmentSeconds)
  }

  /** The same for one that belongs to the present segment, however long that is: until its part ends. */
  get repeatInSegmentSeconds(): number {
    return this.#repeatPartSeconds - (this.#isPartFull ? 0 : this.#partSeconds)
  }

  /** Whether a part ends before a keyframe that is shown again. One that is too short gets the time that it lacks. */
  endsPartBeforeRepeat(seconds: number): boolean {
    const most = this.#repeatPartSeconds + ROUNDING_SECONDS
    return this.#rules.partSeconds !== null && (this.#isPartFull || this.#partSeconds + seconds > most)
  }

  get #repeatPartSeconds(): number {
    return this.#rules.partSeconds ?? REPEAT_MAX_SECONDS
  }

  /** No part may be shorter, but the last one of a segment. */
  get #isPartFull(): boolean {
    return this.#partSeconds >= this.#repeatPartSeconds * LEAST_SHARE
  }

  /** Whether a part ends before a frame that begins now: the frame would not fit, or players can begin with it. */
  endsPart(key: boolean, seconds: number): boolean {
    const { partSeconds } = this.#rules
    if (partSeconds === null || this.#partSeconds === 0) return false
    if (key && this.#partSeconds >= partSeconds * LEAST_SHARE) return true
    return this.#partSeconds + Math.max(seconds, this.#usualSeconds) > partSeconds + ROUNDING_SECONDS
  }

  /** A frame of the lead track with this duration belongs to the present segment. */
  add(seconds: number, key: boolean): void {
    if (this.#segmentSeconds === 0) this.#isIndependent = key
    if (key) this.#addGop(this.#sinceKeySeconds)
    this.#sinceKeySeconds = seconds + (key ? 0 : this.#sinceKeySeconds)
    this.#segmentSeconds += seconds
    this.#partSeconds += seconds
    this.#usualSeconds = seconds
  }

  #addGop(seconds: number): void {
    this.#windowSeconds += seconds
    this.#gopSeconds = Math.max(this.#gopSeconds, seconds)
    if (this.#windowSeconds < GOP_WINDOW_SECONDS) return
    this.#gopBeforeSeconds = this.#gopSeconds
    this.#gopSeconds = 0
    this.#windowSeconds = 0
  }

  partEnded(): void {
    this.#partSeconds = 0
  }

  segmentEnded(): void {
    this.#partSeconds = 0
    this.#segmentSeconds = 0
  }
}

/** PART-TARGET of streams with at least 20, 15, 10 and 7 frames a second. */
const PART_TARGETS = [0.35, 0.5, 0.7, 1]

/** A frame in twenty may be late: it must not slow down the whole stream. */
const STEADY_SHARE = 0.95

/**
 * PART-TARGET for a stream with frames that last this long, seconds. A part is shorter than the target by less than a
 * frame, and it may be shorter by 15% at most. A stream with fewer frames gets a target that a frame fits in.
 */
export function partTargetOf(frameSeconds: readonly number[]): number {
  const longest = frameSeconds.toSorted((a, b) => a - b)[Math.ceil(frameSeconds.length * STEADY_SHARE) - 1] ?? 0
  const found = PART_TARGETS.find((target) => longest <= target * (1 - LEAST_SHARE) + ROUNDING_SECONDS)
  return found ?? Math.max(1, Math.ceil(longest * 10) / 10)
}

/** TARGETDURATION for a stream whose first segment has this length: rounded, no segment may exceed it. */
export const targetDurationOf = (segmentSeconds: number, firstSeconds: number): number =>
  Math.max(1, Math.ceil(segmentSeconds), Math.round(firstSeconds))

/** The longest segment that rounds to TARGETDURATION, with room for inexact times. */
export const longestSegmentOf = (targetDuration: number): number => targetDuration + 0.45

/** A longer frame is a gap. */
const GAP_SECONDS = 1
/** A gap is also longer than this number of frames, so that a low frame rate is not a gap. */
const GAP_IN_FRAMES = 4
/** A clock that went back this far was set to another time. */
const BACK_SECONDS = 0.5

/**
 * Whether the time from a frame to the next one, after the time from the one before, is a gap, in which nothing was sent.
 * Its last frame gets the usual length, the segment ends, and the next one begins with a keyframe after a discontinuity.
 *
 * @param mostSeconds no segment may be longer
 */
export const isGap = (stepSeconds: number, stepBeforeSeconds: number, mostSeconds: number): boolean =>
  stepSeconds > Math.max(GAP_SECONDS, Math.min(stepBeforeSeconds * GAP_IN_FRAMES, mostSeconds)) ||
  stepSeconds < -BACK_SECONDS
