import { NOTICES } from '../notices.ts'

/** A node that drains: it takes nothing new, moves what it has to other nodes, and then ends. Times are monotonic milliseconds. */
export interface Drain {
  readonly beganAtMs: number
  /** How long it may take. */
  readonly drainMs: number
  readonly plan: MovePlan
  /** Other nodes that take sessions: those with room, if any has it. */
  readonly nodes: readonly DrainTarget[]
  /**
   * All sessions have moved, and the node ends within seconds. Answers close their connections from now on, so that no client sends
   * its next request on a connection that ends meanwhile (RFC 9112 section 9.6).
   */
  readonly isEnding: boolean
}

/** Where sessions of a node that drains go. */
export interface DrainTarget {
  readonly url: string
  /** Empty: none. */
  readonly region: string
}

/** The TCP ports on which a node takes publishers over RTMP. 0: it takes none. Null: it does not say. */
export interface RtmpPorts {
  readonly rtmpPort: number | null
  readonly rtmpsPort: number | null
}

/** Where clients reach a node. */
export interface NodeAddress extends RtmpPorts {
  readonly url: string
}

/** From a node, if its address is known, to one of the others, in random order. */
export interface Move {
  readonly from: NodeAddress | null
  readonly to: readonly NodeAddress[]
}

/** Asks a publisher to connect to another node. Its media goes on until it has done so, or is cut. */
export type AskToMove = (move: Move) => void

/** What a publisher reads that did not move and is cut. */
export const CONNECT_AGAIN = NOTICES.cut_moved

/** When what moves. All times are milliseconds since the begin. */
export interface MovePlan {
  /** Viewers over HLS move until then, spread evenly: another node fetches what they watch from this one. */
  readonly hlsUntilMs: number
  /** By the id of the session, or of the ingest. Viewers over WHEP follow their publisher. */
  readonly publishersAtMs: ReadonlyMap<string, number>
}

export interface Movable {
  /** Their ids. */
  readonly publishers: readonly string[]
  /** Whether viewers over HLS can move. */
  readonly hasHlsViewers: boolean
}

/** Viewers over HLS move in this part of the time, before the publishers. */
const HLS_PART = 1 / 2
/** Publishers have moved by this part of the time, so that their viewers can follow. */
const PUBLISHERS_PART = 0.9

/**
 * Spreads all moves over the time, in random order.
 * @param random from 0 to 1, without 1
 */
export function planMoves({ publishers, hasHlsViewers }: Movable, drainMs: number, random: () => number): MovePlan {
  const hlsUntilMs = hasHlsViewers ? drainMs * HLS_PART : 0
  const spanMs = drainMs * PUBLISHERS_PART - hlsUntilMs
  const moments = shuffled(publishers, random).map(
    (id, at) => [id, hlsUntilMs + ((at + 0.5) / publishers.length) * spanMs] as const,
  )
  return { hlsUntilMs, publishersAtMs: new Map(moments) }
}

/**
 * The same in random order, by Fisher and Yates.
 * @param random from 0 to 1, without 1
 */
export function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const left = [...all]
  return all.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T)
}

/** Whether a publisher has to move by now. One that was being admitted when the drain began is the last. */
export const isPublisherDue = ({ beganAtMs, drainMs, plan }: Drain, id: string, nowMs: number): boolean =>
  nowMs - beganAtMs >= (plan.publishersAtMs.get(id) ?? drainMs * PUBLISHERS_PART)

/**
 * The node for a viewer over HLS whose time has come; null: it stays for now, or no other node has an address.
 * @param position of the viewer among all, from 0 to 1, always the same
 * @param regions those whose nodes show what it watches; null: all
 */
export function hlsNodeFor(
  drain: Drain,
  position: number,
  regions: readonly string[] | null,
  nowMs: number,
): string | null {
  if (nowMs - drain.beganAtMs < position * drain.plan.hlsUntilMs) return null
  // The later digits, so that viewers who move at the same time go to all nodes.
  return anyNode(drain, regions, (position * 1000) % 1)
}

/** One of the nodes in these regions; null: there is none. @param choice from 0 to 1, without 1 */
export function anyNode({ nodes }: Drain, regions: readonly string[] | null, choice: number): string | null {
  const possible = regions === null ? nodes : nodes.filter(({ region }) => regions.includes(region))
  return possible[Math.floor(choice * possible.length)]?.url ?? null
}

/** Viewers of a stream follow it within this time, so that they do not ask its new node all at once. */
const FOLLOW_MS = 2_000

/** How many viewers over WHEP may follow their streams in a look. */
export const followersAtOnce = (viewers: number, lookMs: number): number =>
  Math.max(10, Math.ceil((viewers * lookMs) / FOLLOW_MS))
