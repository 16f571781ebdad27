import type { Frame, FrameSink, Track } from '../frame.ts'
import type { FfmpegProcess } from '../packager/ffmpeg.ts'
import { MuxFeed } from '../packager/muxFeed.ts'

/** Why a source and its process are parted: the source is over, its tracks are others now, or the process cannot go on. */
export type Parting = 'over' | 'changed' | 'failed'

export interface PushedParts {
  /** Starts the process for these tracks; null when that is impossible. */
  readonly begin: (tracks: readonly Track[]) => FfmpegProcess | null
  /** Called once or more often; the first word counts. */
  readonly part: (why: Parting) => void
}

/** Between a source and the one process that is fed from it. */
export class Pushed implements FrameSink {
  readonly #parts: PushedParts
  readonly #mux: MuxFeed
  #process: FfmpegProcess | null = null
  #isOver = false

  constructor(parts: PushedParts) {
    this.#parts = parts
    this.#mux = new MuxFeed({
      begin: (tracks) => this.#begin(tracks),
      write: (bytes) => this.#process?.write(bytes) ?? false,
      end: () => this.#part('over'),
    })
  }

  tracks(tracks: readonly Track[]): void {
    this.#mux.tracks(tracks)
  }

  frame(frame: Frame): void {
    if (!this.#isOver) this.#mux.frame(frame)
  }

  end(): void {
    this.#mux.end()
  }

  #begin(tracks: readonly Track[]): void {
    if (this.#process !== null) return this.#part('changed')
    this.#process = this.#parts.begin(tracks)
    if (this.#process === null) this.#part('failed')
    else void this.#process.exited.then(() => this.#part('failed'))
  }

  /** What comes from now on is not for this process. */
  #part(why: Parting): void {
    this.#isOver = true
    this.#process = null
    this.#parts.part(why)
  }
}
