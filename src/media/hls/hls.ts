import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { ActiveFeed } from '../sessionRegistry.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { HlsStream } from './hlsStream.ts'
import type { SegmentOptions } from './segments.ts'

export interface HlsOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** How many feeds may be packaged at a time. */
  readonly maxStreams: number
  /** A feed that nobody has asked for in this time is packaged no more. */
  readonly idleMs: number
  readonly segments: SegmentOptions
}

/** A keyframe interval of ten seconds, and half as much for a machine that is busy. */
const STALL_MS = 15_000

/** How many feeds that have followed one another are known for viewers of the first ones. */
const FOLLOWED_MAX = 100

interface Packaged {
  readonly stream: HlsStream
  /** The latest. */
  feed: ActiveFeed
  /** Of all its feeds, the oldest first. */
  readonly feedIds: string[]
}

/** HLS on demand: a feed is packaged from its first viewer on, until nobody has asked for it for a while. */
export class Hls {
  readonly #options: HlsOptions
  readonly #packaged = new Set<Packaged>()
  /** By the id of each of its feeds. */
  readonly #streams = new Map<string, HlsStream>()

  constructor(options: HlsOptions) {
    this.#options = options
  }

  /** How many feeds are packaged now. */
  get size(): number {
    return this.#packaged.size
  }

  /** The feed as HLS, begun when it is not there yet. The refusal is a sentence for the viewer. */
  open(feed: ActiveFeed): Result<HlsStream, string> {
    const known = this.find(feed.feedId)
    if (known) return ok(known)
    const { maxStreams, ffmpeg, clock, log, segments } = this.#options
    if (this.size >= maxStreams) return err('Too many streams are watched over HLS: try again later')
    const name = `${feed.accountId}/${feed.streamName}`
    const stream = new HlsStream({ ffmpeg, clock, log, name, source: feed.media, segments, stallMs: STALL_MS })
    const packaged = { stream, feed, feedIds: [] }
    this.#packaged.add(packaged)
    this.#name(packaged, feed)
    return ok(stream)
  }

  /**
   * A feed has begun. Where it takes the place of another of its source, who watches that goes on with this one, unless it
   * is secured and the other was not: then it is to be asked for anew.
   */
  follow(feed: ActiveFeed): void {
    for (const packaged of this.#packaged) {
      const { stream, feed: before } = packaged
      if (stream.ended || !isSameSource(before, feed) || (feed.secured && !before.secured)) continue
      this.#name(packaged, feed)
      stream.follow(feed.media)
    }
  }

  #name(packaged: Packaged, feed: ActiveFeed): void {
    packaged.feed = feed
    packaged.feedIds.push(feed.feedId)
    this.#streams.set(feed.feedId, packaged.stream)
    if (packaged.feedIds.length > FOLLOWED_MAX) this.#streams.delete(packaged.feedIds.shift() ?? '')
  }

  /** A feed that is packaged. Who asks keeps it going. */
  find(feedId: string): HlsStream | undefined {
    const stream = this.#streams.get(feedId)
    if (stream) stream.lastAskedMs = this.#options.clock.monotonic()
    return stream
  }

  /** Stops what nobody has asked for and kills what hangs; to be called every second or so. */
  async sweep(): Promise<void> {
    const { clock, idleMs } = this.#options
    for (const { stream } of this.#packaged) stream.checkProgress()
    const idle = [...this.#packaged].filter(
      ({ stream }) => !stream.isAwaited && clock.monotonic() - stream.lastAskedMs > idleMs,
    )
    for (const packaged of idle) {
      this.#packaged.delete(packaged)
      for (const feedId of packaged.feedIds) this.#streams.delete(feedId)
    }
    await Promise.all(idle.map(({ stream }) => stream.stop()))
  }

  async stop(): Promise<void> {
    const packaged = [...this.#packaged]
    this.#packaged.clear()
    this.#streams.clear()
    await Promise.all(packaged.map(({ stream }) => stream.stop()))
  }
}

const isSameSource = (a: ActiveFeed, b: ActiveFeed): boolean =>
  a.accountId === b.accountId && a.streamName === b.streamName && a.sourceId === b.sourceId
