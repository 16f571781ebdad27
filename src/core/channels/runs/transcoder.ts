import type { CodedSentence, Said } from '../../notices.ts'
import type { SlateMedia } from '../slate.ts'
import type { AbrLadder, IngestAudio } from '../types.ts'

/** The work of an engine, from the record that it was started with. */
export interface TranscodeJob {
  readonly engineId: string
  readonly channelId: string
  readonly accountId: string
  /** For the log. */
  readonly name: string
  readonly source:
    | { readonly kind: 'push'; readonly ingestId: string }
    /** `url` may contain secrets. */
    | { readonly kind: 'pull'; readonly ingestId: string; readonly url: string }
  /** The audio tracks of the source that viewers choose from. */
  readonly audio: readonly IngestAudio[]
  readonly ladder: Pick<AbrLadder, 'video' | 'audioKbps' | 'audioOnly'>
}

/** Why there is no job for an engine. */
export interface MissingPart {
  readonly missing: CodedSentence
}

/** An event of a process; see the events of an engine in `engine.ts`. */
export type TranscodeEvent =
  | { readonly kind: 'ready' | 'source' | 'manifest' | 'sourceLost' }
  /** `isFinal`: it is useless to try again, before a user has mended something. */
  | (Said & { readonly kind: 'died'; readonly isFinal?: boolean })
  /** A notice about a working process; empty: the notice ends. Without secrets. */
  | { readonly kind: 'notice'; readonly sentences: readonly CodedSentence[] }

/** A log entry for the operator of an engine, without secrets. It changes no state. */
export interface TranscodeLog extends Said {
  readonly kind: 'log'
  readonly level: 'info' | 'warn'
  /** For programs; absent: they need not tell it from others. */
  readonly code?: 'gop_too_long' | 'copy_refused'
}

/** Makes renditions of sources. At most one job per engine. */
export interface Transcoder {
  /**
   * Starts a job. Events are reported until `kill`, or until the process has died. Does nothing if the job already
   * runs.
   */
  launch(job: TranscodeJob, notify: (event: TranscodeEvent | TranscodeLog) => void): void
  /**
   * Ends the job and removes its output. With `goesOn` it keeps the output, so that the next launch continues the
   * playlists. Resolves when the process is gone, or at once when there is none.
   */
  kill(engineId: string, goesOn?: boolean): Promise<void>
  isRunning(engineId: string): boolean
}

/** Names the slate of a job's channel. */
export type LoadSlate = (of: {
  readonly accountId: string
  readonly channelId: string
  readonly slateId: string
}) => Promise<UploadedSlate | null>

/** A slate as it was uploaded. */
export interface UploadedSlate {
  readonly media: SlateMedia
  readonly bytes: Uint8Array
}
