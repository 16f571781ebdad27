import type { Recording } from '../core/recordings/types.ts'

// The store's interface for recordings. Import it from `store.ts`.

/** A recording as stored. */
export interface StoredRecording extends Recording {
  /** The host key: machine and directory of its files. */
  readonly hostKey: string
  /** The node that works on it, or that did before it died. */
  readonly node: string
}

export type UnfinishedRecording = Pick<StoredRecording, 'id' | 'accountId' | 'node'>

export interface RecordingQuery {
  readonly accountId: string
  readonly streamName?: string
  /** A part of the stream's name, in any case of ASCII. */
  readonly search?: string
  readonly tokenId?: number
  /** Only recordings that began before this one. */
  readonly after?: string
  readonly limit: number
}

export interface RecordingReads {
  /** Excludes recordings that are being deleted. */
  get(accountId: string, id: string): Promise<StoredRecording | undefined>
  /** Newest first; excludes recordings that are being deleted. */
  page(query: RecordingQuery): Promise<StoredRecording[]>
  /** The number of finished recordings of an account, and the sum of their bytes. */
  usage(accountId: string): Promise<{ count: number; bytes: number }>
  /** Recordings of this host key that are recording or processing, the oldest first. There may be thousands. */
  unfinished(hostKey: string): Promise<UnfinishedRecording[]>
  /** The ids of those that are deleting. */
  deleting(hostKey: string): Promise<string[]>
  /** Finished recordings whose time has come, the first first. */
  expired(nowMs: number, limit: number): Promise<StoredRecording[]>
}

export interface RecordingTx {
  insert(recording: StoredRecording): Promise<void>
  /** Reads and locks the row until the transaction ends. */
  lock(id: string): Promise<StoredRecording | undefined>
  /** Overwrites the whole row, which must be locked. */
  replace(recording: StoredRecording): Promise<void>
  /** Gives those of these that have another host key this one. Those that failed for want of files are under way again. */
  adopt(ids: readonly string[], hostKey: string): Promise<void>
  delete(id: string): Promise<void>
}
