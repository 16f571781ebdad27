import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import { DEMAND_MS, isWanted } from '../../core/pulls/demand.ts'
import type { PullState } from '../../core/pulls/types.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { EnabledPull, StoredPull } from '../../store/store.ts'
import type { CommandContext, SessionContext } from '../context.ts'
import { keepWanted } from './demand.ts'

type ClaimContext = Pick<CommandContext, 'store' | 'clock'>
type FollowContext = Pick<SessionContext, 'store' | 'clock' | 'sessions' | 'policy'>

/**
 * The pulls of this node, after it has claimed its share of those that no serving node runs, and has noted which of those on
 * demand have viewers here. Tells viewers of this node which streams are on demand.
 */
export async function followPulls(ctx: FollowContext): Promise<StoredPull[]> {
  const { sessions, store } = ctx
  if (sessions.node === '') return []
  const onDemand = await store.read.pulls.onDemand()
  sessions.demand.follow(onDemand.map((pull) => ({ ...pull, key: streamIdOf(pull) })))
  await keepWanted(ctx, onDemand)
  const concerning = await pullsConcerning(ctx, sessions.node)
  if (sessions.drain !== null) return leavePulls(ctx, concerning)
  const ofRegion = await pullsOfRegion(ctx, concerning)
  const left = concerning.filter((pull) => pull.node === sessions.node && !ofRegion.includes(pull)).map(({ id }) => id)
  if (left.length > 0) await releasePulls(ctx, sessions.node, left)
  return claimPulls(ctx, sessions.node, ofRegion)
}

/** The enabled pulls that run at this node, and those that it may claim. */
export const pullsConcerning = ({ store, clock }: ClaimContext, node: string): Promise<EnabledPull[]> =>
  store.read.pulls.concerning(node, clock.now() - DEMAND_MS)

/** Those that this node may run: of its region, and of regions without a node, which it tells that none is there. */
async function pullsOfRegion(
  { store, policy }: FollowContext,
  pulls: readonly EnabledPull[],
): Promise<readonly EnabledPull[]> {
  const isOfOther = ({ region }: EnabledPull): boolean => region !== null && region !== policy.region
  if (!pulls.some(isOfOther)) return pulls
  const [nodes, facts] = await Promise.all([store.read.nodes.list(), store.read.nodes.facts()])
  const taking = nodes.filter(({ isExpired, drainingSinceMs }) => !isExpired && drainingSinceMs === null)
  const regions = new Set(taking.map(({ id }) => facts.get(id)?.region))
  return pulls.filter((pull) => !isOfOther(pull) || !regions.has(pull.region ?? ''))
}

/** While this node drains: it keeps what is on the air until that is moved, and lets other nodes run the rest. */
async function leavePulls(
  { sessions, store }: Pick<SessionContext, 'store' | 'sessions'>,
  concerning: readonly StoredPull[],
): Promise<StoredPull[]> {
  const open = sessions.all().filter(({ session, ending }) => PROTOCOL_FACTS[session.protocol].isDialled && !ending)
  const streams = new Set(open.map(({ session }) => streamIdOf(session)))
  const own = concerning.filter((pull) => pull.node === sessions.node)
  const isOnAir = (pull: StoredPull): boolean => streams.has(streamIdOf(pull))
  const left = own.filter((pull) => !isOnAir(pull)).map(({ id }) => id)
  if (left.length > 0) await releasePulls({ store }, sessions.node, left)
  return own.filter(isOnAir)
}

/**
 * The pulls that this node runs. Those that no serving node runs are claimed, each node its share of them. A pull stays at its
 * node: the lease of the node is that of its pulls. One on demand that no viewer wants has none.
 */
export async function claimPulls(
  ctx: ClaimContext,
  node: string,
  concerning: readonly StoredPull[],
): Promise<StoredPull[]> {
  const { store, clock } = ctx
  const others = concerning.filter((pull) => pull.node !== node)
  const listed = others.length === 0 ? [] : await store.read.nodes.list()
  const nodes = listed.map(({ id }) => id)
  const nowMs = clock.now()
  const free = others.filter((pull) => (pull.node === null ? isWanted(pull, nowMs) : !nodes.includes(pull.node)))
  // This node was given up: it ends what it has.
  if (others.length > 0 && !nodes.includes(node)) return []
  if (free.length === 0) return concerning.filter((pull) => pull.node === node)
  const taking = listed.filter(({ drainingSinceMs }) => drainingSinceMs === null).length
  const share = free.slice(0, Math.ceil(free.length / Math.max(1, taking)))
  await store.transaction(async (tx) => {
    for (const { id } of share) await tx.pulls.claim(id, node)
  })
  return (await pullsConcerning(ctx, node)).filter((pull) => pull.node === node)
}

/** Writes how a pull is, if it still runs at this node. */
export const writePullState = (
  { store }: Pick<ClaimContext, 'store'>,
  id: number,
  node: string,
  state: PullState,
): Promise<void> => store.transaction((tx) => tx.pulls.setState(id, node, state))

/** Lets other nodes run these pulls: this one stops, or no viewer wants them. */
export const releasePulls = (
  { store }: Pick<ClaimContext, 'store'>,
  node: string,
  ids: readonly number[],
): Promise<void> =>
  store.transaction(async (tx) => {
    for (const id of ids) await tx.pulls.release(id, node)
  })
