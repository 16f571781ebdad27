/**
 * What a process holds while it renews a lease: its sessions and feeds (`node`), the deliveries that it has started
 * (`deliveries`), or the engines that it runs (`engines`).
 */
export type LeaseKind = 'node' | 'deliveries' | 'engines'

export interface Lease {
  readonly kind: LeaseKind
  /** The id of the holder; new at each start. */
  readonly id: string
  /** How long other nodes consider the holder alive after its last renewal. */
  readonly leaseMs: number
}

/** Renews leases that the process has taken in the store, independent of its other work. */
export interface Leases {
  /**
   * Starts to renew a lease. Calls `lost` when another node has given the holder up; renewals then end. Calls `renewed` after
   * each renewal.
   */
  keep(lease: Lease, lost?: () => void, renewed?: () => void): void
  /** Stops renewing a lease. Resolves after its last renewal. */
  release(id: string): Promise<void>
}

/** Connections to the database server. */
export interface PoolConnections {
  /** The most connections that one server process opens. */
  readonly ours: number
  /** Open connections of all clients. */
  readonly open: number
  /** The most connections that the database server allows clients without special rights. */
  readonly most: number
  /** Whether a commit waits for the disk of the server. */
  readonly isDurable: boolean
}
