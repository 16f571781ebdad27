import type { Bytes, NodeUsage } from '../core/sessions/types.ts'
import type { UsageRow } from '../core/usage/report.ts'

// The store's interface for bytes by time. Import it from `store.ts`.

/** A query for sums of usage. The time range is half open; all given filters apply. */
export interface UsageQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
  readonly groupBy: readonly ('slot' | 'streamName' | 'trackingId' | 'country' | 'protocol' | 'tokenId')[]
  /** The beginnings of the slots, in order, if the sums are grouped by them. The first is `fromMs`. */
  readonly slots?: readonly number[]
  readonly streamNames?: readonly string[]
  readonly trackingIds?: readonly string[]
  /** Counts bytes to viewers and from publishers alone. */
  readonly mediaOnly?: boolean
  readonly limit: number
}

/** Tracking ids with traffic in a time. */
export interface TrackedQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
  /** Only ids that begin with it. */
  readonly prefix: string
  /** Only ids after this one; empty: all. */
  readonly after: string
  readonly limit: number
}

export interface TrackingIdUsage extends Bytes {
  readonly trackingId: string
  /** The part of `bytesOut` that caches sent. */
  readonly bytesFromCaches: number
}

export interface UsageReads {
  /** By tracking id, ascending. */
  tracked(query: TrackedQuery): Promise<TrackingIdUsage[]>
  /** Sorted by `groupBy`; fields that are not in it are empty or 0. */
  sum(query: UsageQuery): Promise<UsageRow[]>
}

export interface UsageTx {
  /** Writes rows of a node. Lock the node before, so that no other adds them to the sums meanwhile. */
  put(node: string, usage: readonly NodeUsage[]): Promise<void>
  /**
   * Adds these rows of a node to the sums of all nodes and deletes them; rows that are gone add nothing. Lock the node
   * before, and call it last in a transaction: all nodes share the rows of the sums.
   */
  fold(node: string, ords: readonly number[]): Promise<void>
  /** Does so with at most `limit` rows of a node, whichever; returns how many. Fewer than `limit`: none is left. */
  foldNode(node: string, limit: number): Promise<number>
  /** Deletes at most `limit` earlier hours from all sums; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

/** Bytes that a cache sent. They count for the first of these sessions that is stored. */
export interface CacheBytes {
  readonly sessionIds: readonly string[]
  readonly bytesOut: number
}

/** The lines of a cache's log from one byte position up to another. */
export interface CacheLogRange {
  readonly id: string
  readonly from: number
  readonly to: number
}

export interface CacheLogTx {
  /** Marks these lines as counted. False: lines after the beginning of the range are counted already. */
  advance(log: CacheLogRange, atMs: number): Promise<boolean>
  /** Up to where a log is counted; 0: not at all. */
  position(id: string): Promise<number>
  /**
   * Adds bytes to sessions, open or ended, and to the hour of `atMs`. Returns the session of each; null: none is stored.
   * All nodes share the rows of the hours, so call it last in a transaction: the locks are then short.
   */
  count(sent: readonly CacheBytes[], atMs: number): Promise<(string | null)[]>
  /** Forgets at most `limit` logs without new lines since then; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
