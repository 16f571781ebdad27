/** What a recording holds, as events and the interface tell it. */
export interface RecordedTrack {
  readonly type: 'video' | 'audio'
  readonly codec: string
  readonly width?: number
  readonly height?: number
}

/**
 * `recording`: media comes in. `processing`: it is made into one file that can be played. `completed`: it can be fetched.
 * `error`: it cannot. `deleting`: it was deleted, and its files may still be there.
 */
export type RecordingState = 'recording' | 'processing' | 'completed' | 'error' | 'deleting'

/** One recording of one feed. Times are epoch milliseconds. */
export interface Recording {
  /** 22 characters that sort by the time of the beginning. */
  readonly id: string
  readonly accountId: string
  readonly streamName: string
  readonly tokenId: number
  readonly feedId: string
  readonly state: RecordingState
  readonly startedAtMs: number
  readonly endedAtMs: number | null
  /** Of the finished file. */
  readonly bytes: number | null
  readonly durationMs: number | null
  readonly tracks: readonly RecordedTrack[]
  /** Why it failed, for people. */
  readonly problem: string | null
}
