/** A node of an installation, as those that link to it see it. */
export interface LinkNode {
  /** Empty is a region too. */
  readonly region: string
  /** Where other nodes reach it; null: not configured. */
  readonly url: string | null
  /** Its lease is valid. */
  readonly hasLease: boolean
  readonly isDraining: boolean
}

export type LinkNodes = ReadonlyMap<string, LinkNode>

/**
 * The node that lends a stream to `asker` in place of the one with the feed, because it is near: it is in the region of the asker, which is
 * not that of the feed, and has the stream from the node of the feed itself. Null: none is.
 *
 * A node lends on only what it has from the node of the feed, so a stream makes two steps at most and comes back to no node,
 * whatever nodes believe of each other meanwhile.
 * @param feedAt the node of the feed
 * @param children the nodes that have the stream from that one
 */
export function linkParent(
  asker: string,
  feedAt: string,
  children: readonly string[],
  nodes: LinkNodes,
): { readonly node: string; readonly url: string } | null {
  if (areNear(asker, feedAt, nodes)) return null
  for (const child of children) {
    const { url = null, hasLease = false, isDraining = true } = nodes.get(child) ?? {}
    if (child !== asker && url !== null && hasLease && !isDraining && areNear(child, asker, nodes))
      return { node: child, url }
  }
  return null
}

/** Whether two nodes are in one region. One that is not listed is in none. */
export function areNear(one: string, other: string, nodes: LinkNodes): boolean {
  const region = nodes.get(one)?.region
  return region !== undefined && region === nodes.get(other)?.region
}
