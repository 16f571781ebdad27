import { repeat, type Repetition } from '../../base/repeat.ts'
import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import { type Drain, followersAtOnce, isPublisherDue, type MovePlan, planMoves } from '../../core/nodes/drain.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import { type Node, StoreUnavailable } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { endSession } from '../sessions/close.ts'

const LOOK_MS = 250
const NODES_MS = 1_000
/** A drain begins without the store if that does not answer for so long. */
const FIRST_READ_MS = 1_000
/** So long before a publisher is cut, it is asked to go by itself. */
const ASKED_BEFORE_MS = 5_000
/** Players over HLS still fetch pieces that their last playlist from here names, and learn where the stream goes on. */
const TAIL_MS = 3_000

/** A player of a channel asks for a playlist within this time. It has no session that would show it. */
const CHANNEL_VIEWER_MS = 30_000

/** Drains this node, once it is asked to. */
export class NodeDrain {
  /** Resolves when the node has nothing left, or its time is up: then it has to stop. Never rejects. */
  readonly over: Promise<void>
  readonly #ctx: SessionContext
  readonly #drainMs: () => number
  #isOver: () => void = () => undefined
  #looking: Repetition | null = null
  /** When the other nodes were read, and when the last publisher was moved; monotonic milliseconds. */
  #readAtMs = Number.NEGATIVE_INFINITY
  #movedAtMs = Number.NEGATIVE_INFINITY
  /** The address of this node; null: not known. */
  #url: string | null = null
  /** Publishers that were asked to move, by session. */
  readonly #asked = new Set<string>()
  /** Unknown is yes. */
  #hasPeers = true
  #nodeUrls: readonly string[] = []
  #viewers = 0
  #begun: Promise<void> | null = null

  /** @param drainMs read when it begins */
  constructor(ctx: SessionContext, drainMs: () => number) {
    this.#ctx = ctx
    this.#drainMs = drainMs
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
    const [beganAtMs, drainMs] = [clock.monotonic(), this.#drainMs()]
    sessions.drain = { beganAtMs, drainMs, plan: this.#plan(drainMs), nodeUrls: this.#nodeUrls }
    this.#viewers = sessions.all().filter(isConnectedViewer).length
    log.info({ sessions: sessions.size, seconds: drainMs / 1000 }, 'this node drains: it takes nothing new')
    this.#looking = repeat({ ...this.#ctx, name: 'drain this node', everyMs: LOOK_MS }, () => this.#look())
  }

  stop(): Promise<void> {
    return this.#looking?.stop() ?? Promise.resolve()
  }

  #plan(drainMs: number): MovePlan {
    const { sessions, random, clock } = this.#ctx
    const all = sessions.all()
    const publishers = all.filter(isPublisher).map(({ session }) => session.id)
    const hasChannelViewers = clock.now() - sessions.counts.channelsSentAtMs < CHANNEL_VIEWER_MS
    const hasHlsViewers = hasChannelViewers || all.some((entry) => !isPublisher(entry) && !isConnectedViewer(entry))
    return planMoves({ publishers, hasHlsViewers }, drainMs, () => random.bytes(4).readUInt32BE() / 2 ** 32)
  }

  async #look(): Promise<'done' | void> {
    const { sessions, clock, log } = this.#ctx
    await this.#readNodes()
    const { drain } = sessions
    if (drain === null) return
    const nowMs = clock.monotonic()
    if (this.#hasPeers && nowMs - drain.beganAtMs < drain.drainMs && this.#moves(drain, nowMs)) return
    log.info({ sessions: sessions.size }, 'this node has drained')
    this.#isOver()
    return 'done'
  }

  /** Moves what is due. False: nothing is left to move. */
  #moves(drain: Drain, nowMs: number): boolean {
    const open = this.#ctx.sessions.all().filter(({ ending }) => ending === null)
    const publishers = open.filter(isPublisher)
    for (const entry of publishers) {
      if (isPublisherDue(drain, entry.session.id, nowMs + ASKED_BEFORE_MS)) this.#askToMove(drain, entry)
      if (!isPublisherDue(drain, entry.session.id, nowMs)) continue
      this.#movedAtMs = nowMs
      void endSession(this.#ctx, entry, 'moved')
    }
    const whep = open.filter(isConnectedViewer)
    const following = whep.filter((entry) => this.#isRemote(entry)).slice(0, followersAtOnce(this.#viewers, LOOK_MS))
    for (const entry of following) void endSession(this.#ctx, entry, 'moved')
    const isHlsLeft = nowMs - drain.beganAtMs < drain.plan.hlsUntilMs + (drain.plan.hlsUntilMs > 0 ? TAIL_MS : 0)
    const isTail = nowMs - this.#movedAtMs < TAIL_MS
    return publishers.length + whep.length > 0 || isHlsLeft || isTail
  }

  #askToMove({ nodeUrls }: Drain, { session, standing }: ActiveSession): void {
    if (this.#asked.has(session.id)) return
    this.#asked.add(session.id)
    const to = nodeUrls[this.#ctx.random.bytes(1).readUInt8() % nodeUrls.length] ?? null
    standing?.askToMove?.({ from: this.#url, to })
  }

  /** Whether what the viewer watches is on the air at another node, and no longer here. */
  #isRemote({ session: { accountId, streamName, sourceId } }: ActiveSession): boolean {
    const { sessions } = this.#ctx
    if (sessions.feed(accountId, streamName, sourceId) !== undefined) return false
    return sessions.remote(accountId, streamName, sourceId) !== undefined
  }

  async #readFirst(): Promise<void> {
    const over = new AbortController()
    const late = this.#ctx.clock.sleep(FIRST_READ_MS, over.signal).catch(() => undefined)
    await Promise.race([this.#readNodes(), late])
    over.abort()
  }

  /** Where sessions can go. Without the store it is what was read last, and the node still ends in time. */
  async #readNodes(): Promise<void> {
    const { store, sessions, clock } = this.#ctx
    if (clock.monotonic() - this.#readAtMs < NODES_MS) return
    const nodes = await store.read.nodes.list().catch(nullIfUnavailable)
    if (nodes === null) return
    this.#readAtMs = clock.monotonic()
    const taking = nodes.filter((node) => node.id !== sessions.node && takesSessions(node))
    this.#hasPeers = taking.length > 0
    this.#url = nodes.find(({ id }) => id === sessions.node)?.url ?? null
    this.#nodeUrls = taking.flatMap(({ url }) => (url === null ? [] : [url]))
    if (sessions.drain !== null) sessions.drain = { ...sessions.drain, nodeUrls: this.#nodeUrls }
  }
}

function nullIfUnavailable(error: unknown): null {
  if (!(error instanceof StoreUnavailable)) throw error
  return null
}

const takesSessions = ({ isExpired, drainingSinceMs }: Node): boolean => !isExpired && drainingSinceMs === null

const isPublisher = ({ session }: ActiveSession): boolean => session.action === 'publish'

/** It has to connect again; players over HLS follow a redirect. */
const isConnectedViewer = ({ session }: ActiveSession): boolean =>
  session.action === 'view' && PROTOCOL_FACTS[session.protocol].connectsLater
