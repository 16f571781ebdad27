import type { TargetChange } from '../core/restream/events.ts'
import type { StreamRef } from '../core/streams/streamId.ts'

// The store's interface for what became of targets. Import it from `store.ts`.

/** A change of a target, as stored. */
export interface RestreamEvent extends TargetChange, StreamRef {
  readonly id: number
  readonly feedId: string
}

export interface RestreamEventQuery extends StreamRef {
  /** Only earlier ones. */
  readonly before?: number
  readonly limit: number
}

export interface RestreamEventReads {
  /** Of a stream, the newest first. */
  page(query: RestreamEventQuery): Promise<RestreamEvent[]>
  /** All that are kept of these feeds of an account, the oldest first. */
  ofFeeds(accountId: string, feedIds: readonly string[]): Promise<RestreamEvent[]>
}

export interface RestreamEventTx extends RestreamEventReads {
  /** The latest of each target of these feeds, but of those that are off. */
  unfinished(feedIds: readonly string[]): Promise<RestreamEvent[]>
  /** Adds one, and deletes the oldest of its feed that are more than `keep`, but never the latest of a target. Returns its id. */
  add(event: Omit<RestreamEvent, 'id'>, keep: number): Promise<number>
  /** Adds those of several feeds together, as `add` does one. */
  addAll(events: readonly Omit<RestreamEvent, 'id'>[], keep: number): Promise<void>
  /** Deletes at most `limit` earlier ones, but never the latest of a target that is not off; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
