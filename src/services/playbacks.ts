import type { Clock } from '../base/clock.ts'
import type { PlaybackRules } from '../core/channels/playback.ts'

/** A change by another process is seen after this long at most. */
const FRESH_MS = 1000
const CACHED_MAX = 10_000

interface CachedPlayback {
  readonly rules: Promise<PlaybackRules | null>
  /** The value of `rules`, once it is there. */
  settled?: PlaybackRules | null
  readonly atMs: number
}

export interface PlaybacksOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** From the store. Null: there is no such distribution. */
  readonly load: (id: string) => Promise<PlaybackRules | null>
}

/** The rules of distributions that are being played, so that a segment costs no query. */
export class Playbacks {
  readonly #options: PlaybacksOptions
  readonly #cached = new Map<string, CachedPlayback>()

  constructor(options: PlaybacksOptions) {
    this.#options = options
  }

  /** The answer of `find`, if it is in memory. */
  peek(id: string): PlaybackRules | null | undefined {
    const cached = this.#cached.get(id)
    return cached && this.#options.clock.monotonic() - cached.atMs < FRESH_MS ? cached.settled : undefined
  }

  /** Null: there is no such distribution. */
  find(id: string): Promise<PlaybackRules | null> {
    const nowMs = this.#options.clock.monotonic()
    const cached = this.#cached.get(id)
    if (cached && nowMs - cached.atMs < FRESH_MS) return cached.rules
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    const rules = this.#options.load(id)
    const entry: CachedPlayback = { rules, atMs: nowMs }
    this.#cached.set(id, entry)
    rules.then(
      (found) => {
        entry.settled = found
      },
      () => {
        if (this.#cached.get(id) === entry) this.#cached.delete(id)
      },
    )
    return rules
  }

  /** After a committed change at this node. */
  forget({ kind, id }: { readonly kind: string; readonly id: string }): void {
    if (kind === 'distribution') this.#cached.delete(id)
    else this.#cached.clear()
  }
}
