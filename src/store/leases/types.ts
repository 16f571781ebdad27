/**
 * What a process holds for as long as it renews a lease: its sessions and feeds (`node`), the deliveries that it has begun
 * (`deliveries`), the engines that it runs (`engines`).
 */
export type LeaseKind = 'node' | 'deliveries' | 'engines'

export interface Lease {
  readonly kind: LeaseKind
  /** Of the holder; new at each start. */
  readonly id: string
  /** How long others believe that the holder lives after the last renewal. */
  readonly leaseMs: number
}

/** Renews leases that were taken in the store, beside everything else that the process does. */
export interface Leases {
  /** Renews from now on. `lost` is called when the holder was given up: there is nothing to renew any more. */
  keep(lease: Lease, lost?: () => void): void
  /** Resolves when the lease will not be renewed again. */
  release(id: string): Promise<void>
}

/** Connections to the database server. */
export interface PoolConnections {
  /** The most that a server process opens. */
  readonly ours: number
  /** Open now, of all clients. */
  readonly open: number
  /** The most that the server takes of clients without special rights. */
  readonly most: number
}
