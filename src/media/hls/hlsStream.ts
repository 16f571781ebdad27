import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { FrameSource, TrackInfo } from '../frame.ts'
import { hlsArguments } from '../ffmpeg/arguments.ts'
import { viewOf } from '../codecs/boxes.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { avcCodec, type Mp4Fragment, FragmentReader } from './fragments.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import { type Piece, SegmentList, type SegmentOptions, type UriOf } from './segments.ts'

export interface HlsStreamOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly name: string
  readonly source: FrameSource
  readonly segments: SegmentOptions
  /** A process that takes frames without output for this long is killed and restarted, milliseconds. */
  readonly stallMs: number
}

/** The attributes of a stream in a master playlist (RFC 8216 section 4.3.4.2). */
export interface HlsVariant {
  readonly bandwidth: number
  readonly codecs: string
  /** Pixels; null when they are not known or there is no video. */
  readonly size: { readonly width: number; readonly height: number } | null
}

const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 10_000
/** A process that ran for this long resets the back-off. */
const HEALTHY_MS = 30_000
const STOP_GRACE_MS = 2000
/** Longer than any frame interval. */
const PAUSE_MS = 2000
/**
 * After a longer gap in the media the playlist gets a discontinuity. ffmpeg would turn the gap into one long part or skip
 * it, so that playlist and media disagree; and players stay three times the longest part behind the live edge.
 */
const MAX_GAP_US = 1_000_000

/** One feed as HLS: an ffmpeg process, restarted when it dies, and the segments that it made. */
export class HlsStream {
  readonly #options: HlsStreamOptions
  readonly #segments: SegmentList
  readonly #stopping = new AbortController()
  readonly #waiting = new Set<() => void>()
  #source: FrameSource
  #process: FfmpegProcess | null = null
  /** Settles when the process of a source that ended is gone. */
  #finishing: Promise<unknown> | undefined
  /** Settles when the output of all earlier processes was read. */
  #before: Promise<unknown> = Promise.resolve()
  #tracks: readonly TrackInfo[] = []
  #unsubscribe: () => void = () => undefined
  #failures = 0
  /** Since when the process has taken frames without output; null: it keeps up. */
  #silentSinceMs: number | null = null
  #writtenAtMs = 0
  #problem: string | null = null
  #ended = false
  /** Monotonic milliseconds. */
  lastRequestMs: number

  constructor(options: HlsStreamOptions) {
    this.#options = options
    this.#source = options.source
    this.#segments = new SegmentList(options.segments)
    this.lastRequestMs = options.clock.monotonic()
    this.#subscribe()
  }

  /** The publisher is gone; the segments so far can still be played. */
  get ended(): boolean {
    return this.#ended
  }

  /** A request waits for a segment or a part. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0
  }

  /** Why no new segments come at the moment; a sentence for the log. */
  get problem(): string | null {
    return this.#problem
  }

  /** True as soon as there is a segment to play; false when there is none after `ms`, or the stream is over. */
  async ready(ms: number): Promise<boolean> {
    await this.#until(() => this.#segments.ready > 0, ms)
    return this.#segments.ready > 0
  }

  playlist(uriOf: UriOf): string {
    return this.#segments.playlist(uriOf)
  }

  /**
   * Resolves when a playlist lists this segment, or with `part` this part of it, and after `ms` at the latest. False: it
   * is too far ahead to wait for.
   */
  async reached(sequence: number, part: number | null, ms: number): Promise<boolean> {
    if (sequence > this.#segments.current + 1) return false
    await this.#until(() => this.#segments.has(sequence, part), ms)
    return true
  }

  piece(piece: Piece): Buffer | undefined {
    if (piece.kind === 'init') return this.#segments.init(piece.run)
    if (piece.kind === 'segment') return this.#segments.segment(piece.sequence)
    return this.#segments.part(piece.sequence, piece.part)
  }

  variant(): HlsVariant {
    const video = this.#tracks.find((track) => track.kind === 'video')
    const audio = this.#tracks.find((track) => track.kind === 'audio')
    const init = this.#segments.latestInit
    const avc = video && init ? avcCodec(viewOf(init)) : null
    // The first five bits are the audio object type (ISO/IEC 14496-3 section 1.6.2.1); Sluice encodes 2, AAC-LC.
    const aac = audio && `mp4a.40.${audio.codec === 'aac' ? (audio.config[0] ?? 16) >> 3 : 2}`
    return {
      bandwidth: Math.max(1, this.#segments.peakBitsPerSecond),
      codecs: [avc, aac].filter(Boolean).join(','),
      size: video && video.width > 0 ? { width: video.width, height: video.height } : null,
    }
  }

  /** Continues with another source: the playlist gets a discontinuity, and viewers keep playing. */
  follow(source: FrameSource): void {
    this.#source = source
    this.#silentSinceMs = null
    // Its remaining output is still read, and its end is not a failure.
    this.#process?.end()
    this.#process = null
    this.#subscribe()
  }

  /** Kills a process that hangs; `#watch` restarts it. Call it about every second. */
  checkProgress(): void {
    const { stallMs, log, name } = this.#options
    if (this.#silentSinceMs === null || this.#writtenAtMs - this.#silentSinceMs < stallMs) return
    this.#silentSinceMs = null
    log.warn({ name }, 'the HLS packager hangs and is killed')
    void this.#process?.stop(0)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#unsubscribe()
    this.#notify()
    await Promise.all([this.#process?.stop(STOP_GRACE_MS), this.#finishing])
  }

  /** The source replays its cached keyframe, so a restarted process has video at once. */
  #subscribe(): void {
    this.#unsubscribe()
    const source = this.#source
    const feed = new MuxFeed({
      write: (bytes) => this.#write(bytes),
      begin: (tracks) => this.#begin(tracks),
      end: () => void this.#end(source),
      maxGapUs: MAX_GAP_US,
    })
    this.#unsubscribe = source.subscribe(feed)
  }

  #write(bytes: Uint8Array): boolean {
    const nowMs = this.#options.clock.monotonic()
    // After a pause of the publisher the process had no input, so the time starts again.
    if (this.#silentSinceMs === null || nowMs - this.#writtenAtMs > PAUSE_MS) this.#silentSinceMs = nowMs
    this.#writtenAtMs = nowMs
    return this.#process?.write(bytes) ?? false
  }

  #begin(tracks: readonly TrackInfo[]): void {
    const { ffmpeg, name } = this.#options
    this.#tracks = tracks
    const before = this.#process
    before?.end()
    const reader = this.#reader()
    const earlier = this.#before
    const started = ffmpeg.run({
      name: `hls ${name}`,
      args: hlsArguments(tracks),
      stdin: true,
      stdout: (chunk) => void earlier.then(() => this.#read(reader, chunk)),
    })
    this.#process = started.ok ? started.value : null
    if (!started.ok) return void this.#failed(started.error.message)
    const process = started.value
    this.#before = Promise.all([earlier, process.exited])
    void this.#watch(process)
  }

  #reader(): FragmentReader {
    return new FragmentReader(
      (init) => this.#segments.begin(init.bytes),
      (fragment) => this.#add(fragment),
    )
  }

  #read(reader: FragmentReader, chunk: Buffer): void {
    try {
      reader.write(chunk)
    } catch (error) {
      this.#problem = `the packager's output cannot be read: ${String(error)}`
      void this.#process?.stop(0)
    }
  }

  #add(fragment: Mp4Fragment): void {
    this.#problem = null
    this.#silentSinceMs = null
    this.#segments.add(fragment, this.#options.clock.now())
    this.#notify()
  }

  /** Restarts a process that ended by itself, with a growing back-off. */
  async #watch(process: FfmpegProcess): Promise<void> {
    const { clock } = this.#options
    const startedAtMs = clock.monotonic()
    const { code, signal, tail } = await process.exited
    if (this.#process !== process || this.#ended || this.#stopping.signal.aborted) return
    if (clock.monotonic() - startedAtMs > HEALTHY_MS) this.#failures = 0
    await this.#failed(`ffmpeg ended (${signal ?? code}): ${tail}`)
  }

  async #failed(problem: string): Promise<void> {
    const { clock, log, name } = this.#options
    this.#problem = problem
    this.#process = null
    this.#silentSinceMs = null
    this.#unsubscribe()
    const pauseMs = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** this.#failures++)
    log.warn({ name, problem, pauseMs }, 'the HLS packager failed and is started again')
    try {
      await clock.sleep(pauseMs, this.#stopping.signal)
    } catch {
      return
    }
    this.#subscribe()
  }

  async #end(source: FrameSource): Promise<void> {
    const process = this.#process
    // The process ends because its input does, which is not a failure.
    this.#process = null
    this.#finishing = process?.stop(STOP_GRACE_MS)
    await this.#finishing
    await this.#before
    // Another publisher has replaced this one meanwhile.
    if (source !== this.#source) return
    this.#ended = true
    this.#segments.end()
    this.#notify()
  }

  async #until(holds: () => boolean, ms: number): Promise<void> {
    const { clock } = this.#options
    const untilMs = clock.monotonic() + ms
    while (!holds() && !this.#ended && !this.#stopping.signal.aborted) {
      const leftMs = untilMs - clock.monotonic()
      if (leftMs <= 0) return
      await this.#nextChange(leftMs)
    }
  }

  #notify(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  async #nextChange(ms: number): Promise<void> {
    const over = new AbortController()
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve)
      this.#options.clock.sleep(ms, over.signal).then(resolve, () => undefined)
    })
    over.abort()
  }
}
