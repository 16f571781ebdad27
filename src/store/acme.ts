// The store's interface for ACME. Import it from `store.ts`.
import type { Said } from '../core/notices.ts'

/** The attempts to renew a certificate. */
export interface AcmeRenewal {
  /** Those in a row that failed. */
  readonly failures: number
  /** Why the latest one failed; null: it did not. */
  readonly problem: Said | null
  /** The next one begins after this. */
  readonly dueAtMs: number
}

export interface AcmeReads {
  /** A value that all nodes share: an account, a certificate, or the answer to a challenge. */
  value(id: string): Promise<Uint8Array | undefined>
  renewal(id: string): Promise<AcmeRenewal | undefined>
}

export interface AcmeTx {
  put(id: string, sealed: Uint8Array, nowMs: number): Promise<void>
  /** Deletes values whose id begins so and that have not changed since. */
  prune(prefix: string, beforeMs: number): Promise<void>
  /**
   * Leases a renewal, by the time of the database. False: another node has the lease, or the pause after a failure is not
   * over at `nowMs`. Exact under any concurrency.
   */
  claim(id: string, leaseMs: number, nowMs: number): Promise<boolean>
  /** Ends a lease, and the count of failures. The next one begins after `dueAtMs`. */
  settle(id: string, dueAtMs: number): Promise<void>
  /** Ends a lease without a certificate. */
  fail(id: string, failure: AcmeRenewal): Promise<void>
}
