import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import type { FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import type { Fed } from './encoderWatch.ts'

/**
 * Why a source is detached from its process: the source is over, its tracks changed, the process failed, or it has to make
 * other renditions.
 */
export type Parting = 'over' | 'changed' | 'failed' | 'restart'

export interface PushedParts {
  /** Starts the process for these tracks; null when that fails. */
  readonly begin: (tracks: readonly TrackInfo[]) => FfmpegProcess | null
  /** A frame came, with its time, microseconds. */
  readonly observe: (timeUs: number) => void
  /** The source sends no video, so no process can start. Called each time its tracks lack video. */
  readonly noVideo: () => void
  /** May be called several times; the first call counts. */
  readonly part: (why: Parting) => void
}

/** Feeds one process from a source. */
export class PushedInput implements FrameSink {
  readonly #parts: PushedParts
  readonly #mux: MuxFeed
  #process: FfmpegProcess | null = null
  #hasVideo = false
  #isOver = false

  constructor(parts: PushedParts) {
    this.#parts = parts
    this.#mux = new MuxFeed({
      begin: (tracks) => this.#begin(tracks),
      write: (bytes) => this.#process?.write(bytes) ?? false,
      end: () => this.#part('over'),
    })
  }

  /** Does not start a process for audio only; one starts when the source adds video. */
  tracks(tracks: readonly TrackInfo[]): void {
    this.#hasVideo = tracks.some(({ kind }) => kind === 'video')
    if (this.#hasVideo) this.#mux.tracks(tracks)
    else if (this.#process !== null) this.#part('changed')
    else if (!this.#isOver) this.#parts.noVideo()
  }

  frame(frame: Frame): void {
    if (this.#isOver || !this.#hasVideo) return
    this.#mux.frame(frame)
    this.#parts.observe(frame.timeUs)
  }

  end(): void {
    this.#mux.end()
  }

  get fed(): Fed {
    const { mediaUs, dropped: droppedFrames, droppedUs } = this.#mux
    return { inMs: mediaUs / 1000, droppedFrames, droppedMs: droppedUs / 1000 }
  }

  #begin(tracks: readonly TrackInfo[]): void {
    if (this.#process !== null) return this.#part('changed')
    this.#process = this.#parts.begin(tracks)
    if (this.#process === null) this.#part('failed')
    else void this.#process.exited.then(() => this.#part('failed'))
  }

  /** Detaches the process; it gets no more frames. */
  #part(why: Parting): void {
    this.#isOver = true
    this.#process = null
    this.#parts.part(why)
  }
}
