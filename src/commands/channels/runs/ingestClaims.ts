import { CLAIM_MS, CLAIM_PAUSE_MS, claimingNode, judgeClaim } from '../../../core/channels/runs/claims.ts'
import type { Engine } from '../../../core/channels/types.ts'
import type { CommandContext } from '../../context.ts'
import type { EngineNode } from './adopt.ts'

type ClaimContext = Pick<CommandContext, 'store'>

const TIMES = { claimMs: CLAIM_MS, pauseMs: CLAIM_PAUSE_MS }

/** A publisher that pushes to this node. */
interface ConnectedPublisher {
  readonly ingestId: string
  /** Epoch milliseconds. */
  readonly connectedAtMs: number
}

/**
 * Claims ingests for this node, and renews its claims. Writes only if one is new or grows old.
 * @param publishers the newest of each ingest
 * @returns those that a newer one at another node has replaced
 */
export async function claimIngests<E extends ConnectedPublisher>(
  { store }: ClaimContext,
  node: string,
  publishers: readonly E[],
): Promise<readonly E[]> {
  if (publishers.length === 0) return []
  const claims = await store.read.ingestClaims.of(publishers.map(({ ingestId }) => ingestId))
  const judged = Map.groupBy(publishers, ({ ingestId, connectedAtMs }) =>
    judgeClaim(claims.get(ingestId), { node, connectedAtMs }),
  )
  // In the same order at every node, so that no two transactions wait for each other.
  const claimed = (judged.get('claim') ?? []).toSorted((a, b) => (a.ingestId < b.ingestId ? -1 : 1))
  if (claimed.length > 0) {
    await store.transaction(async (tx) => {
      for (const { ingestId, connectedAtMs } of claimed)
        await tx.ingestClaims.claim({ ingestId, node, connectedAtMs }, TIMES)
    })
  }
  return judged.get('cut') ?? []
}

/** Ends the claims of this node, which stops. */
export const releaseIngests = ({ store }: ClaimContext, node: string): Promise<void> =>
  store.transaction((tx) => tx.ingestClaims.release(node))

/** Returns a function that names the node of an engine's publisher; null: none is known, or that node has ended. */
export async function publisherNodes(
  { store }: ClaimContext,
  { isGone }: Pick<EngineNode, 'isGone'>,
  of: readonly { readonly engine: Engine | undefined }[],
): Promise<(engine: Engine | undefined) => string | null> {
  const ingestIds = new Set(of.flatMap(({ engine }) => engine?.ingestId ?? []))
  const claims = await store.read.ingestClaims.of([...ingestIds])
  return (engine) => {
    const node = claimingNode(claims.get(engine?.ingestId ?? ''))
    return node !== null && isGone(node) ? null : node
  }
}
