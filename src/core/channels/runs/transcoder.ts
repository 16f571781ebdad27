import type { Result } from '../../../base/result.ts'
import type { Dialled } from '../dialled.ts'
import type { AbrLadder } from '../types.ts'

/** What an engine is to do, from the record that it was started with. */
export interface TranscodeJob {
  readonly engineId: string
  /** For the log. */
  readonly name: string
  readonly source:
    | { readonly kind: 'push'; readonly ingestId: string }
    /** `url` may hold a passphrase. */
    | { readonly kind: 'pull'; readonly ingestId: string; readonly url: string }
  readonly ladder: Pick<AbrLadder, 'video' | 'audioKbps'>
}

/** What a process tells of itself; see the events of an engine's life. */
export type TranscodeEvent =
  | { readonly kind: 'ready' | 'source' | 'manifest' | 'sourceLost' }
  | { readonly kind: 'died'; readonly message: string }
  /** What is to be known of it while it works; null: nothing any more. Without secrets. */
  | { readonly kind: 'notice'; readonly message: string | null }

/** Something that a person who looks after an engine wants to know, and that changes nothing. */
export interface TranscodeLog {
  readonly kind: 'log'
  readonly level: 'info' | 'warn'
  /** A sentence without secrets. */
  readonly message: string
}

/** Makes renditions of sources. One job an engine, at most. */
export interface Transcoder {
  /** Begins; what happens is told until `kill`, or until it has died. Does nothing when it runs already. */
  launch(job: TranscodeJob, tell: (event: TranscodeEvent | TranscodeLog) => void): void
  /**
   * Ends it and removes what it wrote, unless it is to go on: then playlists go on too. Resolves when it is gone; resolves
   * too when there is none.
   */
  kill(engineId: string, goesOn?: boolean): Promise<void>
  isRunning(engineId: string): boolean
}

/** A source that ffmpeg may dial now. */
export interface Reached extends Dialled {
  /** It is not dialled any more, or not again. */
  close(): void
}

/**
 * Finds where a source is and whether it may be dialled, anew for each time. The error is a sentence; `isForbidden`: it
 * leads to where nothing may be dialled, else it may be there the next time.
 * @param attempt counts those in a row that came to nothing, so that each tries another address
 */
export type ReachSource = (
  url: string,
  attempt: number,
  signal: AbortSignal,
) => Promise<Result<Reached, { isForbidden: boolean; message: string }>>
