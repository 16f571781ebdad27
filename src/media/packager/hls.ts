import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { LiveFeed } from '../sessions.ts'
import type { Ffmpeg } from './ffmpeg.ts'
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

/** HLS on demand: a feed is packaged from its first viewer on, until nobody has asked for it for a while. */
export class Hls {
  readonly #options: HlsOptions
  readonly #streams = new Map<string, HlsStream>()

  constructor(options: HlsOptions) {
    this.#options = options
  }

  /** How many feeds are packaged now. */
  get size(): number {
    return this.#streams.size
  }

  /** The feed as HLS, begun when it is not there yet. The refusal is a sentence for the viewer. */
  open(feed: LiveFeed): Result<HlsStream, string> {
    const known = this.find(feed.feedId)
    if (known) return ok(known)
    const { maxStreams, ffmpeg, clock, log, segments } = this.#options
    if (this.#streams.size >= maxStreams) return err('Too many streams are watched over HLS: try again later')
    const name = `${feed.accountId}/${feed.streamName}`
    const stream = new HlsStream({ ffmpeg, clock, log, name, source: feed.media, segments, stallMs: STALL_MS })
    this.#streams.set(feed.feedId, stream)
    return ok(stream)
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
    for (const stream of this.#streams.values()) stream.checkProgress()
    const idle = [...this.#streams].filter(
      ([, stream]) => !stream.isAwaited && clock.monotonic() - stream.lastAskedMs > idleMs,
    )
    for (const [feedId] of idle) this.#streams.delete(feedId)
    await Promise.all(idle.map(([, stream]) => stream.stop()))
  }

  async stop(): Promise<void> {
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    await Promise.all(streams.map((stream) => stream.stop()))
  }
}
