import type { ViewerLimit } from '../core/access/viewerLimits.ts'

// The store's interface for limits of concurrent viewers. Import it from `store.ts`.

/** A viewer who takes seats, one of each of its limits. */
export interface ViewerSeat {
  /** The session, over HLS the ticket: the same at all nodes, so that such a viewer has one seat of a holder. */
  readonly viewer: string
  readonly sessionId: string
  readonly node: string
}

export interface ViewerSeatReads {
  /** How many viewers have a seat of a holder. */
  count(holder: string): Promise<number>
  has(holder: string, viewer: string): Promise<boolean>
}

export interface ViewerSeatTx extends ViewerSeatReads {
  /**
   * Takes a seat of each, or none: then it returns a limit that is reached. Exact with any number of nodes, because it
   * locks the count of each holder. A viewer who has a seat already needs no further one.
   */
  take(seat: ViewerSeat, limits: readonly ViewerLimit[]): Promise<ViewerLimit | null>
  /** Gives back what these sessions took. A viewer who has another session keeps its seat. Idempotent. */
  free(sessionIds: readonly string[]): Promise<void>
  /** Does the same for at most `limit` sessions of a node; returns for how many. */
  freeOfNode(node: string, limit: number): Promise<number>
}
