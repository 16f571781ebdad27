import type { FrameFeed } from './frameFeed.ts'

/** A feed that nobody watches any more goes on for so long: who left may come back, and to begin anew takes time. */
const REST_AFTER_MS = 10_000

interface Held {
  readonly feed: FrameFeed
  readonly room: string
  watchedAtMs: number
  isWanted: boolean
}

/** The feeds from elsewhere of a relay process, and which of them are wanted: those that somebody watches. */
export class Feeds {
  readonly #held = new Map<string, Held>()
  readonly #want: (sessionId: string, isWanted: boolean) => void

  /** `want` is called when the frames of a feed are wanted from now on, or no more. */
  constructor(want: (sessionId: string, isWanted: boolean) => void) {
    this.#want = want
  }

  add(sessionId: string, room: string, feed: FrameFeed): void {
    this.#held.set(sessionId, { feed, room, watchedAtMs: Number.NEGATIVE_INFINITY, isWanted: false })
  }

  /** The feed of this session, which is not held here any more. */
  take(sessionId: string): { readonly feed: FrameFeed; readonly room: string } | undefined {
    const held = this.#held.get(sessionId)
    this.#held.delete(sessionId)
    return held
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    for (const { feed } of this.#held.values()) feed.pace(nowMs)
  }

  /** Call it when viewers come, and now and then: says what has changed. */
  reconcile(nowMs: number, isWatched: (sessionId: string, room: string) => boolean): void {
    for (const [sessionId, held] of this.#held) {
      if (isWatched(sessionId, held.room)) held.watchedAtMs = nowMs
      const isWanted = nowMs - held.watchedAtMs < REST_AFTER_MS
      if (isWanted === held.isWanted) continue
      held.isWanted = isWanted
      this.#want(sessionId, isWanted)
    }
  }
}
