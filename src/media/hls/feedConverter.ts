import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { ProcessLooks } from '../../base/processors.ts'
import { type EncodingRoom, EncodingSeat, NO_ROOM_TO_ENCODE } from '../convert/encodingRoom.ts'
import { InStep } from '../convert/inStep.ts'
import { HLS_OFFSET_MS, hlsArguments } from '../ffmpeg/arguments.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import { StallWatch } from '../ffmpeg/stallWatch.ts'
import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../frame.ts'
import { FlvFrames, timeNear } from '../rtmp/flvFrames.ts'

export interface FeedConverterOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log: `hls abc123/lobby`. */
  readonly name: string
  /** Whether a track passes as it is. Others become H.264 and AAC. */
  readonly passes: (track: TrackInfo) => boolean
  /** For video that does not pass. */
  readonly encodingRoom: EncodingRoom
  /** Its `end` is called when the last converted frame was read. */
  readonly out: FrameSink
  /** A process that takes frames without output for this long is killed, milliseconds; see `StallWatch`. */
  readonly stallMs: number
  readonly looks?: ProcessLooks
  /** A process ended by itself, could not be started, or has no room. `ranMs`: how long it ran. */
  readonly failed: (problem: string, ranMs: number) => void
}

const STOP_GRACE_MS = 2000
/** How long a process may take to convert the rest of a source. */
const REST_MS = 5000
/** Video waits this long for the first converted audio. Then it begins without, and audio comes after a discontinuity. */
const FIRST_AUDIO_MS = 2000
/** The most frames that wait meanwhile. */
const HELD_MAX = 1200

/**
 * Makes H.264 and AAC of what does not pass as it is. Audio alone is converted beside video that passes; other video is
 * converted with its audio, by one process.
 */
export class FeedConverter implements FrameSink {
  readonly #options: FeedConverterOptions
  readonly #step: InStep
  readonly #seat: EncodingSeat
  /** The last process was not started, because this machine has no room to encode the video. */
  lacksRoom = false
  #mux: MuxFeed | null = null
  /** The tracks that are converted. */
  #foreign: readonly TrackInfo[] = []
  /** Video that passes beside converted audio. */
  #video: VideoTrack | null = null
  /** Frames of that video before the first audio; null: they pass. */
  #held: Frame[] | null = null
  #heldUntilMs = 0
  #process: FfmpegProcess | null = null
  /** How often media has begun to pass as it is: what processes from before still make comes too late. */
  #passages = 0
  /** Settles when the output of all earlier processes was read. */
  #before: Promise<unknown> = Promise.resolve()
  #latestMs = 0
  readonly #stall: StallWatch
  #stopped = false
  /** Settles when the process of a source that ended is gone. */
  #finished: Promise<unknown> = Promise.resolve()

  constructor(options: FeedConverterOptions) {
    this.#options = options
    this.#step = new InStep(options.clock, (frame) => options.out.frame(frame))
    this.#seat = new EncodingSeat(options.encodingRoom)
    this.#stall = new StallWatch(options.clock, options.stallMs, options.looks)
  }

  /** A failed conversion can go on with the next frame; otherwise the feed has to begin again at a keyframe. */
  get continues(): boolean {
    return this.#video !== null
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const { out, clock, passes } = this.#options
    this.#endProcess()
    this.#step.flush()
    this.#video = null
    this.#held = null
    this.#mux = null
    if (tracks.every(passes)) {
      this.#passages += 1
      return out.tracks(tracks)
    }
    const video = tracks.find((track) => track.kind === 'video')
    if (video !== undefined && passes(video)) {
      this.#video = video
      this.#held = []
      this.#heldUntilMs = clock.monotonic() + FIRST_AUDIO_MS
    }
    this.#convert(tracks.filter((track) => track !== this.#video))
  }

  frame(frame: Frame): void {
    this.#latestMs = Math.max(this.#latestMs, frame.decodeTimeUs / 1000)
    if (this.#mux === null) this.#options.out.frame(frame)
    else if (frame.kind === 'audio' || this.#video === null) this.#mux.frame(frame)
    else if (this.#held === null) this.#step.video(frame)
    else this.#hold(frame, this.#held, this.#video)
  }

  end(): void {
    this.#finished = this.#finish()
  }

  /** Starts the conversion again, with the next frame. */
  restart(): void {
    if (this.#mux !== null) this.#convert(this.#foreign)
  }

  /** Kills a process that hangs. Call it about every second. True: it did. */
  async checkProgress(): Promise<boolean> {
    return this.#process !== null && this.#stall.check(this.#process)
  }

  /** Nothing comes out any more. Resolves when the process is gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    const process = this.#process
    this.#process = null
    this.#seat.leave()
    await Promise.all([process?.stop(STOP_GRACE_MS), this.#finished])
  }

  #convert(tracks: readonly TrackInfo[]): void {
    this.#foreign = tracks
    this.#mux = new MuxFeed({
      write: (bytes) => this.#write(bytes),
      begin: (begun) => this.#begin(begun),
      end: () => undefined,
    })
    this.#mux.tracks(tracks)
  }

  #hold(frame: Frame, held: Frame[], video: VideoTrack): void {
    held.push(frame)
    if (held.length < HELD_MAX && this.#options.clock.monotonic() < this.#heldUntilMs) return
    this.#options.out.tracks([video])
    this.#releaseHeld()
  }

  #releaseHeld(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const frame of held) this.#step.video(frame)
  }

  #write(bytes: Uint8Array): boolean {
    const isTaken = this.#process?.write(bytes) ?? false
    this.#stall.fed(isTaken)
    return isTaken
  }

  #begin(tracks: readonly TrackInfo[]): void {
    const { ffmpeg, name, failed, clock, log } = this.#options
    this.#endProcess()
    if (!this.#takeSeat(tracks)) return failed(NO_ROOM_TO_ENCODE, 0)
    const frames = this.#reader(tracks)
    const [earlier, passages] = [this.#before, this.#passages]
    const read = (chunk: Buffer): void => {
      if (passages === this.#passages) this.#read(frames, chunk)
    }
    // A fault of ours in what takes its output ends this process and no other.
    const broke = (error: unknown): void => {
      log.error({ name, err: error }, 'converted media could not be taken, so its ffmpeg is killed')
      if (started.ok) void started.value.stop(0)
    }
    const started = ffmpeg.run({
      name,
      args: hlsArguments(tracks),
      stdin: true,
      stdout: (chunk) => void earlier.then(() => read(chunk)).catch(broke),
    })
    this.#process = started.ok ? started.value : null
    if (!started.ok) {
      this.#seat.leave()
      return failed(started.error.message, 0)
    }
    const process = started.value
    const startedAtMs = clock.monotonic()
    this.#before = Promise.all([earlier, process.exited]).then(() => undefined)
    void process.exited.then(({ code, signal, tail }) => {
      if (this.#process !== process || this.#stopped) return
      this.#process = null
      this.#seat.leave()
      this.#stall.moved()
      failed(`ffmpeg ended (${signal ?? code}): ${tail}`, clock.monotonic() - startedAtMs)
    })
  }

  /** Audio alone needs none. */
  #takeSeat(tracks: readonly TrackInfo[]): boolean {
    const video = tracks.find((track) => track.kind === 'video')
    this.lacksRoom = video !== undefined && !this.#seat.take(video)
    return !this.lacksRoom
  }

  #reader(tracks: readonly TrackInfo[]): FlvFrames {
    const kinds = tracks.map(({ kind }) => kind)
    const out = {
      tracks: (converted: readonly TrackInfo[]) => this.#converted(converted),
      frame: (frame: Frame) => (this.#video === null ? this.#options.out.frame(frame) : this.#step.audio(frame)),
    }
    return new FlvFrames(kinds, out, (timestamp) => timeNear(timestamp - HLS_OFFSET_MS, this.#latestMs))
  }

  #converted(tracks: readonly TrackInfo[]): void {
    this.#step.flush()
    this.#options.out.tracks(this.#video === null ? tracks : [this.#video, ...tracks])
    // The audio of all that was held comes now, faster than it plays.
    if (this.#held !== null) this.#step.begin()
    this.#releaseHeld()
  }

  #read(frames: FlvFrames, chunk: Buffer): void {
    if (this.#stopped) return
    this.#stall.moved()
    frames.push(chunk)
  }

  /** Its remaining output is still read, and its end is not a failure. What comes after it waits for it. */
  #endProcess(): void {
    void this.#process?.stop(REST_MS)
    this.#process = null
    this.#seat.leave()
    this.#stall.moved()
  }

  async #finish(): Promise<void> {
    const process = this.#process
    this.#process = null
    await process?.stop(STOP_GRACE_MS)
    this.#seat.leave()
    await this.#before
    if (this.#stopped) return
    this.#step.flush()
    this.#options.out.end()
  }
}
