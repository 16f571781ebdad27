import { type Clock, pause } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { inHls } from '../codecs/inHls.ts'
import { MediaDates } from '../../core/hls/dates.ts'
import type { SegmentStore } from '../../core/hls/facts.ts'
import type { FeedRendition, HlsCodecs } from '../../core/hls/feedRungs.ts'
import type { EncodingRoom } from '../convert/encodingRoom.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { Frame, FrameSink, FrameSource, TrackInfo } from '../frame.ts'
import { MainLayer } from '../layers.ts'
import { AudioGap } from './audioGap.ts'
import { FeedConverter } from './feedConverter.ts'
import { FrameSampler } from './frameSampler.ts'
import { FeedLadder, type LadderLoad } from './ladder/feedLadder.ts'
import { type CutOptions, HlsPackager } from './packager.ts'
import type { HlsRendition } from './rendition.ts'
import { codecName } from './sampleEntries.ts'
import { HlsStream } from './stream.ts'
import type { StreamNumbers } from './streamNumbers.ts'

export interface SegmentOptions {
  /** A segment ends at the first keyframe after this, seconds. */
  readonly targetSeconds: number
  /** How many closed segments a playlist lists. */
  readonly listed: number
  /** The most bytes in memory; beyond it the oldest segments are removed. */
  readonly maxBytes: number
  /** Whether playlists also list parts of segments (low-latency HLS). */
  readonly parts: boolean
}

export interface FeedStreamOptions extends HlsRequest {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** Of the feed, whose streams continue each other. */
  readonly name: string
  /** Identifies its pieces in the store. */
  readonly id: string
  readonly store: SegmentStore
  readonly numbers: StreamNumbers
  readonly source: FrameSource
  readonly segments: SegmentOptions
  /** What the machine can encode for renditions. */
  readonly load: LadderLoad
  /** For video that HLS does not have. */
  readonly encodingRoom: EncodingRoom
  /** A process that takes frames without output for this long is killed and restarted, milliseconds. */
  readonly stallMs: number
}

/** What the publisher's token requests of HLS. */
export interface HlsRequest {
  /** Beside the rendition of the source. */
  readonly renditions: readonly FeedRendition[]
  /** Default: `h264`. */
  readonly hlsCodecs?: HlsCodecs
}

/** The rendition of what the publisher sends. */
const RENDITION = 'v0'

const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 10_000
/** A process that ran for this long resets the back-off. */
const HEALTHY_MS = 30_000

/**
 * One feed as HLS. Needs a process only for codecs that HLS does not have, which it restarts when it dies, and for
 * renditions beside that of the source.
 */
export class FeedStream {
  readonly #options: FeedStreamOptions
  /** What viewers request. */
  readonly hls: HlsStream
  readonly #sampler: FrameSampler
  readonly #ladder: FeedLadder
  readonly #stopping = new AbortController()
  #dates = new MediaDates()
  #source: FrameSource
  #request: HlsRequest
  #converter: FeedConverter
  #unsubscribe: () => void = () => undefined
  #failures = 0
  #problem: string | null = null
  #ended = false
  /** Monotonic milliseconds. */
  lastRequestMs: number

  constructor(options: FeedStreamOptions) {
    const { id, name, clock, store, numbers, source, segments } = options
    this.#options = options
    this.#source = source
    this.hls = new HlsStream({ ...segments, id, name, clock, store, numbers, renditions: [RENDITION] })
    const rendition = this.hls.rendition(RENDITION)
    if (rendition === undefined) throw new Error('a feed has no rendition')
    const cuts = { segmentSeconds: segments.targetSeconds, parts: segments.parts }
    this.#ladder = new FeedLadder({ ...options, stream: this.hls, source: rendition, cuts })
    this.#ladder.choose(options.renditions)
    this.#request = options
    this.#sampler = this.#newSampler(rendition, cuts)
    this.#converter = this.#newConverter()
    this.lastRequestMs = clock.monotonic()
    this.#subscribe()
  }

  /** The publisher is gone; the segments so far can still be played. */
  get ended(): boolean {
    return this.#ended
  }

  /** Why no new segments come at the moment; a sentence for the log. */
  get problem(): string | null {
    return this.#problem
  }

  /** True: there is nothing new to play, because this machine has no room to encode the video. */
  get lacksRoom(): boolean {
    return this.#converter.lacksRoom
  }

  /** As `HlsStream.ready`, without a wait for what this machine has no room to encode. */
  ready(ms: number): Promise<boolean> {
    return this.hls.ready(ms, () => this.lacksRoom)
  }

  /** Continues with another source: the playlist gets a discontinuity, and viewers keep playing. */
  follow(source: FrameSource, request: HlsRequest): void {
    this.#source = source
    this.#request = request
    this.#sampler.discontinue()
    this.#ladder.choose(request.renditions)
    this.#dates = new MediaDates()
    this.#subscribe()
  }

  /** Kills a process that hangs; it is started again. Call it about every second. */
  async checkProgress(): Promise<void> {
    const { log, name } = this.#options
    this.#ladder.check()
    if (await this.#converter.checkProgress()) log.warn({ name }, 'the HLS packager hangs and is killed')
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#unsubscribe()
    this.hls.stop()
    await Promise.all([this.#converter.stop(), this.#ladder.stop()])
  }

  #newSampler(source: HlsRendition, cuts: CutOptions): FrameSampler {
    const ladder = this.#ladder
    const options: CutOptions = {
      ...cuts,
      opened: (segment) => ladder.opened(segment),
      segment: ({ seconds }) => ladder.closed(seconds),
    }
    return new FrameSampler({
      packager: new HlsPackager(source, options, () => this.#changed()),
      dateOf: (sourceMs) => this.#dates.dateOf(sourceMs),
      hasGap: (clockChanged) => (clockChanged ? this.#dates.reset() : this.#dates.release()),
      nowMs: () => this.#options.clock.monotonic(),
      // Renditions get the video that the source's rendition has, also while the source sends none.
      taken: (taken) => ladder.frame(taken),
      begins: (run) => ladder.begin(run),
      ends: () => ladder.endRun(),
    })
  }

  #frame(frame: Frame): void {
    this.#sampler.frame(frame)
    if (frame.kind === 'audio') this.#ladder.frame(frame)
  }

  #changed(): void {
    this.#problem = null
    this.hls.changed()
  }

  #newConverter(): FeedConverter {
    const converter: FeedConverter = new FeedConverter({
      ...this.#options,
      name: `hls ${this.#options.name}`,
      passes: (track) => this.#passes(track),
      out: {
        tracks: (tracks) => this.#sampler.tracks(tracks),
        frame: (frame) => this.#frame(frame),
        end: () => this.#end(converter),
      },
      failed: (problem, ranMs) => void this.#failed(converter, problem, ranMs),
    })
    return converter
  }

  /**
   * Whether a track stays as it is. Not what MP4 cannot describe, such as VP9 above profile 0; and not Opus beside other
   * renditions, which share the audio: a player that needs their H.264 may need AAC, too.
   */
  #passes(track: TrackInfo): boolean {
    const { hlsCodecs, renditions } = this.#request
    const passes = inHls(track)
    if (passes !== 'requested' || hlsCodecs !== 'source') return passes === 'always'
    return codecName(track) !== null && (track.kind === 'video' || renditions.length === 0)
  }

  /** The source replays its cached keyframe, so a stream that begins again has video at once. */
  #subscribe(): void {
    this.#unsubscribe()
    void this.#converter.stop()
    this.#sampler.discontinue()
    const converter = this.#newConverter()
    this.#converter = converter
    const input = new DatedInput(this.#byLayer(converter), this.#dates, this.#options.clock)
    this.#unsubscribe = this.#source.subscribe(input)
    input.open()
  }

  /** Gives the main layer to the converter, and the others to the ladder. */
  #byLayer(converter: FrameSink): FrameSink {
    const main = new MainLayer(new AudioGap(converter, this.#options.clock))
    const ladder = this.#ladder
    return {
      tracks: (tracks) => {
        const [, ...others] = tracks.filter((track) => track.kind === 'video')
        ladder.layers(others)
        main.tracks(tracks)
      },
      frame: (frame) => {
        main.frame(frame)
        ladder.layerFrame(frame)
      },
      end: () => main.end(),
    }
  }

  async #failed(converter: FeedConverter, problem: string, ranMs: number): Promise<void> {
    const { clock, log, name } = this.#options
    if (this.#converter !== converter || this.#ended || this.#stopping.signal.aborted) return
    if (ranMs > HEALTHY_MS) this.#failures = 0
    this.#problem = problem
    if (converter.lacksRoom) this.hls.changed()
    if (!converter.continues) this.#unsubscribe()
    const pauseMs = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** this.#failures++)
    log.warn({ name, problem, pauseMs }, 'the HLS packager failed and is started again')
    await pause(clock, pauseMs, this.#stopping.signal)
    if (this.#stopping.signal.aborted || this.#converter !== converter) return
    if (converter.continues) converter.restart()
    else this.#subscribe()
  }

  #end(converter: FeedConverter): void {
    // Another publisher has replaced this one meanwhile.
    if (converter !== this.#converter) return
    this.#ended = true
    this.#sampler.end()
    this.#ladder.end()
  }
}

/** Notes when frames arrive. Passes what the source has cached only when all of it has been noted: it arrives late. */
class DatedInput implements FrameSink {
  readonly takesLayers = true
  readonly #out: FrameSink
  readonly #dates: MediaDates
  readonly #clock: Clock
  #cached: (() => void)[] | null = []

  constructor(out: FrameSink, dates: MediaDates, clock: Clock) {
    this.#out = out
    this.#dates = dates
    this.#clock = clock
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#pass(() => this.#out.tracks(tracks))
  }

  frame(frame: Frame): void {
    this.#dates.observe(frame.timeUs / 1000, this.#clock.now())
    this.#pass(() => this.#out.frame(frame))
  }

  end(): void {
    this.#pass(() => this.#out.end())
  }

  open(): void {
    for (const pass of this.#cached ?? []) pass()
    this.#cached = null
  }

  #pass(pass: () => void): void {
    if (this.#cached === null) pass()
    else this.#cached.push(pass)
  }
}
