/**
 * A node claims an ingest when a publisher pushes to it there. The newest publisher has the claim, at whichever node it is,
 * and the engines of the ingest go to that node.
 */
export interface IngestClaim {
  readonly node: string
  /** When the publisher connected, epoch milliseconds. */
  readonly connectedAtMs: number
  /** How long ago the claim came from another node, by the time of the database; very long if it never did. */
  readonly heldMs: number
  /** How long the claim lasts without a renewal, by the time of the database. */
  readonly remainingMs: number
}

/** How long a claim lasts without a renewal. */
export const CLAIM_MS = 15_000

/** A claim goes from node to node at most once in this time, so that publishers that replace each other cost little. */
export const CLAIM_PAUSE_MS = 5000

/** What becomes of a publisher. `wait`: it is the newest, and the claim went to another node a moment ago. */
export type ClaimVerdict = 'keep' | 'claim' | 'wait' | 'cut'

/** Judges the newest publisher of an ingest at a node by the claim at hand. */
export function judgeClaim(
  claim: IngestClaim | undefined,
  mine: { readonly node: string; readonly connectedAtMs: number },
): ClaimVerdict {
  if (claim === undefined) return 'claim'
  if (claim.node === mine.node) return isCurrent(claim, mine.connectedAtMs) ? 'keep' : 'claim'
  if (isHeld(claim) && claim.connectedAtMs >= mine.connectedAtMs) return 'cut'
  return isResting(claim) ? 'wait' : 'claim'
}

/** The node of the newest publisher; null: none is connected. */
export const claimingNode = (claim: IngestClaim | undefined): string | null =>
  claim !== undefined && isHeld(claim) ? claim.node : null

/** A claim that seems to last longer than any was written before the time of the database was set back. */
const isHeld = ({ remainingMs }: IngestClaim): boolean => remainingMs > 0 && remainingMs <= CLAIM_MS

/** Negative: the time of the database was set back. */
const isResting = ({ heldMs }: IngestClaim): boolean => heldMs >= 0 && heldMs < CLAIM_PAUSE_MS

/** It names the publisher, and needs no renewal yet. */
const isCurrent = (claim: IngestClaim, connectedAtMs: number): boolean =>
  isHeld(claim) && claim.connectedAtMs === connectedAtMs && claim.remainingMs > CLAIM_MS / 2
