import type { Clock } from '../base/clock.ts'
import { streamIdOf } from '../core/streams/streamId.ts'
import type { RoomFeedback } from '../media/engine.ts'

/** Viewers report about once a second. A stream of which nothing was heard for this long has none that do. */
const FRESH_MS = 10_000

/** What the WebRTC viewers of one stream reported last. */
export interface StreamFeedback {
  /** Mean of their shares of lost packets, from 0 to 1; null: no viewer said one. */
  readonly lossShare: number | null
  readonly roundTripMs: number | null
}

/** What the WebRTC viewers of this node report, since the process started. */
export class ViewerFeedback {
  readonly #clock: Clock
  /** Packets that viewers asked for again. */
  nacks = 0
  /** Keyframes that viewers asked for. */
  keyframeRequests = 0
  /** Called for each viewer that begins, with the time from its offer to its first packet. Set by what measures it. */
  onFirstPacket: ((ms: number) => void) | null = null
  /** By room. */
  #streams = new Map<string, StreamFeedback & { readonly atMs: number }>()
  #forgotAtMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  heard(rooms: readonly RoomFeedback[]): void {
    const atMs = this.#clock.monotonic()
    for (const { room, nacks, keyframeRequests, lossShare, roundTripMs, firstPacketsMs } of rooms) {
      this.nacks += nacks
      this.keyframeRequests += keyframeRequests
      for (const ms of firstPacketsMs) this.onFirstPacket?.(ms)
      const before = this.#fresh(room, atMs)
      this.#streams.set(room, {
        atMs,
        lossShare: lossShare ?? before?.lossShare ?? null,
        roundTripMs: roundTripMs ?? before?.roundTripMs ?? null,
      })
    }
    this.#forget(atMs)
  }

  /** Undefined: nothing was heard lately. */
  of(accountId: string, streamName: string): StreamFeedback | undefined {
    return this.#fresh(streamIdOf({ accountId, streamName }), this.#clock.monotonic())
  }

  #fresh(room: string, nowMs: number): StreamFeedback | undefined {
    const known = this.#streams.get(room)
    return known !== undefined && nowMs - known.atMs < FRESH_MS ? known : undefined
  }

  #forget(nowMs: number): void {
    if (nowMs - this.#forgotAtMs < FRESH_MS) return
    this.#forgotAtMs = nowMs
    for (const [room, { atMs }] of this.#streams) if (nowMs - atMs >= FRESH_MS) this.#streams.delete(room)
  }
}
