import { type StreamViewing, viewersOf } from '../core/streams/reading.ts'
import type { RemoteFeedRef } from '../media/feedsOnAir.ts'
import type { StreamCount } from '../media/streamCounts.ts'
import type { FeedBytes } from '../store/store.ts'
import { type FeedMeter, MARKS, rateOf } from './feedMeter.ts'

/** The stream as this node serves it: its viewers here, and the bytes to them, which count for every feed that is on the air. */
export class ServedStream {
  readonly accountId: string
  readonly streamName: string
  /** Its feeds at this node, by id. */
  readonly feeds = new Map<string, FeedMeter>()
  /** Viewers at other nodes, as those wrote it. */
  remoteViewers = 0
  /** The row of this node as last written; empty: there is none. */
  written = ''
  #count: Readonly<StreamCount> | undefined
  /** Of `#count`, at the last look. */
  #bytesBefore = 0
  #bytesOut = 0
  /** Totals of `#bytesOut`, by the time of the sample. */
  #marks: readonly { readonly atMs: number; readonly bytes: number }[] = []
  /** Its feeds at other nodes at the last look, by id: some may have ended since. */
  #remote: ReadonlyMap<string, FeedBytes> = new Map()

  constructor(accountId: string, streamName: string) {
    this.accountId = accountId
    this.streamName = streamName
  }

  /** Takes the viewers and bytes of now. Returns the totals of feeds of other nodes that have grown. */
  look(count: Readonly<StreamCount> | undefined, remote: readonly RemoteFeedRef[], node: string): FeedBytes[] {
    const moved = this.#take(count)
    const viewers = (count === undefined ? 0 : viewersOf(count)) + this.remoteViewers
    for (const meter of this.feeds.values()) {
      meter.bytesOut += moved
      meter.mostViewers = Math.max(meter.mostViewers, viewers)
    }
    // A process that stops serving has no id to write a new total under.
    const fresh = node === '' ? [] : remote.filter(({ feedId }) => !this.#remote.has(feedId))
    const before = [...this.#remote.values(), ...fresh.map(({ feedId }) => ({ feedId, node, bytesOut: 0 }))]
    const totals = before.map((total) => ({ ...total, bytesOut: total.bytesOut + moved }))
    const isOn = ({ feedId }: FeedBytes): boolean => remote.some((feed) => feed.feedId === feedId)
    this.#remote = new Map(totals.filter(isOn).map((total) => [total.feedId, total]))
    return moved > 0 ? totals : []
  }

  /** Call it every two seconds, after `look`. */
  mark(atMs: number): void {
    this.#marks = [...this.#marks.slice(1 - MARKS), { atMs, bytes: this.#bytesOut }]
  }

  viewing(count: Readonly<StreamCount> | undefined): StreamViewing {
    const bitrateOut = rateOf(this.#marks, ({ bytes }) => bytes * 8) ?? 0
    return { whep: count?.whep ?? 0, hls: count?.hls ?? 0, bitrateOut }
  }

  /** Nothing that happens here concerns a feed that is on the air. */
  get isOver(): boolean {
    return this.#count === undefined && this.feeds.size === 0 && this.#remote.size === 0 && this.written === ''
  }

  /** A stream that had no session for a while has another count, which begins with 0. */
  #take(count: Readonly<StreamCount> | undefined): number {
    if (count !== this.#count) this.#bytesBefore = 0
    this.#count = count
    const bytes = count?.bytesOut ?? 0
    const moved = bytes - this.#bytesBefore
    this.#bytesBefore = bytes
    this.#bytesOut += moved
    return moved
  }
}
