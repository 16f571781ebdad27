import { greatest } from '../../base/numbers.ts'

/**
 * Why a stream of another node does not come: its media ports do not answer, it does not answer over HTTP, it refuses the request, it gets
 * too many of them, or it lends nothing (`server.handover`).
 */
export const LINK_PROBLEMS = ['media_port', 'no_answer', 'refused', 'busy', 'lends_nothing'] as const

export type LinkProblem = (typeof LINK_PROBLEMS)[number]

/** What one node shares with another one, in both directions. */
export interface NodeLink {
  /** The id of the other node. */
  readonly node: string
  /** Streams of this node that the other one has from it. */
  readonly lent: number
  /** Streams of third nodes that the other one has from this one. */
  readonly relayed: number
  /** Streams that this one has from the other one. */
  readonly borrowed: number
  /** Bits per second of media, over the last second. */
  readonly bitrateOut: number
  readonly bitrateIn: number
  /** The largest share of packets that was lost, 0 to 1; null: not known. */
  readonly loss: number | null
  /** Milliseconds; null: not known. Only the node that lends measures it. */
  readonly roundTripMs: number | null
  /** Why the latest stream did not come, so that viewers were redirected; null: it did, or none was needed. */
  readonly problem: LinkProblem | null
}

/** A stream that two nodes share, as one of them sees it. */
export interface SharedStream extends Pick<NodeLink, 'node' | 'loss' | 'roundTripMs'> {
  readonly direction: 'lent' | 'relayed' | 'borrowed'
  /** Bits per second. */
  readonly bitrate: number
}

/** More nodes than a cluster has; the busiest are kept. */
const NODES_MAX = 200

/** The links of a node, those that carry most first. */
export function nodeLinksOf(
  streams: readonly SharedStream[],
  problems: ReadonlyMap<string, LinkProblem>,
): readonly NodeLink[] {
  const byNode = Map.groupBy(streams, ({ node }) => node)
  const nodes = new Set([...byNode.keys(), ...problems.keys()])
  return [...nodes]
    .map((node) => linkTo(node, byNode.get(node) ?? [], problems.get(node) ?? null))
    .toSorted((a, b) => b.bitrateOut + b.bitrateIn - a.bitrateOut - a.bitrateIn)
    .slice(0, NODES_MAX)
}

function linkTo(node: string, streams: readonly SharedStream[], problem: LinkProblem | null): NodeLink {
  const of = (direction: SharedStream['direction']) => streams.filter((one) => one.direction === direction)
  const [lent, relayed, borrowed] = [of('lent'), of('relayed'), of('borrowed')]
  const bitrateOf = (some: readonly SharedStream[]): number => some.reduce((sum, { bitrate }) => sum + bitrate, 0)
  return {
    node,
    lent: lent.length,
    relayed: relayed.length,
    borrowed: borrowed.length,
    bitrateOut: bitrateOf([...lent, ...relayed]),
    bitrateIn: bitrateOf(borrowed),
    loss: greatest(streams.map(({ loss }) => loss)),
    roundTripMs: greatest(streams.map(({ roundTripMs }) => roundTripMs)),
    problem,
  }
}

/** Links as a node has written them, of this version or another one. A problem that this one does not know counts as none. */
export function parseNodeLinks(text: string): readonly NodeLink[] {
  const links = JSON.parse(text) as readonly NodeLink[]
  return links.map((link) => ({ ...link, problem: LINK_PROBLEMS.find((one) => one === link.problem) ?? null }))
}
