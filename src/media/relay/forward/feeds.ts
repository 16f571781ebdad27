import type { FrameFeed } from './frameFeed.ts'

/** A feed without viewers stays wanted for this long: viewers may return, and a start takes time. */
const IDLE_AFTER_MS = 10_000

interface Held {
  readonly feed: FrameFeed
  readonly room: string
  watchedAtMs: number
  isWanted: boolean
}

/** The feeds of a process that come from other protocols, and which of them are wanted: those with viewers. */
export class Feeds {
  readonly #held = new Map<string, Held>()
  readonly #want: (sessionId: string, isWanted: boolean) => void

  /** `want` is called when the frames of a feed are wanted from now on, or no longer. */
  constructor(want: (sessionId: string, isWanted: boolean) => void) {
    this.#want = want
  }

  add(sessionId: string, room: string, feed: FrameFeed): void {
    this.#held.set(sessionId, { feed, room, watchedAtMs: Number.NEGATIVE_INFINITY, isWanted: false })
  }

  /** Removes the feed of this session and returns it. */
  take(sessionId: string): { readonly feed: FrameFeed; readonly room: string } | undefined {
    const held = this.#held.get(sessionId)
    this.#held.delete(sessionId)
    return held
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    for (const { feed } of this.#held.values()) feed.pace(nowMs)
  }

  /** Call it when viewers join, and periodically: reports changes by `want`. */
  reconcile(nowMs: number, isWatched: (sessionId: string, room: string) => boolean): void {
    for (const [sessionId, held] of this.#held) {
      if (isWatched(sessionId, held.room)) held.watchedAtMs = nowMs
      const isWanted = nowMs - held.watchedAtMs < IDLE_AFTER_MS
      if (isWanted === held.isWanted) continue
      held.isWanted = isWanted
      this.#want(sessionId, isWanted)
    }
  }
}
