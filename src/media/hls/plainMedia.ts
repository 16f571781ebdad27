import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { EncodingRoom } from '../convert/encodingRoom.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { FrameSink, FrameSource, TrackInfo } from '../frame.ts'
import { AudioGap } from './audioGap.ts'
import { FeedConverter } from './feedConverter.ts'
import { Hub } from '../hub.ts'

export interface PlainMediaOptions {
  readonly source: FrameSource
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** Whether a track passes as it is. Others become H.264 and AAC. */
  readonly passes: (track: TrackInfo) => boolean
  /** For video that does not pass. */
  readonly encodingRoom: EncodingRoom
  /** For the log: `restream abc123/lobby`. */
  readonly name: string
}

/** Called once, instead of more frames: the media cannot be converted. A sentence for people. */
export type ConversionFailed = (problem: string) => void

interface Run {
  readonly hub: Hub
  readonly converter: FeedConverter
  readonly failed: Set<ConversionFailed>
  leave: () => void
}

/** A process that takes frames without output for this long is killed. */
const STALL_MS = 10_000
/** A process that ran for this long is started again; one that failed sooner would fail again. */
const HEALTHY_MS = 30_000

/**
 * Media of a feed as a protocol takes it. What does not pass is converted once for all subscribers, while there are any. A late
 * subscriber begins at the last keyframe.
 */
export class PlainMedia {
  readonly #options: PlainMediaOptions
  #run: Run | null = null

  constructor(options: PlainMediaOptions) {
    this.#options = options
  }

  /** Returns the function that unsubscribes. */
  subscribe(sink: FrameSink, failed: ConversionFailed): () => void {
    const running = this.#run
    const run = running ?? this.#newRun()
    this.#run = run
    run.failed.add(failed)
    const unsubscribe = run.hub.subscribe(sink)
    if (running === null) this.#begin(run)
    return () => {
      unsubscribe()
      if (run.failed.delete(failed) && run.failed.size === 0) this.#end(run)
    }
  }

  /** Kills a process that hangs. Call it about every second. */
  async checkProgress(): Promise<void> {
    await this.#run?.converter.checkProgress()
  }

  #newRun(): Run {
    const hub = new Hub(this.#options)
    const failed = (problem: string, ranMs: number): void => {
      if (converter.continues && ranMs > HEALTHY_MS) converter.restart()
      else this.#fail(run, problem)
    }
    const options = { ...this.#options, out: hub, stallMs: STALL_MS, failed }
    const converter: FeedConverter = new FeedConverter(options)
    const run: Run = { hub, converter, failed: new Set(), leave: () => undefined }
    return run
  }

  /** The source sends what it has cached at once, and its conversion may fail with that. */
  #begin(run: Run): void {
    const leave = this.#options.source.subscribe(new AudioGap(run.converter, this.#options.clock))
    if (this.#run === run) run.leave = leave
    else leave()
  }

  #fail(run: Run, problem: string): void {
    this.#end(run)
    for (const failed of run.failed) failed(problem)
  }

  #end(run: Run): void {
    if (this.#run === run) this.#run = null
    run.leave()
    void run.converter.stop()
  }
}
