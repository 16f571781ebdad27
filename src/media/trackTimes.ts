import type { Clock } from '../base/clock.ts'
import type { Frame } from './frame.ts'

/** A track that goes back this far has a clock that was set; publishers that order their frames badly go back less. */
const BACK_MS = 500
/** A time that is further ahead of its arrival than any before it by this much comes from another clock. */
const AHEAD_MS = 3000
/** So does a track that is this far behind another one. */
const BEHIND_MS = 5000

/** A correction that counts. Less is rounding, or a picture that comes in several parts. */
const RETIMED_MS = 10

/** No encoder shows a picture so long before or after it was decoded. */
export const REORDERED_MAX_MS = 10_000

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
  readonly standing: StandingClock
}

/** A frame that comes. */
interface Arrival {
  readonly rawMs: number
  readonly nowMs: number
  /** Of its track; undefined: it is the first. */
  readonly own: TrackClock | undefined
  readonly others: readonly TrackClock[]
}

export interface TrackTime {
  /** Never negative, and never before that of the frame before it. */
  readonly timeMs: number
  readonly marks: Pick<Frame, 'isJump' | 'isRetimed'>
}

/** What the operator of the publisher reads about a time; null: it is right. */
export function clockProblemOf({ isJump, isRetimed }: TrackTime['marks']): string | null {
  if (isJump === true) return 'The clock of the publisher jumps; its times go on as its media arrives'
  return isRetimed === true ? 'Timestamps of the publisher stand still or go back; its times go on without them' : null
}

/**
 * The times of a publication, on one clock for all tracks. Extends timestamps of 32 bits, milliseconds, which wrap after
 * 49 days, or after 25 with ffmpeg and OBS. A track whose clock jumps, or is far from that of another track, gets an offset
 * of its own, so that its time goes on as its frames arrive: the latest frame, and the time since then. One whose clock
 * stands still has the times of its arrival.
 */
export class TrackTimes {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #tracks = new Map<string, TrackClock>()
  /** The furthest that a time was ahead of its arrival. After a stall frames come late, and catch up to here. */
  #leadMs = Number.NEGATIVE_INFINITY
  /** Added to the arrival of tracks whose clock stands still. One for all, so that they stay in sync. */
  #standingMs: number | null = null

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /**
   * @param track names it, as `trackKey` does
   * @param timestamp of 32 bits, milliseconds
   */
  at(track: string, timestamp: number): TrackTime {
    const nowMs = this.#clock.monotonic()
    const own = this.#tracks.get(track)
    const others = [...this.#tracks].filter(([other]) => other !== track).map(([, clock]) => clock)
    const last = own ?? others[0]
    const rawMs = last === undefined ? timestamp : last.rawMs + stepBetween(last.timestamp, timestamp)
    const from: Arrival = { rawMs, nowMs, own, others }
    const usualMs = last?.offsetMs ?? 0
    const standing = own?.standing ?? new StandingClock()
    const isJump = this.#wasSet(from, rawMs + usualMs, standing)
    const { stands } = standing
    const offsetMs = stands ? this.#standingOffset(from) : isJump ? this.#offsetAfterJump(from) : usualMs
    const saidMs = rawMs + offsetMs
    const timeMs = inOrder(own, saidMs)
    this.#tracks.set(track, { timestamp, rawMs, offsetMs, timeMs, arrivedAtMs: nowMs, standing })
    this.#leadMs = Math.max(this.#leadMs, timeMs - nowMs)
    const isRetimed = stands || timeMs - saidMs >= RETIMED_MS
    const marks = { ...(isJump && own !== undefined && { isJump }), ...(isRetimed && { isRetimed }) }
    return { timeMs: Math.max(0, timeMs), marks }
  }

  /** Whether the clock of the track was set. Looks whether it stands still, too. */
  #wasSet(from: Arrival, timeMs: number, standing: StandingClock): boolean {
    if (standing.stands) return false
    const wasSet = !this.#isPlausible(timeMs, from)
    if (wasSet) standing.reset()
    standing.look(from.rawMs, from.nowMs)
    return wasSet
  }

  #isPlausible(timeMs: number, { nowMs, own, others }: Arrival): boolean {
    if (own === undefined && others.length === 0) return true
    if (own !== undefined && timeMs < own.timeMs - BACK_MS) return false
    if (others.some((other) => timeMs < other.timeMs - BEHIND_MS)) return false
    return timeMs - nowMs <= this.#leadMs + AHEAD_MS
  }

  /** Where all tracks jump, the later ones follow the first, so that they stay in sync. */
  #offsetAfterJump(from: Arrival): number {
    const followed = from.others.find(({ offsetMs }) => this.#isPlausible(from.rawMs + offsetMs, from))
    return followed?.offsetMs ?? goingOn(from) - from.rawMs
  }

  #standingOffset(from: Arrival): number {
    this.#standingMs ??= goingOn(from) - from.nowMs
    return from.nowMs + this.#standingMs - from.rawMs
  }
}

/** What goes back follows the frame before it. */
const inOrder = (own: TrackClock | undefined, timeMs: number): number =>
  own !== undefined && timeMs < own.timeMs ? own.timeMs + 1 : timeMs

/** The time of a frame whose own clock tells nothing: the latest one, and the time since then. */
function goingOn({ nowMs, own, others }: Arrival): number {
  const all = own === undefined ? others : [own, ...others]
  return Math.max(...all.map(({ timeMs, arrivedAtMs }) => timeMs + nowMs - arrivedAtMs))
}

/** From one timestamp to another. Some publishers leave out the highest bit, so that theirs wrap at 31: half of all is no step. */
function stepBetween(from: number, to: number): number {
  const step = (to - from) | 0
  if (Math.abs(step) < HALF - SILENT_MAX_MS) return step
  return step < 0 ? step + HALF : step - HALF
}

/** A clock is judged by as many frames, and for so long: some publishers write 0 for what comes before their clock begins. */
const JUDGED_FRAMES = 25
const JUDGED_MS = 3000
/** The shortest frames of any codec take 2.5 ms. A clock that is slower stands still, or counts something else. */
const LEAST_MS_PER_FRAME = 1.5

/** Tells whether the clock of a track stands still while its frames arrive. It is not believed again. */
class StandingClock {
  #stands = false
  #since: { readonly rawMs: number; readonly atMs: number } | null = null
  #frames = 0

  get stands(): boolean {
    return this.#stands
  }

  /** A frame comes. */
  look(rawMs: number, nowMs: number): void {
    if (this.#since !== null && rawMs - this.#since.rawMs > this.#frames * LEAST_MS_PER_FRAME) this.reset()
    const { atMs } = (this.#since ??= { rawMs, atMs: nowMs })
    this.#frames += 1
    this.#stands ||= this.#frames > JUDGED_FRAMES && nowMs - atMs >= JUDGED_MS
  }

  /** Its time moves, or was set. */
  reset(): void {
    this.#since = null
    this.#frames = 0
  }
}
