import { inTime } from '../../base/clock.ts'
import { fraction } from '../../base/random.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import {
  type AskToMove,
  CONNECT_AGAIN,
  type Drain,
  type Move,
  followersAtOnce,
  isPublisherDue,
  type MovePlan,
  type NodeAddress,
  planMoves,
  shuffled,
} from '../../core/nodes/drain.ts'
import { nodeStateOf } from '../../core/nodes/nodeState.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { PushedKeys } from '../../services/pushedKeys.ts'
import { type Node, type NodeFacts, StoreUnavailable } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { endSession } from '../sessions/close.ts'

const LOOK_MS = 250
const NODES_MS = 1_000
/** A drain begins without the store if that does not answer for so long. */
const FIRST_READ_MS = 1_000
/** So long before a publisher is cut, it is asked to go by itself. */
const ASKED_BEFORE_MS = 5_000
/**
 * Players over HLS still fetch pieces that their last playlist from here names, and learn where the stream goes on. Engines of
 * channels go to their publishers.
 */
const TAIL_MS = 3_000

/** A player of a channel asks for a playlist within this time. It has no session that would show it. */
const CHANNEL_VIEWER_MS = 30_000

/** A publisher of a stream, or of an ingest of a channel. */
interface Publisher {
  /** Of its session, or of its ingest. */
  readonly id: string
  readonly askToMove?: AskToMove | undefined
  cut(): void
}

export interface NodeDrainOptions {
  /** Read when it begins. */
  readonly drainMs: () => number
  /** Publishers of channels, which have no session. */
  readonly pushed: Pick<PushedKeys, 'newest' | 'cut'>
}

/** Drains this node, once it is asked to. */
export class NodeDrain {
  /** Resolves when the node has nothing left, or its time is up: then it has to stop. Never rejects. */
  readonly over: Promise<void>
  readonly #ctx: SessionContext
  readonly #options: NodeDrainOptions
  #isOver: () => void = () => undefined
  #looking: Repetition | null = null
  /** When the other nodes were read, and when the last publisher was here; monotonic milliseconds. */
  #readAtMs = Number.NEGATIVE_INFINITY
  #publishedAtMs = Number.NEGATIVE_INFINITY
  /** The address of this node; null: not known. */
  #own: NodeAddress | null = null
  /** The addresses of those that take sessions. */
  #others: readonly NodeAddress[] = []
  /** Where viewers over HLS go. */
  #targets: Drain['nodes'] = []
  /** Publishers that were asked to move, by id. */
  readonly #asked = new Set<string>()
  /** Unknown is yes. */
  #hasPeers = true
  #viewers = 0
  #begun: Promise<void> | null = null

  constructor(ctx: SessionContext, options: NodeDrainOptions) {
    this.#ctx = ctx
    this.#options = options
    this.over = new Promise((resolve) => (this.#isOver = resolve))
  }

  /** Takes nothing new once it resolves, and moves what is there. Idempotent, never rejects. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  async #begin(): Promise<void> {
    const { sessions, clock, log } = this.#ctx
    // Players are told from the first moment where to go.
    await this.#readFirst()
    const [beganAtMs, drainMs] = [clock.monotonic(), this.#options.drainMs()]
    sessions.drain = { beganAtMs, drainMs, plan: this.#plan(drainMs), nodes: this.#targets, isEnding: false }
    this.#viewers = sessions.all().filter(isConnectedViewer).length
    log.info({ sessions: sessions.size, seconds: drainMs / 1000 }, 'this node drains: it takes nothing new')
    this.#looking = repeat({ ...this.#ctx, name: 'drain this node', everyMs: LOOK_MS }, () => this.#look())
  }

  stop(): Promise<void> {
    return this.#looking?.stop() ?? Promise.resolve()
  }

  #plan(drainMs: number): MovePlan {
    const { sessions, clock } = this.#ctx
    const all = sessions.all()
    const publishers = this.#publishers().map(({ id }) => id)
    const hasChannelViewers = clock.now() - sessions.counts.channelsSentAtMs < CHANNEL_VIEWER_MS
    const hasHlsViewers = hasChannelViewers || all.some((entry) => !isPublisher(entry) && !isConnectedViewer(entry))
    return planMoves({ publishers, hasHlsViewers }, drainMs, () => fraction(this.#ctx.random))
  }

  #publishers(): Publisher[] {
    const { pushed } = this.#options
    const sessions = this.#ctx.sessions.all().filter((entry) => isPublisher(entry) && entry.ending === null)
    return [
      ...sessions.map((entry) => ({
        id: entry.session.id,
        askToMove: (move: Move) => askPublisher(entry, move),
        cut: () => void endSession(this.#ctx, entry, 'moved'),
      })),
      ...pushed.newest().map((source) => ({
        id: source.ingestId,
        askToMove: source.askToMove,
        cut: () => pushed.cut(source, CONNECT_AGAIN),
      })),
    ]
  }

  async #look(): Promise<'done' | void> {
    const { sessions, clock, log } = this.#ctx
    await this.#readNodes()
    const { drain } = sessions
    if (drain === null) return
    const nowMs = clock.monotonic()
    if (this.#hasPeers && nowMs - drain.beganAtMs < drain.drainMs) {
      if (this.#moves(drain, nowMs)) return
      sessions.drain = { ...drain, isEnding: true }
      if (this.#isTail(drain, nowMs)) return
    }
    log.info({ sessions: sessions.size }, 'this node has drained')
    this.#isOver()
    return 'done'
  }

  /** Moves what is due. False: nothing is left to move. */
  #moves(drain: Drain, nowMs: number): boolean {
    const publishers = this.#publishers()
    if (publishers.length > 0) this.#publishedAtMs = nowMs
    for (const publisher of publishers) {
      if (isPublisherDue(drain, publisher.id, nowMs + ASKED_BEFORE_MS)) this.#askToMove(publisher)
      if (isPublisherDue(drain, publisher.id, nowMs)) publisher.cut()
    }
    const whep = this.#ctx.sessions.all().filter((entry) => isConnectedViewer(entry) && entry.ending === null)
    const following = whep.filter((entry) => this.#isRemote(entry)).slice(0, followersAtOnce(this.#viewers, LOOK_MS))
    for (const entry of following) void endSession(this.#ctx, entry, 'moved')
    return publishers.length + whep.length > 0 || nowMs - drain.beganAtMs < drain.plan.hlsUntilMs
  }

  /** Players over HLS of what has moved may still ask here. */
  #isTail({ beganAtMs, plan: { hlsUntilMs } }: Drain, nowMs: number): boolean {
    const hlsMovedAtMs = hlsUntilMs > 0 ? beganAtMs + hlsUntilMs : Number.NEGATIVE_INFINITY
    return nowMs - Math.max(hlsMovedAtMs, this.#publishedAtMs) < TAIL_MS
  }

  #askToMove({ id, askToMove }: Publisher): void {
    if (this.#asked.has(id)) return
    this.#asked.add(id)
    askToMove?.({ from: this.#own, to: shuffled(this.#others, () => fraction(this.#ctx.random)) })
  }

  /** Whether what the viewer watches is on the air at another node, and no longer here. */
  #isRemote({ session: { accountId, streamName, sourceId } }: ActiveSession): boolean {
    const { sessions } = this.#ctx
    if (sessions.feeds.get(accountId, streamName, sourceId) !== undefined) return false
    return sessions.feeds.remote(accountId, streamName, sourceId) !== undefined
  }

  async #readFirst(): Promise<void> {
    await inTime(this.#ctx.clock, FIRST_READ_MS, this.#readNodes())
  }

  /** Where sessions can go. Without the store it is what was read last, and the node still ends in time. */
  async #readNodes(): Promise<void> {
    const { store, sessions, clock } = this.#ctx
    if (clock.monotonic() - this.#readAtMs < NODES_MS) return
    const reads = [store.read.nodes.list(), store.read.nodes.facts()] as const
    const read = await Promise.all(reads).catch(nullIfUnavailable)
    if (read === null) return
    const [nodes, facts] = read
    this.#readAtMs = clock.monotonic()
    const taking = nodes.filter((node) => node.id !== sessions.node && nodeStateOf(node) === 'serving')
    this.#hasPeers = taking.length > 0
    this.#own = nodes.filter(({ id }) => id === sessions.node).flatMap((node) => addressOf(node, facts))[0] ?? null
    this.#others = taking.flatMap((node) => addressOf(node, facts))
    this.#targets = targetsOf(taking, facts)
    if (sessions.drain !== null) sessions.drain = { ...sessions.drain, nodes: this.#targets }
  }
}

function nullIfUnavailable(error: unknown): null {
  if (!(error instanceof StoreUnavailable)) throw error
  return null
}

/** The nodes with room; without any all of them, because this one ends. */
function targetsOf(nodes: readonly Node[], facts: ReadonlyMap<string, NodeFacts>): Drain['nodes'] {
  const hasRoom = ({ id }: Node): boolean => facts.get(id)?.full.length === 0
  const free = nodes.filter((node) => node.url !== null && hasRoom(node))
  return (free.length > 0 ? free : nodes).flatMap(({ id, url }) =>
    url === null ? [] : [{ url, region: facts.get(id)?.region ?? '' }],
  )
}

/** Empty: clients have no address for it. */
function addressOf({ id, url }: Node, facts: ReadonlyMap<string, NodeFacts>): NodeAddress[] {
  const { rtmpPort = null, rtmpsPort = null } = facts.get(id) ?? {}
  return url === null ? [] : [{ url, rtmpPort, rtmpsPort }]
}

const isPublisher = ({ session }: ActiveSession): boolean => session.action === 'publish'

/** It has to connect again; players over HLS follow a redirect. */
const isConnectedViewer = ({ session }: ActiveSession): boolean =>
  session.action === 'view' && PROTOCOL_FACTS[session.protocol].connectsLater

function askPublisher({ standing }: ActiveSession, move: Move): void {
  if (standing?.askToMove === undefined) return
  standing.isAskedToMove = true
  standing.askToMove(move)
}
