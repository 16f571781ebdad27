/** A node that drains: it takes nothing new, moves what it has to other nodes, and then ends. */
export interface Drain {
  /** Monotonic milliseconds. */
  readonly beganAtMs: number
  /** How long it may take. */
  readonly drainMs: number
}
