import { eachWalled } from '../../../base/walls.ts'
import type { FrameFeed } from './frameFeed.ts'

/** A feed without viewers stays wanted for this long: viewers may return, and a start takes time. */
const IDLE_AFTER_MS = 10_000

interface RoomFeed {
  readonly feed: FrameFeed
  readonly room: string
  watchedAtMs: number
  isWanted: boolean
}

/** The feeds of a process that come from other protocols, and which of them are wanted: those with viewers. */
export class Feeds {
  /** By session. */
  readonly #feeds = new Map<string, RoomFeed>()
  readonly #want: (sessionId: string, isWanted: boolean) => void

  /** `want` is called when the frames of a feed are wanted from now on, or no longer. */
  constructor(want: (sessionId: string, isWanted: boolean) => void) {
    this.#want = want
  }

  add(sessionId: string, room: string, feed: FrameFeed): void {
    this.#feeds.set(sessionId, { feed, room, watchedAtMs: Number.NEGATIVE_INFINITY, isWanted: false })
  }

  /** Removes the feed of this session and returns it. */
  take(sessionId: string): { readonly feed: FrameFeed; readonly room: string } | undefined {
    const taken = this.#feeds.get(sessionId)
    this.#feeds.delete(sessionId)
    return taken
  }

  /** Call it every few hundredths of a second. `failed` gets the session of a feed that throws, and may take it. */
  pace(nowMs: number, failed: (error: unknown, sessionId: string) => void): void {
    eachWalled(
      this.#feeds,
      ([, { feed }]) => feed.pace(nowMs),
      (error, [sessionId]) => failed(error, sessionId),
    )
  }

  /** Call it when viewers join, and periodically: reports changes by `want`. */
  reconcile(nowMs: number, isWatched: (sessionId: string, room: string) => boolean): void {
    for (const [sessionId, one] of this.#feeds) {
      if (isWatched(sessionId, one.room)) one.watchedAtMs = nowMs
      const isWanted = nowMs - one.watchedAtMs < IDLE_AFTER_MS
      if (isWanted === one.isWanted) continue
      one.isWanted = isWanted
      this.#want(sessionId, isWanted)
    }
  }
}
