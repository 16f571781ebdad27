import type { Clock } from '../base/clock.ts'

/** A track that goes back this far has a clock that was set; publishers that order their frames badly go back less. */
const BACK_MS = 500
/** A time that is further ahead of its arrival than any before it by this much comes from another clock. */
const AHEAD_MS = 3000
/** So does a track that is this far behind another one. */
const BEHIND_MS = 5000

const HALF = 2 ** 31
/** No publisher is silent for longer than this and goes on. */
const SILENT_MAX_MS = 600_000

interface TrackClock {
  /** The timestamp of its latest frame, and the same without its wraps. */
  readonly timestamp: number
  readonly rawMs: number
  /** What is added to a time of the publisher. */
  readonly offsetMs: number
  readonly timeMs: number
  readonly arrivedAtMs: number
}

export interface TrackTime {
  /** Never negative. */
  readonly timeMs: number
  /** The clock of the track was set: its time goes on with the arrival. */
  readonly isJump: boolean
}

/**
 * The times of a publication, on one clock for all tracks. Extends timestamps of 32 bits, milliseconds, which wrap after
 * 49 days, or after 25 with ffmpeg and OBS. A track whose clock jumps, or is far from that of another track, gets an offset
 * of its own, so that its time goes on as its frames arrive: the latest frame, and the time since then.
 */
export class TrackTimes {
  readonly #clock: Pick<Clock, 'monotonic'> | null
  readonly #tracks = new Map<string, TrackClock>()
  /** The furthest that a time was ahead of its arrival. After a stall frames come late, and catch up to here. */
  #leadMs = Number.NEGATIVE_INFINITY

  /** @param clock null: the timestamps are right, as those of a process of ours */
  constructor(clock: Pick<Clock, 'monotonic'> | null) {
    this.#clock = clock
  }

  /**
   * @param track names it, as `trackKey` does
   * @param timestamp of 32 bits, milliseconds
   */
  at(track: string, timestamp: number): TrackTime {
    const nowMs = this.#clock?.monotonic() ?? 0
    const own = this.#tracks.get(track)
    const others = [...this.#tracks].filter(([other]) => other !== track).map(([, clock]) => clock)
    const last = own ?? others[0]
    const rawMs = last === undefined ? timestamp : last.rawMs + stepBetween(last.timestamp, timestamp)
    const usualMs = last?.offsetMs ?? 0
    const isJump = this.#clock !== null && !this.#isPlausible(rawMs + usualMs, nowMs, own, others)
    const offsetMs = isJump ? this.#offsetAfterJump(rawMs, nowMs, own, others) : usualMs
    const timeMs = rawMs + offsetMs
    this.#tracks.set(track, { timestamp, rawMs, offsetMs, timeMs, arrivedAtMs: nowMs })
    this.#leadMs = Math.max(this.#leadMs, timeMs - nowMs)
    return { timeMs: Math.max(0, timeMs), isJump: isJump && own !== undefined }
  }

  #isPlausible(timeMs: number, nowMs: number, own: TrackClock | undefined, others: readonly TrackClock[]): boolean {
    if (own === undefined && others.length === 0) return true
    if (own !== undefined && timeMs < own.timeMs - BACK_MS) return false
    if (others.some((other) => timeMs < other.timeMs - BEHIND_MS)) return false
    return timeMs - nowMs <= this.#leadMs + AHEAD_MS
  }

  /** Where all tracks jump, the later ones follow the first, so that they stay in sync. */
  #offsetAfterJump(rawMs: number, nowMs: number, own: TrackClock | undefined, others: readonly TrackClock[]): number {
    const followed = others.find(({ offsetMs }) => this.#isPlausible(rawMs + offsetMs, nowMs, own, others))
    if (followed !== undefined) return followed.offsetMs
    const all = own === undefined ? others : [own, ...others]
    return Math.max(...all.map(({ timeMs, arrivedAtMs }) => timeMs + nowMs - arrivedAtMs)) - rawMs
  }
}

/** From one timestamp to another. Some publishers leave out the highest bit, so that theirs wrap at 31: half of all is no step. */
function stepBetween(from: number, to: number): number {
  const step = (to - from) | 0
  if (Math.abs(step) < HALF - SILENT_MAX_MS) return step
  return step < 0 ? step + HALF : step - HALF
}
