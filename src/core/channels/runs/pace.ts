import { rounded } from '../../../base/numbers.ts'
import { coded, type CodedSentence } from '../../notices.ts'

/** Measures how fast the process of an engine encodes. Pure: samples in, pace out. */

/** One sample of a process; taken about once a second. */
export interface PaceSample {
  /** Monotonic, milliseconds. */
  readonly atMs: number
  /** Media that it can have finished since it began, milliseconds. */
  readonly dueMs: number
  /** The time of the latest frame that has to come out: of video, or of audio without video, milliseconds. */
  readonly leadMs: number
  /** Encoded media, milliseconds. */
  readonly outMs: number
  /** Frames of the source that were dropped so far because the process could not take them. */
  readonly droppedFrames: number
  /** The media time of those frames, milliseconds. */
  readonly droppedMs: number
  /** Processor time used so far, milliseconds; null: the system does not report it. */
  readonly cpuMs: number | null
  /** It would go on if it got a processor or its disk answered. Looked up only where `cpuMs` has not grown; else false. */
  readonly isReadyToRun: boolean
}

export interface Pace {
  /** Seconds of media encoded per second, averaged over the last ten; null in the first two seconds. */
  readonly speed: number | null
  /** How far it lags behind what it can have finished, milliseconds. */
  readonly lagMs: number
  /** Frames that this process has dropped so far. */
  readonly droppedFrames: number
  /** Processors that it uses; null: the system does not report it. */
  readonly cores: number | null
  /** The average covers ten seconds. */
  readonly isSettled: boolean
  /** It has been too slow for its source for ten seconds or more. */
  readonly isOverloaded: boolean
}

const WINDOW_MS = 10_000
const SHORTEST_MS = 2000
/** Real time is 1. Below this it falls behind for good; between this and 1, a sample may just have been late. */
const SLOW = 0.95
/** The lag of a healthy process: its reporting delay (a second) and the media that it works on. */
const LAG_MS = 2000
/** A process that keeps up again must do so for this long. */
const RECOVERY_MS = 20_000

/** Watches one process from its start to its end. */
export class PaceWatch {
  #samples: PaceSample[] = []
  #slowAtMs: number | null = null

  look(sample: PaceSample): Pace {
    this.#samples.push(sample)
    // The window begins with the latest sample that is at least ten seconds old.
    const begins = this.#samples.findLastIndex(({ atMs }) => sample.atMs - atMs >= WINDOW_MS)
    this.#samples.splice(0, Math.max(0, begins))
    const first = this.#samples[0] ?? sample
    const isSettled = sample.atMs - first.atMs >= WINDOW_MS
    if (isSettled && isSlow(this.#samples, first, sample)) this.#slowAtMs = sample.atMs
    return {
      speed: speedOf(first, sample),
      lagMs: lagOf(sample),
      droppedFrames: sample.droppedFrames,
      cores: coresOf(first, sample),
      isSettled,
      isOverloaded: this.#slowAtMs !== null && sample.atMs - this.#slowAtMs < RECOVERY_MS,
    }
  }
}

const lagOf = ({ dueMs, outMs }: PaceSample): number => Math.max(0, dueMs - outMs)

/** Dropped media is a gap that takes no time to encode, so it does not count as encoded. */
function speedOf(first: PaceSample, last: PaceSample): number | null {
  const wallMs = last.atMs - first.atMs
  if (wallMs < SHORTEST_MS) return null
  const encodedMs = last.outMs - first.outMs - (last.droppedMs - first.droppedMs)
  return Math.max(0, encodedMs) / wallMs
}

function coresOf(first: PaceSample, last: PaceSample): number | null {
  const wallMs = last.atMs - first.atMs
  if (first.cpuMs === null || last.cpuMs === null || wallMs < SHORTEST_MS) return null
  return Math.max(0, last.cpuMs - first.cpuMs) / wallMs
}

/** Whether the process itself is too slow. A source that pauses or is late does not count. */
function isSlow(samples: readonly PaceSample[], first: PaceSample, last: PaceSample): boolean {
  if ((speedOf(first, last) ?? 1) >= SLOW) return false
  if (last.droppedFrames > first.droppedFrames) return true
  const fallsBehind = last.outMs - first.outMs < SLOW * (last.dueMs - first.dueMs)
  return fallsBehind && samples.every((sample) => lagOf(sample) >= LAG_MS || sample === first)
}

/** For the person who operates the engine. */
export const overloadSentences = ({ speed, lagMs, droppedFrames }: Pace): CodedSentence[] => [
  coded('engine_slow', { speed: rounded(speed ?? 0, 100) }),
  coded('engine_behind', { seconds: rounded(lagMs / 1000, 10) }),
  ...(droppedFrames === 0 ? [] : [coded('engine_dropped', { frames: droppedFrames })]),
]
