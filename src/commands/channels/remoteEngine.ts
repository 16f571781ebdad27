import { pidAt } from '../../base/processes.ts'
import type { Node } from '../../store/store.ts'
import type { ChannelContext } from '../context.ts'

/** Where an engine runs, if that is another node. */
export interface RemoteEngine {
  /** The name of its process, as engine states have it. */
  readonly processName: string
  /** Undefined: it is not listed. */
  readonly node: Node | undefined
}

/** @param mine the name of this process, as `Measured` has it; empty: it runs no engines */
export async function remoteEngine(
  ctx: Pick<ChannelContext, 'store'>,
  mine: string,
  engineId: string,
): Promise<RemoteEngine | null> {
  const state = await ctx.store.read.engineStates.get(engineId)
  if (!state?.node || state.node === mine || state.isExpired) return null
  const processName = state.node
  const node = (await otherNodes(ctx, mine)).find(({ hostKey, pid }) => pidAt(hostKey, processName) === pid)
  return { processName, node }
}

/** The nodes that serve beside this one. */
export async function otherNodes({ store }: Pick<ChannelContext, 'store'>, mine: string): Promise<Node[]> {
  const all = await store.read.nodes.list()
  return all.filter(({ hostKey, pid, isExpired }) => !isExpired && pidAt(hostKey, mine) !== pid)
}

/** Where an engine runs, for people. */
export const nodeNameOf = ({ node, processName }: RemoteEngine): string =>
  node ? nameOf(node) : machineOf(processName)

/** A node, for people. */
export const nameOf = ({ url, hostKey }: Pick<Node, 'url' | 'hostKey'>): string => url ?? `on ${machineOf(hostKey)}`

const machineOf = (hostKey: string): string => hostKey.split(':')[0] ?? ''
