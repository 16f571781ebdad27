import type { Clock } from '../../../base/clock.ts'
import type { SegmentMemory } from '../../../base/segmentMemory.ts'
import type { NodeAnswer } from '../../../core/hls/nodes.ts'

/** Null: the node did not answer. */
export type FetchFromNode = (url: string, maxBytes: number) => Promise<NodeAnswer | null>

interface Fetched {
  readonly answer: Promise<NodeAnswer | null>
  /** The value of `answer`, once it is there. */
  settled: NodeAnswer | null
  /** Monotonic milliseconds; infinite while it is under way. */
  untilMs: number
  bytes: number
}

/** Twelve segments of two seconds for sixteen streams of 2.5 Mbit/s. */
const BYTES_MAX = 128 * 1024 * 1024
const ANSWERS_MAX = 2000
/** More than a segment holds. */
export const PIECE_MAX_BYTES = 64 * 1024 * 1024
/** More than any playlist, which is read line by line, or picture. */
const OTHER_MAX_BYTES = 3 * 1024 * 1024
/** Players request a piece within this time after its playlist. */
const FRESH_MAX_MS = 60_000

/**
 * Playlists and pieces of streams at other nodes. Each is fetched once, for all viewers of this node, and kept as long as
 * its node allows.
 */
export class RemoteMedia {
  readonly #clock: Clock
  readonly #fetch: FetchFromNode
  readonly #memory: SegmentMemory
  /** By key; the oldest first. */
  readonly #fetched = new Map<string, Fetched>()
  #bytes = 0

  /** @param memory keeps segments, so that they leave without being copied */
  constructor(clock: Clock, fetch: FetchFromNode, memory: SegmentMemory) {
    this.#clock = clock
    this.#fetch = fetch
    this.#memory = memory
  }

  /** The answer of `get`, if it is in memory. */
  peek(key: string): NodeAnswer | null {
    return this.#current(key)?.settled ?? null
  }

  /**
   * @param key what is fetched, without what differs between requests for it
   * @param url its address, with a ticket of this node
   */
  get(key: string, url: string, maxBytes = OTHER_MAX_BYTES): Promise<NodeAnswer | null> {
    const found = this.#current(key)
    if (found !== undefined) return found.answer
    this.#forget(key)
    if (!this.#hasRoom()) return Promise.resolve(null)
    const answer = this.#fetch(url, maxBytes).then(
      (fresh) => fresh && { ...fresh, body: this.#memory.keep(fresh.body) },
    )
    const fetched: Fetched = { answer, settled: null, untilMs: Number.POSITIVE_INFINITY, bytes: 0 }
    this.#fetched.set(key, fetched)
    void fetched.answer.then((answer) => this.#keep(key, fetched, answer))
    return fetched.answer
  }

  /** Forgets what is out of date. Call it about every second. */
  sweep(): void {
    const nowMs = this.#clock.monotonic()
    for (const [key, { untilMs }] of this.#fetched) if (untilMs <= nowMs) this.#forget(key)
  }

  /** Under way, or not out of date. */
  #current(key: string): Fetched | undefined {
    const found = this.#fetched.get(key)
    return found !== undefined && found.untilMs > this.#clock.monotonic() ? found : undefined
  }

  #keep(key: string, fetched: Fetched, answer: NodeAnswer | null): void {
    fetched.settled = answer
    fetched.untilMs = this.#clock.monotonic() + freshMs(answer)
    fetched.bytes = answer?.body.length ?? 0
    this.#bytes += fetched.bytes
    this.#hasRoom()
    if (freshMs(answer) === 0) this.#forget(key)
  }

  /** Makes room by forgetting the oldest answers. False: as many requests as may be are under way. */
  #hasRoom(): boolean {
    for (const [key, { untilMs }] of this.#fetched) {
      if (this.#bytes <= BYTES_MAX && this.#fetched.size < ANSWERS_MAX) return true
      if (untilMs !== Number.POSITIVE_INFINITY) this.#forget(key)
    }
    return this.#fetched.size < ANSWERS_MAX
  }

  #forget(key: string): void {
    this.#bytes -= this.#fetched.get(key)?.bytes ?? 0
    this.#fetched.delete(key)
  }
}

/** How long an answer may be kept: `s-maxage`, or else `max-age` (RFC 9111 section 5.2.2). */
function freshMs(answer: NodeAnswer | null): number {
  const [, seconds = '0'] =
    /s-maxage=(\d+)/.exec(answer?.caching ?? '') ?? /max-age=(\d+)/.exec(answer?.caching ?? '') ?? []
  return Math.min(FRESH_MAX_MS, Number(seconds) * 1000)
}
