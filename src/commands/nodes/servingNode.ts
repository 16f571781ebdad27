import { timeOrderedId } from '../../base/ids.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { Leases, Node, NewNode, NodeFacts, Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { endSession, noteFeeds, emitEnds, writeLateEnds } from '../sessions/close.ts'
import { writeCounts } from '../sessions/count.ts'
import { endKicked, readStaleFeeds, recheckLate } from '../sessions/revoke.ts'
import { settleSpares } from '../sessions/spares.ts'
import { writeUsage } from '../sessions/writeUsage.ts'

export interface NodeOptions {
  /** Host key: the same at each start on this machine with this data directory, and unique to them. */
  readonly hostKey: string
  readonly pid: number
  /** The public URL of this node; null: other nodes redirect no viewers to it. */
  readonly url: string | null
  /** Whether this process of the same host is running. */
  readonly isRunning: (pid: number) => boolean
  /** How long after a renewal other nodes consider this node's lease valid. */
  readonly leaseMs: number
  /** Renews the lease, independently of what is written here. */
  readonly leases: Leases
  /** What this node says of itself now. */
  readonly facts: () => NodeFacts
}

export interface ServingNode {
  /** Writes the counted bytes whose turn it is, if it is called every `everyMs`; without it all of them. */
  count(everyMs?: number): Promise<void>
  /** Ends sessions that were asked to end, and repeats what failed. Call it every few seconds. */
  reconcile(): Promise<void>
  /** Reads all feeds of other nodes, although changes are read as they come. Call it once a minute. */
  check(): Promise<void>
  /** Writes what this node says of itself. Call it every few seconds. */
  report(): Promise<void>
  /** Gives up dead nodes, with their sessions and feeds. */
  sweep(): Promise<void>
  /** Does what one node does for all, if this is the one: of those that are alive it registered first. */
  forAll(work: () => Promise<unknown>): Promise<void>
  /** Ends every session, then removes this node. Idempotent. */
  stop(): Promise<void>
}

/** Starts to serve sessions. Sessions that earlier processes of this host left open end at their last known time. */
export async function startNode(ctx: SessionContext, options: NodeOptions): Promise<ServingNode> {
  const node = new HoldingNode(ctx, options)
  await node.sweep()
  await node.register()
  return node
}

/** Sessions that one transaction ends, and rows of usage that it adds to the sums, when their node has gone. */
const AT_ONCE = 2_000

class HoldingNode implements ServingNode {
  readonly #ctx: SessionContext
  readonly #options: NodeOptions
  #isLost = false
  /** The last renewal of its lease, monotonic milliseconds; null: there was none since it registered. */
  #renewedAtMs: number | null = null
  /** The begin of the last round of counting. */
  #countedAtMs: number
  #restarting: Promise<void> | null = null
  #stopped: Promise<void> | null = null

  constructor(ctx: SessionContext, options: NodeOptions) {
    this.#ctx = ctx
    this.#options = options
    this.#countedAtMs = ctx.clock.monotonic()
  }

  async register(): Promise<void> {
    const { hostKey, pid, leaseMs, url, leases, facts } = this.#options
    const id = timeOrderedId(this.#ctx.clock.now(), this.#ctx.random)
    const node: NewNode = { id, hostKey, pid, url }
    await this.#ctx.store.transaction(async (tx) => {
      await tx.nodes.insert(node, leaseMs)
      await tx.nodes.setKey(id, this.#ctx.sealer.keyId)
      await tx.nodes.insertFacts(id, facts())
      if (this.#ctx.sessions.drain !== null) await tx.nodes.drain(id)
    })
    this.#ctx.sessions.node = id
    this.#ctx.sessions.usage.restart()
    this.#isLost = false
    this.#ctx.sessions.leaseRenewedAtMs = this.#ctx.clock.monotonic()
    this.#renewedAtMs = null
    leases.keep(
      { kind: 'node', id, leaseMs },
      () => this.#lost(),
      () => this.#renewed(),
    )
  }

  count(everyMs = Number.POSITIVE_INFINITY): Promise<void> {
    const nowMs = this.#ctx.clock.monotonic()
    // Rounds are further apart when they take long.
    const passedMs = Math.max(everyMs, nowMs - this.#countedAtMs)
    this.#countedAtMs = nowMs
    return writeCounts(this.#ctx, passedMs)
  }

  async reconcile(): Promise<void> {
    if (this.#isLost) await this.#restart()
    void writeLateEnds(this.#ctx)
    await recheckLate(this.#ctx)
    await endKicked(this.#ctx)
    await readStaleFeeds(this.#ctx, settleSpares)
  }

  check(): Promise<void> {
    this.#ctx.sessions.feeds.stale.addAll()
    return readStaleFeeds(this.#ctx, settleSpares)
  }

  async report(): Promise<void> {
    const { node } = this.#ctx.sessions
    if (this.#isLost || node === '') return
    await this.#ctx.store.transaction((tx) => tx.nodes.setLoad(node, this.#options.facts()))
  }

  async sweep(): Promise<void> {
    for (const node of await this.#ctx.store.read.nodes.doubtful(this.#options.hostKey)) {
      if (node.id !== this.#ctx.sessions.node) await this.#judge(node)
    }
  }

  async forAll(work: () => Promise<unknown>): Promise<void> {
    const { sessions, store } = this.#ctx
    if (sessions.node !== '' && (await store.read.nodes.isFirst(sessions.node))) await work()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await this.#restarting?.catch(() => undefined)
    await endAll(this.#ctx, 'shutdown')
    await this.#options.leases.release(this.#ctx.sessions.node)
    await leave(this.#ctx)
  }

  #renewed(): void {
    if (!this.#isRenewing) this.#ctx.time.interrupted()
    this.#renewedAtMs = this.#ctx.clock.monotonic()
    this.#ctx.sessions.leaseRenewedAtMs = this.#renewedAtMs
  }

  /** Whether the last renewal is not long ago. What keeps this node from renewing, such as a locked table, may keep all of them. */
  get #isRenewing(): boolean {
    return this.#renewedAtMs === null || this.#ctx.clock.monotonic() - this.#renewedAtMs <= this.#options.leaseMs / 2
  }

  #lost(): void {
    this.#isLost = true
    // The next `reconcile` retries a failed restart.
    this.#restart().catch((error: unknown) =>
      this.#ctx.log.warn({ err: error }, 'this node could not register again; trying again'),
    )
  }

  #restart(): Promise<void> {
    this.#restarting ??= this.#restartOnce().finally(() => {
      this.#restarting = null
    })
    return this.#restarting
  }

  /** Other nodes gave this node up and ended its sessions in the store, so they must end here as well. */
  async #restartOnce(): Promise<void> {
    if (this.#stopped) return
    const { sessions, log } = this.#ctx
    log.error({ node: sessions.node }, 'other nodes gave this node up: its sessions are ended')
    // From here on none comes, until there is an id again: others end what has the old one, and this node would not hear of it.
    sessions.node = ''
    await endAll(this.#ctx, 'lost')
    if (!this.#stopped) await this.register()
  }

  async #judge(node: Node): Promise<void> {
    const { hostKey, pid, isRunning, leaseMs } = this.#options
    // On the own host this needs no lease. A node with this process id was an earlier process.
    const isSurelyDead = node.hostKey === hostKey && (node.pid === pid || !isRunning(node.pid))
    if (isSurelyDead || (node.isExpired && this.#isRenewing && (await this.#ctx.time.isEven(leaseMs)))) {
      await giveUp(this.#ctx, node.id, isSurelyDead)
    }
  }
}

async function endAll(ctx: SessionContext, reason: SessionEndReason): Promise<void> {
  await Promise.all(ctx.sessions.all().map((entry) => endSession(ctx, entry, reason)))
  await writeLateEnds(ctx)
}

/** Removes this node from the store, unless some ends could not be written: then another node gives it up. */
async function leave(ctx: SessionContext): Promise<void> {
  const { node, leaving } = ctx.sessions
  ctx.sessions.node = ''
  // Those who came while the others ended. From here on none comes.
  await endAll(ctx, 'shutdown')
  if (leaving.size > 0) return
  await writeUsage(ctx, Number.POSITIVE_INFINITY, node)
  for (let isOver = false; !isOver; ) {
    isOver = await ctx.store.transaction(async (tx) => {
      // Another node may give this one up, because nothing renews its lease any more.
      if (!(await tx.nodes.lockShared(node))) return true
      // Also what was admitted so late that its end could not be written.
      return (await clear(tx, node, { atMs: ctx.clock.now(), reason: 'shutdown' })).isOver
    })
  }
}

/** A part of what a node has in the store, and with the last one its row. */
async function clear(
  tx: Tx,
  node: string,
  { atMs, reason }: { readonly atMs: number; readonly reason: SessionEndReason },
): Promise<{ readonly feeds: number; readonly sessions: number; readonly isOver: boolean }> {
  const feeds = await tx.feeds.endOfNode(node, atMs)
  await emitEnds(tx, ...feeds)
  await noteFeeds(tx, feeds)
  const seats = await tx.viewerSeats.freeOfNode(node, AT_ONCE)
  const sessions = await tx.sessions.endOfNode(node, { atMs, reason, limit: AT_ONCE })
  const added = await tx.usage.foldNode(node, AT_ONCE)
  const isOver = Math.max(seats, sessions, added) < AT_ONCE
  if (isOver) await tx.nodes.delete(node)
  return { feeds: feeds.length, sessions, isOver }
}

/**
 * Ends the feeds with their events and the first sessions in one transaction, so that every feed has one end, whichever
 * nodes sweep. Further transactions end the other sessions, so that none takes long. After the first one the node
 * cannot come back. Its row stays until the last, so that another node can continue if this one dies.
 */
async function giveUp(ctx: SessionContext, id: string, isSurelyDead: boolean): Promise<void> {
  const sum = { feeds: 0, sessions: 0 }
  for (let isOver = false; !isOver; ) {
    const ended = await ctx.store.transaction(async (tx) => {
      const lastSeenAtMs = await tx.nodes.giveUp(id, isSurelyDead)
      if (lastSeenAtMs === undefined) return null
      // Later, if the clock was put back after the node had died.
      const seenAtMs = Math.min(lastSeenAtMs, ctx.clock.now())
      return clear(tx, id, { atMs: seenAtMs, reason: 'lost' })
    })
    if (!ended) return
    sum.feeds += ended.feeds
    sum.sessions += ended.sessions
    isOver = ended.isOver
  }
  ctx.log.warn({ node: id, ...sum }, 'gave up a dead node and ended its sessions')
}
