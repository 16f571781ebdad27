import { AccountShare } from '../../base/accountShare.ts'
import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import type { SegmentMemory } from '../../base/segmentMemory.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { isSameSource, type SourceRef, streamIdOf } from '../../core/streams/streamId.ts'
import type { ActiveFeed } from '../feedsOnAir.ts'
import type { EncodingRoom } from '../convert/encodingRoom.ts'
import { type Ffmpeg, ffmpegOf } from '../ffmpeg/ffmpeg.ts'
import type { FrameSource } from '../frame.ts'
import { FeedStream, type SegmentOptions } from './feedStream.ts'
import type { LadderLoad } from './ladder/feedLadder.ts'
import { MemoryStore } from './store.ts'
import type { StreamNumbers } from './streamNumbers.ts'

export interface HlsOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly limits: {
    /** The most feeds packaged at a time. */
    readonly maxStreams: number
    /** A feed without a request for this long is no longer packaged. */
    readonly idleMs: number
  }
  /** What an account may have of `maxStreams`. */
  readonly share?: AccountShare
  /** Where segments are kept. */
  readonly memory: SegmentMemory
  /** For feeds whose packaging begins. */
  readonly segments: () => SegmentOptions
  /** What the machine can encode for renditions beside those of publishers. */
  readonly load: LadderLoad
  /** For video that HLS does not have. */
  readonly encodingRoom: EncodingRoom
  /** The media of a feed, which may have been encoded for others. */
  readonly mediaOf: (feed: ActiveFeed) => FrameSource
  /** Where streams begin to count. */
  readonly numbers: StreamNumbers
}

/** A keyframe interval of ten seconds, and five more for a busy machine. */
const STALL_MS = 15_000
const SWEEP_EVERY_MS = 1000

/** How many successive feeds of a source still lead to its stream, for viewers of the earlier ones. */
const FOLLOWED_MAX = 100

interface Packaged {
  readonly stream: FeedStream
  /** The latest feed. */
  feed: ActiveFeed
  /** Ids of all its feeds, the oldest first. */
  readonly feedIds: string[]
}

/** HLS on demand: packages a feed from its first request until it is idle. */
export class Hls {
  readonly #options: HlsOptions
  readonly #store: MemoryStore
  readonly #looks: LateLooks
  readonly #packaged = new Set<Packaged>()
  readonly #share: AccountShare
  /** By the id of each of its feeds. */
  readonly #streams = new Map<string, Packaged>()

  constructor(options: HlsOptions) {
    this.#options = options
    this.#share = options.share ?? new AccountShare()
    this.#looks = new LateLooks(SWEEP_EVERY_MS, options.clock.monotonic())
    this.#store = new MemoryStore(options.memory)
  }

  /** How many streams are packaged now. */
  get size(): number {
    return this.#packaged.size
  }

  /** The feed as HLS; starts to package it when needed. The refusal is a sentence for the viewer. */
  open(feed: ActiveFeed): Result<FeedStream, string> {
    const running = this.find(feed.feedId)
    if (running) return ok(running)
    const { limits } = this.#options
    const own = [...this.#packaged].filter((one) => one.feed.accountId === feed.accountId)
    const hasShare = this.#share.allows(feed.accountId, own.length, limits.maxStreams)
    if (!hasShare || this.size >= limits.maxStreams)
      return err('Too many streams are watched over HLS: try again later')
    const name = streamIdOf(feed)
    const { feedId: id, renditions, hlsCodecs = 'h264' } = feed
    const stream = new FeedStream({
      ...this.#options,
      ffmpeg: ffmpegOf(this.#options.ffmpeg, feed.accountId),
      store: this.#store,
      segments: this.#options.segments(),
      name,
      id,
      source: this.#options.mediaOf(feed),
      renditions,
      hlsCodecs,
      stallMs: STALL_MS,
    })
    const packaged = { stream, feed, feedIds: [] }
    this.#packaged.add(packaged)
    this.#name(packaged, feed)
    return ok(stream)
  }

  /**
   * A feed has begun. When it replaces another feed of its source, that feed's viewers continue with it. Not when the new
   * feed is secured and the old one was not: its viewers have to ask for access.
   */
  follow(feed: ActiveFeed): void {
    this.#share.note(feed.accountId)
    for (const packaged of this.#packaged) {
      const { stream, feed: before } = packaged
      if (stream.ended || !isSameSource(before, feed) || (feed.secured && !before.secured)) continue
      this.#name(packaged, feed)
      stream.follow(this.#options.mediaOf(feed), feed)
    }
  }

  #name(packaged: Packaged, feed: ActiveFeed): void {
    packaged.feed = feed
    packaged.feedIds.push(feed.feedId)
    this.#streams.set(feed.feedId, packaged)
    // The first one names the stream in addresses.
    if (packaged.feedIds.length > FOLLOWED_MAX) this.#streams.delete(packaged.feedIds.splice(1, 1)[0] ?? '')
  }

  /** The stream of a packaged feed, or with the id of a stream. Counts as a request, so it postpones the idle timeout. */
  find(feedId: string): FeedStream | undefined {
    const stream = this.#streams.get(feedId)?.stream
    if (stream) stream.lastRequestMs = this.#options.clock.monotonic()
    return stream
  }

  /** The latest feed of such a stream. */
  feedOf(feedId: string): ActiveFeed | undefined {
    return this.#streams.get(feedId)?.feed
  }

  /** The stream of a source that is not over. It is there also while the publisher moves to another node. */
  unended(source: SourceRef): FeedStream | undefined {
    return [...this.#packaged].find(({ stream, feed }) => !stream.ended && isSameSource(feed, source))?.stream
  }

  /** Stops idle streams and kills processes that hang. Call it about every `SWEEP_EVERY_MS`. */
  async sweep(): Promise<void> {
    const { clock, limits } = this.#options
    const nowMs = clock.monotonic()
    this.#looks.look(nowMs)
    await Promise.all([...this.#packaged].map((one) => one.stream.checkProgress().catch(this.#failed(one))))
    const idle = [...this.#packaged].filter(
      ({ stream }) => !stream.hls.isAwaited && this.#looks.lastedMs(stream.lastRequestMs, nowMs) > limits.idleMs,
    )
    await Promise.all(idle.map((packaged) => this.#stop(packaged)))
  }

  /** A fault of ours in one stream ends it and no other. The next request for it begins again. */
  #failed(packaged: Packaged): (error: unknown) => Promise<void> {
    return async (error) => {
      this.#options.log.error({ err: error, feed: packaged.feed.feedId }, 'the HLS of a feed failed, and is stopped')
      await this.#stop(packaged)
    }
  }

  async #stop(packaged: Packaged): Promise<void> {
    this.#packaged.delete(packaged)
    for (const feedId of packaged.feedIds) this.#streams.delete(feedId)
    await packaged.stream.stop()
  }

  async stop(): Promise<void> {
    const packaged = [...this.#packaged]
    this.#packaged.clear()
    this.#streams.clear()
    await Promise.all(packaged.map(({ stream }) => stream.stop()))
  }
}
