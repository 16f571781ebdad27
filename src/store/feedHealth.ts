import type { StreamRef } from '../core/streams/streamId.ts'
import type { FeedPoint, HealthFigures, HistorySpan } from '../core/streams/history.ts'

// The store's interface for the history of what arrived. Import it from `store.ts`.

/** The figures of a feed in a slot. */
export interface StoredPoint extends HealthFigures {
  readonly feedId: string
  readonly atMs: number
}

/** The points of a stream's feeds, one for each feed and slot. */
export interface FeedHealthQuery extends StreamRef, HistorySpan {
  readonly limit: number
}

export interface FeedHealthReads {
  /** By time, those of one slot in the order of their feeds. Beyond the limit the newest. */
  points(query: FeedHealthQuery): Promise<FeedPoint[]>
}

export interface FeedHealthTx {
  /** Adds points, with one statement. Those of deleted feeds, and those that are there, are left out. */
  put(points: readonly StoredPoint[]): Promise<void>
  /** Deletes at most `limit` earlier rows; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
