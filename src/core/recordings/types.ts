import type { Said } from '../notices.ts'

/** One track of a recording, as events and the API show it. */
export interface RecordedTrack {
  readonly type: 'video' | 'audio'
  readonly codec: string
  readonly width?: number
  readonly height?: number
}

/**
 * `recording`: media arrives. `processing`: ffmpeg makes one playable file. `completed`: the file can be downloaded.
 * `error`: the recording failed. `deleting`: it was deleted, but its files may still exist.
 */
export type RecordingState = 'recording' | 'processing' | 'completed' | 'error' | 'deleting'

/** One recording of one feed. Times are epoch milliseconds. */
export interface Recording {
  /** 22 characters that sort by start time. */
  readonly id: string
  readonly accountId: string
  readonly streamName: string
  readonly tokenId: number
  readonly feedId: string
  readonly state: RecordingState
  readonly startedAtMs: number
  readonly endedAtMs: number | null
  /** Size of the completed file. */
  readonly bytes: number | null
  readonly durationMs: number | null
  readonly tracks: readonly RecordedTrack[]
  /** Why it failed, for the user. */
  readonly problem: Said | null
  /** When it is deleted, epoch milliseconds; null: it stays. */
  readonly expiresAtMs: number | null
}
