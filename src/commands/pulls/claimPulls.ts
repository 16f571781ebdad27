import type { PullState } from '../../core/pulls/types.ts'
import type { StoredPull } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'

type ClaimContext = Pick<CommandContext, 'store'>

/**
 * The pulls that this node runs. Those that no serving node runs are claimed, each node its share of them. A pull stays at its
 * node: the lease of the node is that of its pulls.
 */
export async function claimPulls({ store }: ClaimContext, node: string): Promise<StoredPull[]> {
  const enabled = await store.read.pulls.enabled()
  const others = enabled.filter((pull) => pull.node !== node)
  const nodes = others.length === 0 ? [] : (await store.read.nodes.list()).map(({ id }) => id)
  const free = others.filter((pull) => pull.node === null || !nodes.includes(pull.node))
  // This node was given up: it ends what it has.
  if (others.length > 0 && !nodes.includes(node)) return []
  if (free.length === 0) return enabled.filter((pull) => pull.node === node)
  const share = free.slice(0, Math.ceil(free.length / nodes.length))
  await store.transaction(async (tx) => {
    for (const { id } of share) await tx.pulls.claim(id, node)
  })
  return (await store.read.pulls.enabled()).filter((pull) => pull.node === node)
}

/** Writes how a pull is, if it still runs at this node. */
export const writePullState = ({ store }: ClaimContext, id: number, node: string, state: PullState): Promise<void> =>
  store.transaction((tx) => tx.pulls.setState(id, node, state))

/** Lets other nodes run the pulls of this one, which stops. */
export const releasePulls = ({ store }: ClaimContext, node: string, ids: readonly number[]): Promise<void> =>
  store.transaction(async (tx) => {
    for (const id of ids) await tx.pulls.release(id, node)
  })
