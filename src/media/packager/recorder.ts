import type { WriteStream } from 'node:fs'
import type { Track } from '../frame.ts'
import type { LiveFeed } from '../sessions.ts'
import { MuxFeed } from './muxFeed.ts'
import type { Part, PartTrack, RecordingFiles } from './recordingFiles.ts'

export interface RecorderOptions {
  readonly feed: LiveFeed
  readonly files: RecordingFiles
  readonly id: string
  /** The first media has come. Rejects when it cannot be put on record: nothing is recorded then. */
  readonly begun: (tracks: readonly PartTrack[]) => Promise<void>
  /**
   * No more comes; `problem` says why when it is not that the feed has ended. `mediaAtMs`: when the last media came, null when
   * nothing ever did. Called once.
   */
  readonly ended: (problem: string | null, mediaAtMs: number | null) => void
  readonly now: () => number
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
  #parts: Part[] = []
  #file: WriteStream | null = null
  #mediaAtMs: number | null = null
  #over = false

  constructor(options: RecorderOptions) {
    this.#options = options
    const sink = new MuxFeed({
      write: (bytes) => this.#write(bytes),
      begin: (tracks) => this.#begin(tracks),
      end: () => this.stop(null),
    })
    this.#unsubscribe = options.feed.media.subscribe(sink)
    if (this.#over) this.#unsubscribe()
  }

  /** Ends the recording with what it has. Idempotent. */
  stop(problem: string | null): void {
    if (this.#over) return
    this.#over = true
    this.#unsubscribe()
    const file = this.#file
    const ended = (): void => this.#options.ended(problem, this.#mediaAtMs)
    if (file === null || file.destroyed) ended()
    else file.end(ended)
  }

  #begin(tracks: readonly Track[]): void {
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
    file.write(bytes)
    this.#mediaAtMs = this.#options.now()
    return true
  }
}

const partTrack = (track: Track): PartTrack => {
  const { kind, codec } = track
  return track.kind === 'video' ? { kind, codec, width: track.width, height: track.height } : { kind, codec }
}
