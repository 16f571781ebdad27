import type { StreamRef } from '../core/streams/streamId.ts'
import type { Clock } from '../base/clock.ts'
import type { SharedStream } from '../core/nodes/nodeLinks.ts'
import type { EngineLinks, ShareFigures } from '../media/engine.ts'

/** Used requests that are remembered: more than nodes send while one is valid, usually those of hours. */
const NONCES_MAX = 40_000
/** Rooms that are lent at a time. */
const LENT_MAX = 5000

/** Of a share that has carried nothing yet. */
export const NO_FIGURES: ShareFigures = { bitrate: 0, loss: null, roundTripMs: null }

/** A room that another node has from this one. */
export interface Lent {
  /** The node. */
  readonly to: string
  /** Of that node; empty: none. */
  readonly region: string
  readonly stream: StreamRef
  /** The node of the feed: this one, or one from which it is lent on. */
  readonly feedAt: string
  /** The node knows that its viewers need tokens. */
  readonly isSecured: boolean
  /** Null: it has carried nothing yet. */
  readonly figures: () => ShareFigures | null
  readonly end: () => void
}

/** What this node lends to others, and the requests that it has read. */
export class LentRooms {
  /** The engine; null while this node does not serve, or with an engine that lends nothing. */
  links: EngineLinks | null = null
  readonly #clock: Pick<Clock, 'now'>
  readonly #untilMs = new Map<string, number>()
  /** Requests that were valid no longer than this may be among those that are forgotten. */
  #forgottenMs = Number.NEGATIVE_INFINITY
  /** By `keyOf`. */
  readonly #lent = new Map<string, Lent>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isFull(): boolean {
    return this.#lent.size >= LENT_MAX
  }

  /** The nodes that have rooms of this one. */
  get nodes(): readonly string[] {
    return [...new Set([...this.#lent.values()].map(({ to }) => to))]
  }

  /** The nodes that have this stream of the node with the feed, the first ones first. */
  nodesWith(stream: StreamRef, feedAt: string): readonly string[] {
    return [...this.#lent.values()]
      .filter((one) => isSame(one.stream, stream) && one.feedAt === feedAt)
      .map(({ to }) => to)
  }

  /** What it lends, stream by stream. @param own the id of this node; what others have the feed of is relayed */
  streams(own: string): readonly SharedStream[] {
    return [...this.#lent.values()].map(({ to, feedAt, figures }) => ({
      node: to,
      direction: feedAt === own ? 'lent' : 'relayed',
      ...(figures() ?? NO_FIGURES),
    }))
  }

  /**
   * `busy`: there are too many to remember one more. Those that are over are forgotten only to make room, and count as used
   * from then on: a clock that is set back makes their requests valid again. @param untilMs when a request with it is too old
   */
  useNonce(nonce: string, untilMs: number): 'fresh' | 'used' | 'busy' {
    if (this.#untilMs.has(nonce)) return 'used'
    if (untilMs <= this.#forgottenMs) return 'used'
    if (this.#untilMs.size >= NONCES_MAX) this.#forgetOver()
    if (this.#untilMs.size >= NONCES_MAX) return 'busy'
    this.#untilMs.set(nonce, untilMs)
    return 'fresh'
  }

  #forgetOver(): void {
    const nowMs = this.#clock.now()
    for (const [nonce, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) continue
      this.#untilMs.delete(nonce)
      this.#forgottenMs = Math.max(this.#forgottenMs, untilMs)
    }
  }

  /** A node has one share of the feeds of a room at one node: a new one replaces it. Call `remove` when it has ended. */
  add(lent: Lent): void {
    const before = this.#lent.get(keyOf(lent))
    this.#lent.delete(keyOf(lent))
    this.#lent.set(keyOf(lent), lent)
    before?.end()
  }

  /** It has ended. One that was replaced is not there any more. */
  remove(lent: Lent): void {
    if (this.#lent.get(keyOf(lent)) === lent) this.#lent.delete(keyOf(lent))
  }

  /** Ends those that pass the test. */
  endIf(isOver: (lent: Lent) => boolean): void {
    for (const lent of this.#lent.values()) if (isOver(lent)) lent.end()
  }
}

const isSame = (one: StreamRef, other: StreamRef): boolean =>
  one.accountId === other.accountId && one.streamName === other.streamName

const keyOf = ({ to, stream: { accountId, streamName }, feedAt }: Lent): string =>
  JSON.stringify([to, accountId, streamName, feedAt])
