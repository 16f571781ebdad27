import type { Recording } from '../core/recordings/types.ts'

// The part of the store's interface that recordings need. Import it from `store.ts`, which is the one door.

/** A recording as stored. */
export interface StoredRecording extends Recording {
  /** The machine and the directory that its files are in. */
  readonly place: string
  /** The process that is at it; of an earlier one when that has died. */
  readonly node: string
}

export interface RecordingQuery {
  readonly accountId: string
  readonly streamName?: string
  readonly tokenId?: number
  /** Only recordings that began before this one. */
  readonly after?: string
  readonly limit: number
}

export interface RecordingReads {
  /** Not those that are being deleted. */
  get(accountId: string, id: string): Promise<StoredRecording | undefined>
  /** Newest first; not those that are being deleted. */
  page(query: RecordingQuery): Promise<StoredRecording[]>
  /** What a process of this place has begun and not brought to an end: recording, processing, deleting. */
  unfinished(place: string): Promise<StoredRecording[]>
}

export interface RecordingTx {
  insert(recording: StoredRecording): Promise<void>
  /** Reads and locks the row until the transaction ends. */
  lock(id: string): Promise<StoredRecording | undefined>
  /** Writes the whole record over the old one. The row must be locked. */
  replace(recording: StoredRecording): Promise<void>
  delete(id: string): Promise<void>
}
