import { timeOrderedId } from '../../base/ids.ts'
import type { Node } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { endSession, tellEnd, writeLateEnds } from './close.ts'
import { writeBytes } from './count.ts'
import { endKicked, lookElsewhere, recheckLate } from './revoke.ts'

export interface NodeOptions {
  /** The same at each start of this machine with this data directory, and at no other. */
  readonly place: string
  readonly pid: number
  /** Where clients reach it; null: nobody is sent here. */
  readonly url: string | null
  /** Is this process of the same place running? */
  readonly isRunning: (pid: number) => boolean
  /** How long this node is believed to be alive after its last sign of life. */
  readonly leaseMs: number
}

export interface ServingNode {
  /** A sign of life; writes what was counted; ends what is to be ended. Every few seconds. */
  tend(): Promise<void>
  /** Gives up nodes that are dead, with their sessions and feeds. */
  sweep(): Promise<void>
  /** Ends every session, then leaves. Idempotent. */
  stop(): Promise<void>
}

/** Begins to hold sessions. What earlier processes of this place left open is ended with the last time known. */
export async function startNode(ctx: Context, options: NodeOptions): Promise<ServingNode> {
  await sweepDead(ctx, options)
  await register(ctx, options)
  let stopped: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    await endAll(ctx, 'shutdown')
    await leave(ctx)
  }
  return {
    tend: () => tend(ctx, options),
    sweep: () => sweepDead(ctx, options),
    stop: () => (stopped ??= stop()),
  }
}

async function register(ctx: Context, { place, pid, leaseMs, url }: NodeOptions): Promise<void> {
  const nowMs = ctx.clock.now()
  const id = timeOrderedId(nowMs, ctx.random)
  const node: Node = { id, place, pid, seenAtMs: nowMs, aliveUntilMs: nowMs + leaseMs, url }
  await ctx.store.transaction((tx) => tx.nodes.insert(node))
  ctx.live.node = id
}

async function tend(ctx: Context, options: NodeOptions): Promise<void> {
  const nowMs = ctx.clock.now()
  const alive = await ctx.store.transaction((tx) => tx.nodes.beat(ctx.live.node, nowMs, nowMs + options.leaseMs))
  if (!alive) await startAnew(ctx, options)
  await writeBytes(ctx)
  await recheckLate(ctx)
  await endKicked(ctx)
  await lookElsewhere(ctx)
}

/** Others took this node for dead and ended its sessions on record, so that they must end here as well. */
async function startAnew(ctx: Context, options: NodeOptions): Promise<void> {
  ctx.log.error({ node: ctx.live.node }, 'this process was taken for dead: its sessions are ended')
  await endAll(ctx, 'lost')
  await register(ctx, options)
}

async function endAll(ctx: Context, reason: string): Promise<void> {
  await Promise.all(ctx.live.all().map((entry) => endSession(ctx, entry, reason)))
  await writeLateEnds(ctx)
}

/** Nothing of this node is open any more, or what is could not be written and is given up with it. */
async function leave(ctx: Context): Promise<void> {
  const { node } = ctx.live
  ctx.live.node = ''
  if (ctx.live.leaving.size > 0) return
  await ctx.store.transaction((tx) => tx.nodes.delete(node))
}

async function sweepDead(ctx: Context, options: NodeOptions): Promise<void> {
  const nowMs = ctx.clock.now()
  for (const node of await ctx.store.read.nodes.list()) {
    if (node.id !== ctx.live.node && isDead(node, options, nowMs)) await giveUp(ctx, node)
  }
}

function isDead(node: Node, { place, pid, isRunning }: NodeOptions, nowMs: number): boolean {
  if (node.aliveUntilMs < nowMs) return true
  // At our own place it can be known at once. A process of our own number is an earlier life of ours.
  return node.place === place && (node.pid === pid || !isRunning(node.pid))
}

/** All in one transaction, so that every feed has one end, whoever sweeps and however often. */
async function giveUp(ctx: Context, node: Node): Promise<void> {
  const ended = await ctx.store.transaction(async (tx) => {
    if (!(await tx.nodes.lockDead(node))) return null
    const feeds = await tx.feeds.endOfNode(node.id, node.seenAtMs)
    for (const { endedAtMs, ...feed } of feeds) await tellEnd(tx, feed, endedAtMs)
    const sessions = await tx.sessions.endOfNode(node.id, node.seenAtMs, 'lost')
    await tx.nodes.delete(node.id)
    return { feeds: feeds.length, sessions }
  })
  if (ended) ctx.log.warn({ node: node.id, ...ended }, 'a process that is gone was swept up after')
}
