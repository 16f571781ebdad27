import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { ProcessLooks } from '../../base/processors.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import { StallWatch } from '../ffmpeg/stallWatch.ts'

export interface ConversionOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log. */
  readonly name: string
  /** Arguments for ffmpeg, which reads Matroska from `pipe:0` and writes to `pipe:1`. */
  readonly args: readonly string[]
  /** Called for each new process; the function that it returns takes the process's output. */
  readonly begin: () => (output: Buffer) => void
  /** See `StallWatch`. */
  readonly looks?: ProcessLooks
}

/** The most bytes that may wait to be converted. Beyond it, frames are dropped up to the next keyframe. */
const BACKLOG_BYTES = 4_000_000
const STOP_GRACE_MS = 2000
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000
/** A process that takes frames without output for this long is killed. */
const STALL_MS = 10_000
const LOOK_MS = 1000
/** ffmpeg fills small gaps. After a clock reset it would stall, or fill the gap with silence. */
const JUMP_BACK_US = 500_000
const JUMP_AHEAD_US = 10_000_000

/**
 * Converts one track with ffmpeg. Restarts a process that ends or hangs, with a back-off that doubles while there is no output.
 */
export class Conversion {
  readonly #options: ConversionOptions
  readonly #stall: StallWatch
  #lookedAtMs = -Infinity
  #track: TrackInfo | null = null
  #process: FfmpegProcess | null = null
  #feed: MuxFeed | null = null
  #lastUs: number | null = null
  #failures = 0
  #notBefore = -Infinity
  #stopped = false

  constructor(options: ConversionOptions) {
    this.#options = options
    this.#stall = new StallWatch(options.clock, STALL_MS, options.looks)
  }

  track(track: TrackInfo): void {
    this.#track = track
    this.#drop()
  }

  frame(frame: Frame): void {
    if (this.#lastUs !== null && jumps(this.#lastUs, frame.decodeTimeUs)) this.#drop()
    this.#lastUs = frame.decodeTimeUs
    this.#feed ??= this.#start()
    this.#feed?.frame(frame)
    if (this.#process !== null) void this.#look(this.#process)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const process = this.#process
    this.#process = this.#feed = null
    await process?.stop(STOP_GRACE_MS)
  }

  /** Only frames can be taken without output, so no timer is needed. */
  async #look(process: FfmpegProcess): Promise<void> {
    const { clock, log, name } = this.#options
    if (clock.monotonic() - this.#lookedAtMs < LOOK_MS) return
    this.#lookedAtMs = clock.monotonic()
    if (await this.#stall.check(process)) log.warn({ name }, 'a conversion hangs and is killed')
  }

  /** Frames in flight belong to an earlier clock or configuration: does not wait for them. */
  #drop(): void {
    const process = this.#process
    this.#process = this.#feed = this.#lastUs = null
    void process?.stop(STOP_GRACE_MS)
  }

  #start(): MuxFeed | null {
    const { ffmpeg, clock, log, name, args, begin } = this.#options
    if (this.#stopped || this.#track === null || clock.monotonic() < this.#notBefore) return null
    const output = begin()
    this.#stall.moved()
    const isCurrent = (): boolean => started.ok && this.#process === started.value
    const started = ffmpeg.run({
      name,
      args,
      stdin: true,
      backlogBytes: BACKLOG_BYTES,
      stdout: (chunk) => {
        if (!isCurrent()) return
        this.#failures = 0
        this.#stall.moved()
        output(chunk)
      },
    })
    if (!started.ok) {
      log.warn({ name, problem: started.error.message }, 'media cannot be converted now')
      this.#failed()
      return null
    }
    const process = started.value
    this.#process = process
    void process.exited.then(({ tail }) => {
      if (!isCurrent()) return
      log.warn({ name, tail }, 'a conversion ended by itself')
      this.#process = this.#feed = null
      this.#failed()
    })
    const write = (bytes: Uint8Array): boolean => {
      const isTaken = process.write(bytes)
      this.#stall.fed(isTaken)
      return isTaken
    }
    const feed = new MuxFeed({ write, begin: () => undefined, end: () => undefined })
    feed.tracks([this.#track])
    return feed
  }

  #failed(): void {
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS)
    this.#notBefore = this.#options.clock.monotonic() + waitMs
  }
}

const jumps = (fromUs: number, toUs: number): boolean => toUs < fromUs - JUMP_BACK_US || toUs > fromUs + JUMP_AHEAD_US
