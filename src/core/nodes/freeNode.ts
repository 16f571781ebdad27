import type { NodeLoadReading } from './load.ts'

/** Another node, by its row and by its own report. */
export interface OtherNode extends Pick<NodeLoadReading, 'full' | 'mediaPercent'> {
  /** Where clients reach it; null: not configured. */
  readonly url: string | null
  /** Neither silent nor draining. */
  readonly isServing: boolean
  /** Empty: none. */
  readonly region: string
  /** How old the figures are, milliseconds. */
  readonly ageMs: number
  readonly version: string
  /** How busy the cores of its machine are, 0 to 100. Null: not known. */
  readonly cpuPercent: number | null
}

/**
 * The URL of a node that takes a client for which this one has no room; null: there is none. Nodes of its own region come first. Each
 * gets a share of a crowd as large as its free part: figures are some seconds old, so a rule that sends all clients to the node with
 * the least load would fill it.
 * @param own this node; an older one may lack what it offers
 * @param regions those that may take the client; null: all
 * @param random from 0 to 1, without 1
 */
export function freeNode(
  nodes: readonly OtherNode[],
  own: Pick<OtherNode, 'version' | 'region'>,
  regions: readonly string[] | null,
  random: number,
): string | null {
  const free = nodes.filter((node) => takes(node, own.version) && (regions?.includes(node.region) ?? true))
  const near = free.filter(({ region }) => region === own.region)
  const taking = near.length > 0 ? near : free
  let left = random * taking.reduce((sum, node) => sum + freePart(node), 0)
  const chosen = taking.find((node) => {
    left -= freePart(node)
    return left < 0
  })
  return chosen?.url ?? null
}

/** A node reports every ten seconds. One that does not may hang, although its lease is renewed. */
const FRESH_MS = 30_000

const takes = ({ url, isServing, full, version, ageMs }: OtherNode, than: string): boolean =>
  url !== null && isServing && full.length === 0 && ageMs < FRESH_MS && isSameOrNewer(version, than)

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
