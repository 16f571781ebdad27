import { claimingNode } from '../../../core/channels/runs/claims.ts'
import type { Engine } from '../../../core/channels/types.ts'
import type { EngineStateRecord, StoredEngineState, Tx } from '../../../store/store.ts'
import type { SessionContext } from '../../context.ts'
import { closeRun, type EngineContext, lockEngines, stepEngine, stepEngines } from './step.ts'

/** The process that runs engines at this node, and how it judges others. */
export interface EngineNode {
  /** The id of this process; new at each start. */
  readonly node: string
  /** True: the process with this id is gone. False: unknown or running. */
  readonly isGone: (node: string) => boolean
  /** How long after a renewal other nodes consider this node's lease valid. */
  readonly leaseMs: number
}

type AdoptionContext = EngineContext & Pick<SessionContext, 'store' | 'time'>

/**
 * Takes an engine without a node, or of a dead one, and closes the run of that node.
 * @returns false if another node runs it, or if it is deleted
 */
export async function adoptEngine(
  ctx: AdoptionContext,
  { node, leaseMs, isGone }: EngineNode,
  found: StoredEngineState,
): Promise<boolean> {
  const { engineId, accountId, channelId, node: previous } = found
  if (!(await isFree(ctx, { isGone, leaseMs }, found))) return false
  return ctx.store.transaction(async (tx) => {
    const channel = await tx.channels.lock(accountId, channelId)
    const state = await tx.engineStates.get(engineId)
    if (!state || state.node !== previous) return false
    // The lease was renewed since it was found expired.
    if (previous !== null && !state.isExpired && !isGone(previous)) return false
    if (!channel || !(await tx.engines.get(accountId, engineId))) {
      await deleteState(ctx, tx, state)
      return false
    }
    await tx.engineStates.take(engineId, node, leaseMs)
    if (previous !== null) await stepEngine(ctx, tx, state, { kind: 'lost' })
    await reopenRun(ctx, tx, state)
    return true
  })
}

async function isFree(
  { time }: AdoptionContext,
  { isGone, leaseMs }: Pick<EngineNode, 'isGone' | 'leaseMs'>,
  { node, isExpired }: StoredEngineState,
): Promise<boolean> {
  if (node === null || isGone(node)) return true
  return isExpired && (await time.isEven(leaseMs))
}

/** An engine that is still wanted starts again, for the cause of its earlier run. */
async function reopenRun(ctx: EngineContext, tx: Tx, state: EngineStateRecord): Promise<void> {
  const { accountId, engineId, runId, wanted } = state
  const engine = await tx.engines.get(accountId, engineId)
  const run = runId === null ? undefined : await tx.runs.get(runId)
  if (!wanted || engine?.status !== 'stopped' || !run) return
  await stepEngine(ctx, tx, state, { kind: 'start', cause: run.start })
  const reopened = (await tx.engineStates.get(engineId))?.runId ?? null
  if (run.keptBy !== null && reopened !== null) await tx.runs.keep(reopened, run.keptBy)
}

/**
 * Gives an engine of this node to the node of its publisher, with its open run. Its process here must have ended.
 * @returns false if this node has it no longer, if it should not run, or if its publisher is not there any more
 */
export function handOverEngine(
  ctx: EngineContext & Pick<SessionContext, 'store'>,
  { node, leaseMs }: EngineNode,
  { id, accountId, channelId }: Engine,
  to: string,
): Promise<boolean> {
  return ctx.store.transaction(async (tx) => {
    const of = await lockEngines(tx, accountId, channelId)
    const engine = of?.engines.find((one) => one.id === id)
    if (!engine?.ingestId || of?.states.get(id)?.node !== node) return false
    const claims = await tx.ingestClaims.of([engine.ingestId])
    if (claimingNode(claims.get(engine.ingestId)) !== to) return false
    const effects = await stepEngines(ctx, tx, of, [engine], { kind: 'moved' })
    if (effects.length === 0) return false
    await tx.engineStates.take(id, to, leaseMs)
    return true
  })
}

/** Leaves a stopped engine of this node to any node. One that a user starts meanwhile stays wanted, with its new run. */
export async function releaseEngine(
  ctx: EngineContext & Pick<SessionContext, 'store'>,
  node: string,
  { engineId, accountId, channelId }: StoredEngineState,
): Promise<void> {
  await ctx.store.transaction(async (tx) => {
    await tx.channels.lock(accountId, channelId)
    const state = await tx.engineStates.get(engineId)
    if (state?.node !== node) return
    const exists = await tx.engines.get(accountId, engineId)
    if (exists) await tx.engineStates.put({ ...state, node: null })
    else await deleteState(ctx, tx, state)
  })
}

/** Closes everything that a deleted engine left open. */
async function deleteState(ctx: EngineContext, tx: Tx, state: EngineStateRecord): Promise<void> {
  if (state.runId) await closeRun(ctx, tx, state.runId, { type: 'error', id: '' }, { kind: 'ended' })
  await tx.engineStates.delete(state.engineId)
}
