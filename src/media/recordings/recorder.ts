import type { WriteStream } from 'node:fs'
import { type Clock, dateSince, type Moment, momentOf } from '../../base/clock.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import type { ActiveFeed } from '../feedsOnAir.ts'
import type { TrackInfo } from '../frame.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import type { RecordingPart, PartTrack, RecordingFiles } from './recordingFiles.ts'

/** The end of a recording. */
export interface RecordingEnd {
  /** Arrival of the last media on the disk, epoch milliseconds. */
  readonly atMs: number
  /** Why the recording ended before its feed; null: it ended with the feed. */
  readonly problem: Said | null
  /** Frames dropped because the disk was too slow. */
  readonly dropped: number
}

export interface RecorderOptions {
  readonly clock: Clock
  readonly feed: ActiveFeed
  readonly files: RecordingFiles
  readonly id: string
  /** Called with the first media, and its date. */
  readonly begun: (tracks: readonly PartTrack[], atMs: number) => void
  /** Called once at the end, even when no media ever came. */
  readonly ended: (end: RecordingEnd) => void
}

/** The most bytes that may wait for the disk; beyond it the recording gets a gap. */
const BACKLOG_BYTES = 32 * 1024 * 1024
/** A recording ends when its configuration changes this often. */
const PARTS_MAX = 500

/**
 * Writes the media of one feed to disk as it arrives, without a process in between: the written part stays usable even
 * if the server crashes. A new configuration begins a new part.
 */
export class Recorder {
  readonly #options: RecorderOptions
  #unsubscribe: () => void = () => undefined
  #parts: RecordingPart[] = []
  #file: WriteStream | null = null
  /** Those that are not closed yet, the one at hand among them. */
  readonly #open = new Set<WriteStream>()
  #over = false
  #problem: Said | null = null
  #sink: MuxFeed | null = null
  readonly #createdAt: Moment
  /** Monotonic milliseconds. */
  #writtenAtMs: number

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#createdAt = momentOf(options.clock)
    this.#writtenAtMs = this.#createdAt.monotonicMs
    this.#sink = new MuxFeed({
      write: (bytes) => this.#write(bytes),
      begin: (tracks) => this.#begin(tracks),
      end: () => this.stop(null),
    })
    this.#unsubscribe = options.feed.media.subscribe(this.#sink)
    if (this.#over) this.#unsubscribe()
  }

  get isOver(): boolean {
    return this.#over
  }

  /** Ends the recording. Idempotent. */
  stop(problem: Said | null): void {
    if (this.#over) return
    this.#over = true
    this.#problem = problem
    this.#unsubscribe()
    this.#file?.end()
    this.#endWhenWritten()
  }

  /** A slow disk may still take an earlier part when it has all of the last one. */
  #endWhenWritten(): void {
    if (!this.#over || this.#open.size > 0) return
    const atMs = dateSince(this.#createdAt, this.#options.clock, this.#writtenAtMs)
    this.#options.ended({ atMs, problem: this.#problem, dropped: this.#sink?.dropped ?? 0 })
  }

  #begin(tracks: readonly TrackInfo[]): void {
    const isFirst = this.#parts.length === 0
    if (this.#over || this.#parts.length >= PARTS_MAX) return this.stop(say(coded('recording_formats')))
    this.#file?.end()
    this.#parts = [...this.#parts, { file: `part-${this.#parts.length}.mkv`, tracks: tracks.map(partTrack) }]
    try {
      this.#file = this.#opened(this.#options.files.begin(this.#options.id, this.#parts))
    } catch (error) {
      return this.stop(notWritten(error as Error))
    }
    if (!isFirst) return
    const atMs = dateSince(this.#createdAt, this.#options.clock)
    this.#options.begun(this.#parts[0]?.tracks ?? [], atMs)
  }

  #opened(file: WriteStream): WriteStream {
    this.#open.add(file)
    file.on('error', (error) => {
      this.stop(notWritten(error))
      // What was written last may have found no room.
      this.#problem ??= notWritten(error)
    })
    file.on('close', () => {
      this.#open.delete(file)
      this.#endWhenWritten()
    })
    return file
  }

  #write(bytes: Uint8Array): boolean {
    const file = this.#file
    if (this.#over || file === null || file.destroyed) return false
    const waiting = [...this.#open].reduce((sum, { writableLength }) => sum + writableLength, 0)
    if (waiting + bytes.length > BACKLOG_BYTES) return false
    const atMs = this.#options.clock.monotonic()
    file.write(bytes, (error) => {
      if (!error) this.#writtenAtMs = atMs
    })
    return true
  }
}

const TEXT_MAX = 900
const notWritten = ({ message }: Error): Said =>
  say(coded('recording_not_written', { text: message.slice(0, TEXT_MAX) }))

const partTrack = (track: TrackInfo): PartTrack => {
  const { kind, codec } = track
  return track.kind === 'video' ? { kind, codec, width: track.width, height: track.height } : { kind, codec }
}
