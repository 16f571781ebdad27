import type { Frame } from '../frame.ts'

/** Frames that are later than this may be a backlog; what is on time jitters by less. */
const LATE_MS = 500
/** Caught up: no later than this. */
const ON_TIME_MS = 150
/** A backlog is worked off: lateness has fallen by this much within so long. */
const FALLEN_MS = 100
const WINDOW_MS = 500
/** Frames are held back for so long to see at what pace they come, and then for a part of the time that they are late. */
const LOOK_MS = 200
const HOLD_SHARE = 1 / 3
const LEAST_HOLD_MS = 1000
const MOST_HOLD_MS = 3000
/** And no more of them. */
const MAX_HELD = 1200
const MAX_HELD_BYTES = 20_000_000
/** What is later than this is no backlog: the clock of the encoder was set anew. */
const OTHER_CLOCK_MS = 60_000
/** The slowest that an encoder's clock may run against ours, in milliseconds a second. */
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
 * One medium on its way to viewers in real time. An encoder that was held up sends what it missed as fast as it can. Passed
 * on as it comes, a player takes it for jitter and stays behind by it. So what comes in a burst is held back until it is on
 * time again, and goes on from its last keyframe, with times as if it had all been made just now. Where an encoder only works
 * off a part, or does it slowly, nothing is held.
 */
export class Backlog {
  /** The least of "our clock minus the frame's time" so far. */
  #originMs = Number.POSITIVE_INFINITY
  #originAtMs = 0
  /** The latest frame of the last moments. */
  #worst = { lateMs: 0, atMs: Number.NEGATIVE_INFINITY }
  #held: Held | null = null

  /** Takes a frame in; returns what is to be passed on now, in order. */
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
    // Hardly any of it was worked off: what comes now is on time, by another measure.
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

  /** Whether frames come so much faster than they were made that they will soon be on time. */
  #isFalling(lateMs: number, nowMs: number): boolean {
    const { lateMs: worstMs, atMs } = this.#worst
    if (lateMs >= worstMs || nowMs - atMs > WINDOW_MS) {
      this.#worst = { lateMs, atMs: nowMs }
      return false
    }
    return worstMs - lateMs >= FALLEN_MS && isSoonOver(worstMs, lateMs, nowMs - atMs)
  }
}

/** How long a viewer whose picture stands anyway may wait for the end of a backlog: longer for a longer one. */
const patienceMs = (lateMs: number): number => Math.min(Math.max(lateMs * HOLD_SHARE, LEAST_HOLD_MS), MOST_HOLD_MS)

/** At the pace at which lateness fell so far it is over before viewers have waited for too long. */
const isSoonOver = (beforeMs: number, lateMs: number, elapsedMs: number): boolean =>
  (lateMs - ON_TIME_MS) * elapsedMs <= (beforeMs - lateMs) * patienceMs(beforeMs)

function hold(held: Held, frame: Frame): void {
  if (frame.key) {
    held.frames = []
    held.bytes = 0
  }
  held.frames.push(frame)
  held.bytes += frame.data.length
}

/** It takes too long, or too much, to wait until frames are on time again. */
function isInVain(held: Held, lateMs: number, nowMs: number): boolean {
  const elapsedMs = nowMs - held.sinceMs
  if (elapsedMs > patienceMs(held.lateMs) || held.frames.length >= MAX_HELD || held.bytes >= MAX_HELD_BYTES) return true
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
