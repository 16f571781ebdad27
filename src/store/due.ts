/**
 * A change that caches must follow: of one token, API secret or credential. `account`: of what the account says for its
 * tokens; `kick`: sessions must end; `feed`: a feed began or ended; `recording`: users switched the recording of a stream. These
 * have no id: the reader looks them up.
 */
export interface Change {
  readonly kind: 'token' | 'secret' | 'account' | 'kick' | 'feed' | 'recording'
  readonly accountId: string
  readonly id: number
  /** Of a feed or a recording: its stream. Absent: any stream of the account may have changed. */
  readonly streamName?: string
}

/** A change with the time of its transaction, epoch milliseconds. */
export interface DatedChange extends Change {
  readonly atMs: number
}

/** Hears that another node may have committed a change, and each second. */
export type WatchListener = (what: 'changed' | 'second') => void

export interface DueQuery {
  /** Epoch milliseconds. */
  readonly nowMs: number
  /** Of `changesSince`; null: changes are not asked for. */
  readonly cursor: string | null
  /** The id of this serving node; empty: none. */
  readonly node: string
}

/** Whether there is work of each kind, so that an idle node asks for no kind by itself. */
export interface DueKinds {
  /** `changesSince` would find something. */
  readonly changes: boolean
  /** Events, deliveries, their retries, or probes of paused webhooks. */
  readonly deliveries: boolean
  readonly schedulers: boolean
  /** Requests to this node to read its configuration again. */
  readonly reloads: boolean
  /** This node was asked to drain, and still serves. */
  readonly drain: boolean
  /** Pulls that are enabled. */
  readonly pulls: boolean
  /** Engines that run, or that should. */
  readonly engines: boolean
}

/** Tells the parts of a node what is due. */
export interface DueWork {
  /**
   * Runs `run` once a second while work of this kind is due, and once more afterwards; never twice at once. A failed run is
   * logged, and repeated while work is due.
   */
  on(kind: Exclude<keyof DueKinds, 'changes'>, run: () => Promise<unknown>): { stop(): Promise<void> }
}
