import type { WriteStream } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import type { TrackInfo } from '../frame.ts'
import type { ActiveFeed } from '../sessionRegistry.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import type { RecordingPart, PartTrack, RecordingFiles } from './recordingFiles.ts'

/** How a recording has come to its end. */
export interface RecordingEnd {
  /** When the last media came that is on the disk, epoch milliseconds. */
  readonly atMs: number
  /** Why it is not that the feed has ended; null: it is. */
  readonly problem: string | null
  /** Frames that were left out because the disk was too slow. */
  readonly dropped: number
}

export interface RecorderOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly feed: ActiveFeed
  readonly files: RecordingFiles
  readonly id: string
  /** The first media has come. Rejects when it cannot be put on record: nothing is recorded then. */
  readonly begun: (tracks: readonly PartTrack[]) => Promise<void>
  /** No more comes. Called once, also when nothing ever came. */
  readonly ended: (end: RecordingEnd) => void
}

/** What may wait for the disk; beyond it the recording has a gap. */
const BACKLOG_BYTES = 32 * 1024 * 1024
/** Somebody whose configuration changes this often is not recorded further. */
const PARTS_MAX = 500

/**
 * Writes the media of one feed to disk as it comes, without a process in between: what was written can be used whatever
 * happens to us. A new configuration begins a new part.
 */
export class Recorder {
  readonly #options: RecorderOptions
  #unsubscribe: () => void = () => undefined
  #parts: RecordingPart[] = []
  #file: WriteStream | null = null
  #over = false
  #sink: MuxFeed | null = null
  #writtenAtMs: number

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#writtenAtMs = options.clock.now()
    this.#sink = new MuxFeed({
      write: (bytes) => this.#write(bytes),
      begin: (tracks) => this.#begin(tracks),
      end: () => this.stop(null),
    })
    this.#unsubscribe = options.feed.media.subscribe(this.#sink)
    if (this.#over) this.#unsubscribe()
  }

  /** Ends the recording with what it has. Idempotent. */
  stop(problem: string | null): void {
    if (this.#over) return
    this.#over = true
    this.#unsubscribe()
    const file = this.#file
    if (file === null || file.destroyed) this.#ended(problem)
    else file.end(() => this.#ended(problem))
  }

  #ended(problem: string | null): void {
    this.#options.ended({ atMs: this.#writtenAtMs, problem, dropped: this.#sink?.dropped ?? 0 })
  }

  #begin(tracks: readonly TrackInfo[]): void {
    const isFirst = this.#parts.length === 0
    if (this.#over || this.#parts.length >= PARTS_MAX) return this.stop('the broadcast changes its format too often')
    this.#file?.end()
    this.#parts = [...this.#parts, { file: `part-${this.#parts.length}.mkv`, tracks: tracks.map(partTrack) }]
    try {
      this.#file = this.#options.files.begin(this.#options.id, this.#parts)
    } catch (error) {
      return this.stop(`the recording cannot be written: ${(error as Error).message}`)
    }
    this.#file.on('error', (error) => this.stop(`the recording cannot be written: ${error.message}`))
    if (isFirst)
      this.#options.begun(this.#parts[0]?.tracks ?? []).catch(() => this.stop('it could not be put on record'))
  }

  #write(bytes: Uint8Array): boolean {
    const file = this.#file
    if (this.#over || file === null || file.destroyed) return false
    if (file.writableLength + bytes.length > BACKLOG_BYTES) return false
    const atMs = this.#options.clock.now()
    file.write(bytes, (error) => {
      if (!error) this.#writtenAtMs = atMs
    })
    return true
  }
}

const partTrack = (track: TrackInfo): PartTrack => {
  const { kind, codec } = track
  return track.kind === 'video' ? { kind, codec, width: track.width, height: track.height } : { kind, codec }
}
