import type { Frame } from '../../frame.ts'

/** Frames that are later than this may be a backlog; what is on time jitters by less. */
const LATE_MS = 500
/** Caught up: no later than this. */
const ON_TIME_MS = 150
/** A backlog shrinks: lateness has fallen by this much within this window. */
const FALLEN_MS = 100
const WINDOW_MS = 500
/** Frames are held back this long to see how fast the backlog shrinks, and then for a share of their lateness. */
const LOOK_MS = 200
const HOLD_SHARE = 1 / 3
const LEAST_HOLD_MS = 1000
const MOST_HOLD_MS = 3000
/** Bounds of what is held. */
const MAX_HELD = 1200
const MAX_HELD_BYTES = 20_000_000
/** A frame that is later than this is no backlog: the publisher's clock was reset. */
export const OTHER_CLOCK_MS = 60_000
/** The slowest that a publisher's clock may run against ours, in milliseconds a second. */
const DRIFT = 0.001
/** Frames that come at once are this far apart, so that a decoder gets through them at once too. */
const STEP_US = 1000

interface Held {
  readonly sinceMs: number
  readonly lateMs: number
  frames: Frame[]
  bytes: number
}

/**
 * Drops the backlog of one medium for real-time viewers. A publisher that stalled sends the missed frames as fast as it can. A
 * player takes that burst for jitter and keeps the delay. So a burst is held until it has caught up; then its last keyframe
 * and the frames after it leave together, with current times. A backlog that shrinks slowly is forwarded as it arrives.
 */
export class Backlog {
  /** The least of "our clock minus the frame's time" so far. */
  #originMs = Number.POSITIVE_INFINITY
  #originAtMs = 0
  /** The latest frame of the last moments. */
  #worst = { lateMs: 0, atMs: Number.NEGATIVE_INFINITY }
  #held: Held | null = null

  /** Takes a frame; returns the frames to forward now, in order. */
  take(frame: Frame, nowMs: number): readonly Frame[] {
    const gapMs = nowMs - this.#originAtMs
    const lateMs = this.#lateness(frame, nowMs)
    if (this.#held === null) {
      const begins = lateMs > LATE_MS && (gapMs > LATE_MS / 2 || this.#isFalling(lateMs, nowMs))
      if (!begins) return [frame]
      this.#held = { sinceMs: nowMs, lateMs, frames: [], bytes: 0 }
    }
    const held = this.#held
    hold(held, frame)
    if (lateMs > ON_TIME_MS && !isInVain(held, lateMs, nowMs)) return []
    this.#held = null
    // It hardly shrank: the publisher's clock has moved, and new frames are on time.
    if (lateMs > held.lateMs / 2) this.#originMs += lateMs
    return together(held.frames)
  }

  #lateness({ decodeTimeUs }: Frame, nowMs: number): number {
    const offsetMs = nowMs - decodeTimeUs / 1000
    const originMs = this.#originMs + (nowMs - this.#originAtMs) * DRIFT
    const isOther = offsetMs - originMs > OTHER_CLOCK_MS
    this.#originMs = isOther ? offsetMs : Math.min(offsetMs, originMs)
    this.#originAtMs = nowMs
    return offsetMs - this.#originMs
  }

  /** Whether frames arrive so fast that they will soon be on time. */
  #isFalling(lateMs: number, nowMs: number): boolean {
    const { lateMs: worstMs, atMs } = this.#worst
    if (lateMs >= worstMs || nowMs - atMs > WINDOW_MS) {
      this.#worst = { lateMs, atMs: nowMs }
      return false
    }
    return worstMs - lateMs >= FALLEN_MS && isSoonOver(worstMs, lateMs, nowMs - atMs)
  }
}

/** How long to wait for the end of a backlog, while the video of viewers is frozen anyway: longer for a longer one. */
const maxHoldMs = (lateMs: number): number => Math.min(Math.max(lateMs * HOLD_SHARE, LEAST_HOLD_MS), MOST_HOLD_MS)

/** Whether the backlog ends within that time, at the pace so far. */
const isSoonOver = (beforeMs: number, lateMs: number, elapsedMs: number): boolean =>
  (lateMs - ON_TIME_MS) * elapsedMs <= (beforeMs - lateMs) * maxHoldMs(beforeMs)

function hold(held: Held, frame: Frame): void {
  if (frame.key) {
    held.frames = []
    held.bytes = 0
  }
  held.frames.push(frame)
  held.bytes += frame.data.length
}

/** Whether waiting takes too long, or too much memory. */
function isInVain(held: Held, lateMs: number, nowMs: number): boolean {
  const elapsedMs = nowMs - held.sinceMs
  if (elapsedMs > maxHoldMs(held.lateMs) || held.frames.length >= MAX_HELD || held.bytes >= MAX_HELD_BYTES) return true
  return elapsedMs > LOOK_MS && !isSoonOver(held.lateMs, lateMs, elapsedMs)
}

/** The times of frames that belong together in a moment: that of the last, and just before it. */
function together(frames: readonly Frame[]): Frame[] {
  const lastUs = frames.at(-1)?.timeUs ?? 0
  return frames.map((frame, at) => {
    const timeUs = Math.max(frame.timeUs, lastUs - (frames.length - 1 - at) * STEP_US)
    return { ...frame, timeUs, decodeTimeUs: timeUs }
  })
}
