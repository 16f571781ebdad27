import type { NodeLoadReading } from './load.ts'

/** Another node, as its row and what it says of itself have it. */
export interface OtherNode extends Pick<NodeLoadReading, 'full' | 'mediaPercent'> {
  /** Where clients reach it; null: not configured. */
  readonly url: string | null
  /** Neither silent nor draining. */
  readonly isServing: boolean
  readonly version: string
  /** How busy the cores of its machine are, 0 to 100. Null: not known. */
  readonly cpuPercent: number | null
}

/**
 * The URL of a node that takes a client for which this one has no room; null: there is none. Each node gets a share of a crowd as large
 * as its free part: figures are some seconds old, so whatever sent all to the node with the least load would fill that one.
 * @param version of this node; what it offers a client, an older node may not have
 * @param random from 0 to 1, without 1
 */
export function freeNode(nodes: readonly OtherNode[], version: string, random: number): string | null {
  const taking = nodes.filter((node) => takes(node, version))
  let left = random * taking.reduce((sum, node) => sum + freePart(node), 0)
  const chosen = taking.find((node) => {
    left -= freePart(node)
    return left < 0
  })
  return chosen?.url ?? null
}

const takes = ({ url, isServing, full, version }: OtherNode, than: string): boolean =>
  url !== null && isServing && full.length === 0 && isSameOrNewer(version, than)

/** 1 to 100. A node that is busy but not full takes some. */
const freePart = ({ mediaPercent, cpuPercent }: OtherNode): number =>
  Math.max(1, 100 - Math.max(mediaPercent ?? 0, cpuPercent ?? 0))

function isSameOrNewer(version: string, than: string): boolean {
  const [ours, theirs] = [numbersOf(than), numbersOf(version)]
  const at = ours.findIndex((number, index) => number !== theirs[index])
  return at === -1 || (theirs[at] ?? 0) > (ours[at] ?? 0)
}

/** Major, minor and patch. */
const numbersOf = (version: string): number[] => version.split('.', 3).map((part) => Number.parseInt(part, 10))
