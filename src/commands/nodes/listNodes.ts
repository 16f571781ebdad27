import { timeOfId } from '../../base/ids.ts'
import { MINUTE_MS } from '../../core/streams/seriesQuery.ts'
import type { Node, NodeActivity, NodeFacts } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

/** A node, and what it does for one account. */
export interface ListedNode {
  readonly id: string
  /** It answers this request. */
  readonly isThis: boolean
  readonly url: string | null
  /** Null: it has not said them yet. */
  readonly facts: NodeFacts | null
  /** `silent`: its lease has expired. The others end its sessions. */
  readonly state: 'serving' | 'silent'
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
export async function nodeFactsNow({
  store,
  sessions,
  nodeLoad,
}: SessionContext): Promise<ReadonlyMap<string, NodeFacts>> {
  const facts = await store.read.nodes.facts()
  const own = facts.get(sessions.node)
  return own === undefined ? facts : new Map([...facts, [sessions.node, { ...own, ...nodeLoad.reading() }]])
}

const SECONDS = MINUTE_MS / 1000

function listed(
  { id, url, isExpired, seenAtMs }: Node,
  does: NodeActivity | undefined,
  own: string,
): Omit<ListedNode, 'facts'> {
  const { publishers = 0, viewers = 0, bytesIn = 0, bytesOut = 0 } = does ?? {}
  return {
    id,
    isThis: id === own,
    url,
    state: isExpired ? 'silent' : 'serving',
    startedAtMs: timeOfId(id),
    seenAtMs,
    publishers,
    viewers,
    bitrateIn: Math.round((bytesIn * 8) / SECONDS),
    bitrateOut: Math.round((bytesOut * 8) / SECONDS),
  }
}
