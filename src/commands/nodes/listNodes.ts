import { timeOfId } from '../../base/ids.ts'
import { MINUTE_MS } from '../../base/time.ts'
import { type LinkProblem, type NodeLink, nodeLinksOf } from '../../core/nodes/nodeLinks.ts'
import { type NodeState, nodeStateOf } from '../../core/nodes/nodeState.ts'
import type { Node, NodeActivity, NodeFacts, NodeLoadFacts } from '../../store/store.ts'
import type { CommandContext, SessionContext } from '../context.ts'

/** A node, and what it does for one account. */
export interface ListedNode {
  readonly id: string
  /** It answers this request. */
  readonly isThis: boolean
  readonly url: string | null
  /** Null: it has not said them yet. */
  readonly facts: NodeFacts | null
  readonly state: NodeState
  readonly startedAtMs: number
  /** The last renewal of its lease. */
  readonly seenAtMs: number
  readonly publishers: number
  readonly viewers: number
  /** Bits per second, over the last whole minute. */
  readonly bitrateIn: number
  readonly bitrateOut: number
}

/** The processes that serve, the oldest first. Sessions and bitrates are those of the account. */
export async function listNodes(ctx: SessionContext, accountId: string): Promise<ListedNode[]> {
  const { store, clock, sessions } = ctx
  const untilMs = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS
  const [nodes, facts, activity] = await Promise.all([
    store.read.nodes.list(),
    nodeFactsNow(ctx),
    store.read.nodes.activity({ accountId, fromMs: untilMs - MINUTE_MS, untilMs }),
  ])
  const byNode = new Map(activity.map((one) => [one.node, one]))
  return nodes.map((node) => ({
    ...listed(node, byNode.get(node.id), sessions.node),
    facts: facts.get(node.id) ?? null,
  }))
}

/** What the nodes say of themselves, by id. What others say is some seconds old. */
export async function nodeFactsNow(ctx: SessionContext): Promise<ReadonlyMap<string, NodeFacts>> {
  const { node } = ctx.sessions
  const facts = await ctx.store.read.nodes.facts()
  const own = facts.get(node)
  return own === undefined ? facts : new Map([...facts, [node, { ...own, ...ownFacts(ctx) }]])
}

/** What this node knows of itself now, but for its machine. */
export const ownFacts = (ctx: SessionContext): Omit<NodeLoadFacts, 'cpuPercent'> => ({
  ...ctx.nodeLoad.reading(),
  links: ownLinks(ctx),
  mediaProcessEnd: ctx.mediaProcesses.latestEnd,
})

/** What this node shares with others now. */
const ownLinks = ({ cascade, lentRooms, sessions }: SessionContext): readonly NodeLink[] =>
  nodeLinksOf([...lentRooms.streams(sessions.node), ...cascade.streams], cascade.problems)

/** A node whose streams do not come to another one, so that viewers there are redirected. By URL, or by id without one. */
export interface UnlinkedNodes {
  readonly from: string
  readonly to: string
  readonly problem: LinkProblem
}

/** Those of nodes that serve. A node that is gone has no problem any more. */
export function unlinkedNodes(
  nodes: readonly Pick<Node, 'id' | 'url'>[],
  facts: ReadonlyMap<string, Pick<NodeFacts, 'links'>>,
): UnlinkedNodes[] {
  const names = new Map(nodes.map(({ id, url }) => [id, url ?? id]))
  return nodes.flatMap(({ id }) =>
    (facts.get(id)?.links ?? []).flatMap(({ node, problem }) => {
      const [from, to] = [names.get(node), names.get(id)]
      return problem === null || from === undefined || to === undefined ? [] : [{ from, to, problem }]
    }),
  )
}

/** A node, and what it does for all accounts, as operators see it. */
export interface ClusterNode extends Pick<Node, 'id' | 'hostKey' | 'pid' | 'url'> {
  readonly state: NodeState
  readonly version: string | null
  /** Empty: none, or not known. */
  readonly region: string
  readonly cpuPercent: number | null
  /** Null: it does not say. */
  readonly links: readonly NodeLink[] | null
  readonly startedAtMs: number
  /** Since the last renewal of its lease, milliseconds, by the clock of the database. */
  readonly leaseAgeMs: number
  readonly publishers: number
  readonly viewers: number
  readonly feeds: number
}

/** The processes that serve, the oldest first, with what each has open. */
export async function clusterNodes({ store }: Pick<CommandContext, 'store'>): Promise<ClusterNode[]> {
  const { nodes: read } = store.read
  const [nodes, facts, open, nowMs] = await Promise.all([read.list(), read.facts(), read.open(), store.time()])
  return nodes.map((node) => {
    const { id, hostKey, pid, url, seenAtMs } = node
    const { publishers = 0, viewers = 0, feeds = 0 } = open.find((one) => one.node === id) ?? {}
    const { version = null, region = '', cpuPercent = null, links = null } = facts.get(id) ?? {}
    const [state, startedAtMs, leaseAgeMs] = [nodeStateOf(node), timeOfId(id), Math.max(0, nowMs - seenAtMs)]
    const about = { version, region, cpuPercent, links }
    return { id, hostKey, pid, url, state, ...about, startedAtMs, leaseAgeMs, publishers, viewers, feeds }
  })
}

const SECONDS = MINUTE_MS / 1000

function listed(node: Node, does: NodeActivity | undefined, own: string): Omit<ListedNode, 'facts'> {
  const { id, url, seenAtMs } = node
  const { publishers = 0, viewers = 0, bytesIn = 0, bytesOut = 0 } = does ?? {}
  return {
    id,
    isThis: id === own,
    url,
    state: nodeStateOf(node),
    startedAtMs: timeOfId(id),
    seenAtMs,
    publishers,
    viewers,
    bitrateIn: Math.round((bytesIn * 8) / SECONDS),
    bitrateOut: Math.round((bytesOut * 8) / SECONDS),
  }
}
