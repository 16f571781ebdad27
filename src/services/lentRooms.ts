import type { Clock } from '../base/clock.ts'
import type { SharedStream } from '../core/nodes/nodeLinks.ts'
import type { EngineLinks, LentRoom, ShareFigures } from '../media/engine.ts'

/** More requests than this many nodes send within their time, and rooms that are lent at a time. */
const NONCES_MAX = 10_000
const LENT_MAX = 5000

/** Of a share that has carried nothing yet. */
export const NO_FIGURES: ShareFigures = { bitrate: 0, loss: null, roundTripMs: null }

/** What this node lends to others, and the requests that it has read. */
export class LentRooms {
  /** The engine; null while this node does not serve, or with an engine that lends nothing. */
  links: EngineLinks | null = null
  readonly #clock: Pick<Clock, 'now'>
  readonly #untilMs = new Map<string, number>()
  /** By node, then by room. */
  readonly #lent = new Map<string, Map<string, LentRoom>>()
  #size = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isFull(): boolean {
    return this.#size >= LENT_MAX
  }

  /** The nodes that have rooms of this one. */
  get nodes(): readonly string[] {
    return [...this.#lent.keys()]
  }

  /** What it lends, stream by stream. */
  get streams(): readonly SharedStream[] {
    return [...this.#lent].flatMap(([node, rooms]) =>
      [...rooms.values()].map((room) => ({ node, direction: 'lent' as const, ...(room.figures() ?? NO_FIGURES) })),
    )
  }

  /** False: this nonce was used, or there are too many to tell. @param untilMs when a request with it is too old anyway */
  useNonce(nonce: string, untilMs: number): boolean {
    const nowMs = this.#clock.now()
    for (const [old, endMs] of this.#untilMs) {
      if (endMs > nowMs) break
      this.#untilMs.delete(old)
    }
    if (this.#untilMs.has(nonce) || this.#untilMs.size >= NONCES_MAX) return false
    this.#untilMs.set(nonce, untilMs)
    return true
  }

  /** A node has one share of a room: a new one replaces it. Call `remove` when it has ended. */
  add(node: string, room: string, lent: LentRoom): void {
    const rooms = this.#lent.get(node) ?? new Map<string, LentRoom>()
    const before = rooms.get(room)
    this.#lent.set(node, rooms.set(room, lent))
    this.#size += before === undefined ? 1 : 0
    before?.end()
  }

  /** It has ended. One that was replaced is not there any more. */
  remove(node: string, room: string, lent: LentRoom): void {
    const rooms = this.#lent.get(node)
    if (rooms?.get(room) !== lent) return
    rooms.delete(room)
    this.#size -= 1
    if (rooms.size === 0) this.#lent.delete(node)
  }

  endOf(node: string): void {
    for (const lent of this.#lent.get(node)?.values() ?? []) lent.end()
  }
}
