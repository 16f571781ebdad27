import type { AbrLadder } from '../live/types.ts'

/** What an engine is to do, from the record that it was started with. */
export interface TranscodeJob {
  readonly engineId: string
  /** For the log. */
  readonly name: string
  readonly source:
    | { readonly kind: 'push'; readonly ingestId: string }
    /** `url` may hold a passphrase. */
    | { readonly kind: 'pull'; readonly url: string }
  readonly ladder: Pick<AbrLadder, 'video' | 'audioKbps'>
}

/** What a process tells of itself; see the events of an engine's life. */
export type TranscodeEvent =
  | { readonly kind: 'ready' | 'source' | 'manifest' | 'sourceLost' }
  | { readonly kind: 'died'; readonly message: string }

/** Makes renditions of sources. One job an engine, at most. */
export interface Transcoder {
  /** Begins; what happens is told until `kill`, or until it has died. Does nothing when it runs already. */
  launch(job: TranscodeJob, tell: (event: TranscodeEvent) => void): void
  /**
   * Ends it and removes what it wrote, unless it is to go on: then playlists go on too. Resolves when it is gone; resolves
   * too when there is none.
   */
  kill(engineId: string, goesOn?: boolean): Promise<void>
  isRunning(engineId: string): boolean
}
