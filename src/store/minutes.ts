import type { AccountMinute } from '../core/streams/seriesQuery.ts'

// The store's interface for what accounts had in each minute. Import it from `store.ts`.

/** What a node counted of an account in one minute. */
export interface StoredMinute extends AccountMinute {
  readonly accountId: string
  readonly node: string
}

/** A time range, half open. */
export interface MinuteQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
}

export interface MinuteReads {
  /** The sums of all nodes, by minute; minutes without a row are left out. */
  sum(query: MinuteQuery): Promise<AccountMinute[]>
}

export interface MinuteTx {
  /** Replaces the rows of these accounts, minutes and nodes. */
  put(minutes: readonly StoredMinute[]): Promise<void>
  /** Deletes at most `limit` earlier rows; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
