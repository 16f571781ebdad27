import { allInTurn } from '../../../base/allEnded.ts'
import { CLOCK_SKEW_MS } from '../../../base/time.ts'
import type { Cause } from '../../../core/channels/runs/engine.ts'
import type { Engine } from '../../../core/channels/types.ts'
import { advance, forgetAhead } from '../../../core/channels/schedules/advance.ts'
import { planOf } from '../../../core/channels/schedules/plan.ts'
import type { ChannelEventName } from '../../../core/channels/webhooks/events.ts'
import type { Scheduler, Tx } from '../../../store/store.ts'
import type { ChannelContext } from '../../context.ts'
import { startOrStop } from '../runs/start.ts'
import { type LockedChannel, lockEngines } from '../runs/step.ts'
import { emitChannelEvents } from '../webhooks/emit.ts'

/** Schedulers that are read at a time. */
const AT_ONCE = 50
/** More are put right by the next run. */
const AHEAD_MAX = 10_000

/**
 * Begins and ends due occurrences. Any number of nodes may run it at once: each scheduler's row stays locked while its
 * engines start. So one node acts, and the others find nothing to do. One that fails keeps none of those after it. Rejects
 * then, as the first that failed.
 */
export async function runSchedulers(ctx: ChannelContext): Promise<void> {
  let due: { accountId: string; id: string }[]
  do {
    due = await ctx.store.read.schedulers.due(ctx.clock.now(), AT_ONCE)
    await allInTurn(due.map((one) => () => runScheduler(ctx, one)))
  } while (due.length === AT_ONCE)
}

async function runScheduler(
  ctx: ChannelContext,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<void> {
  await ctx.store.transaction(async (tx) => {
    const scheduler = await tx.schedulers.lock(accountId, id)
    if (scheduler) await caughtUp(ctx, tx, scheduler)
  })
  ctx.channelChanged({ kind: 'scheduler', what: 'updated', accountId, id })
}

/**
 * Makes schedulers begin at their times again after the clock was ahead and has been put back: `forgetAhead` of each. Rejects as
 * `runSchedulers`.
 */
export async function putSchedulersRight(ctx: ChannelContext): Promise<void> {
  const ahead = await ctx.store.read.schedulers.seenBeyond(ctx.clock.now() + CLOCK_SKEW_MS, AHEAD_MAX)
  await allInTurn(ahead.map((one) => () => putRight(ctx, one)))
}

async function putRight(
  ctx: ChannelContext,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<void> {
  await ctx.store.transaction(async (tx) => {
    const scheduler = await tx.schedulers.lock(accountId, id)
    if (!scheduler) return
    const [plan, nowMs] = [planOf(scheduler), ctx.clock.now()]
    const right = plan.ok ? forgetAhead(plan.value, scheduler, nowMs) : null
    if (right === null) return
    ctx.log.warn({ scheduler: id }, 'the clock was ahead: what a scheduler saw of that time is forgotten')
    await tx.schedulers.unskip(id, nowMs)
    await tx.schedulers.replace({ ...scheduler, ...right.state, nextAtMs: right.nextMs })
  })
}

/** Begins and ends what is due of a scheduler, which is locked. @returns the scheduler after that */
export async function caughtUp(ctx: ChannelContext, tx: Tx, scheduler: Scheduler): Promise<Scheduler> {
  const { id } = scheduler
  const nowMs = ctx.clock.now()
  if (scheduler.nextAtMs === null || scheduler.nextAtMs > nowMs) return scheduler
  const plan = planOf(scheduler)
  if (!plan.ok) {
    // The scheduler was valid when it was written; the time zone may since be gone from the tz database.
    ctx.log.warn({ scheduler: id, problems: plan.error }, 'a scheduler is no longer valid and stays stopped')
    const stopped = { ...scheduler, nextAtMs: null }
    await tx.schedulers.replace(stopped)
    return stopped
  }
  const { state, steps, skipped, nextMs } = advance(plan.value, scheduler.enabled, scheduler, nowMs)
  const after = { ...scheduler, ...state, nextAtMs: nextMs }
  await tx.schedulers.replace(after)
  const reason = scheduler.enabled ? 'the server was not running' : 'the scheduler was disabled'
  await tx.schedulers.skip(skipped.map((one) => ({ ...one, schedulerId: id, atMs: nowMs, reason })))
  for (const { do: what, occurrence } of steps) {
    if (what === 'end') await endOccurrence(ctx, tx, after)
    else if ((await beginOccurrence(ctx, tx, after)) === 0) {
      ctx.log.warn({ scheduler: id }, `a scheduler started nothing: ${NOTHING_READY}`)
      await tx.schedulers.skip([{ ...occurrence, schedulerId: id, atMs: nowMs, reason: NOTHING_READY }])
    }
  }
  if (after.status === 'terminated') await emitSchedulerEvent(ctx, tx, after, 'scheduler.terminated')
  return after
}

/** Why an active scheduler starts nothing. */
const NOTHING_READY = 'none of its channels has an engine with an ingest'

/** Why a scheduler would start nothing now; null if it would start something. */
export async function nothingToBegin(tx: Tx, scheduler: Scheduler): Promise<string | null> {
  let isReady = false
  await onChannels(tx, scheduler, async (_of, engines) => {
    isReady ||= engines.some(({ ingestId }) => ingestId !== null)
  })
  return isReady ? null : NOTHING_READY
}

/**
 * Starts the engines that the scheduler names, and emits the event. Skips channels and engines that no longer exist.
 * @returns the number of engines that could be started
 */
export async function beginOccurrence(ctx: ChannelContext, tx: Tx, scheduler: Scheduler): Promise<number> {
  let count = 0
  await onChannels(tx, scheduler, async (of, engines) => {
    const ready = engines.filter(({ ingestId }) => ingestId !== null)
    count += ready.length
    await startOrStop(ctx, tx, of, ready, { kind: 'start', cause: causeOf(scheduler) })
  })
  const data = count === 0 ? { message: NOTHING_READY } : null
  await emitSchedulerEvent(ctx, tx, scheduler, 'scheduler.active', data)
  return count
}

/**
 * Stops the engines that schedulers started, unless another active scheduler names them. Engines that a user started
 * continue, even if a scheduler had started them before.
 */
export async function endOccurrence(ctx: ChannelContext, tx: Tx, scheduler: Scheduler): Promise<void> {
  await onChannels(tx, scheduler, async (of, engines) => {
    const mine: Engine[] = []
    for (const engine of engines) {
      if (!(await wasScheduled(tx, of.states.get(engine.id)?.runId ?? null))) continue
      // With the channel locked: of schedulers that end at once, the last one sees that the others have ended.
      if (!(await tx.schedulers.isWantedByOther(scheduler, engine))) mine.push(engine)
    }
    await startOrStop(ctx, tx, of, mine, { kind: 'stop', cause: causeOf(scheduler) })
  })
}

const causeOf = ({ id, name }: Scheduler): Cause => ({ type: 'scheduler', id, name })

async function onChannels(
  tx: Tx,
  { accountId, channels }: Scheduler,
  work: (of: LockedChannel, engines: readonly Engine[]) => Promise<void>,
): Promise<void> {
  // Every transaction locks channels in the same order, to avoid deadlocks.
  const targets = [...channels].sort((a, b) => (a.channelId < b.channelId ? -1 : 1))
  for (const { channelId, engineIds } of targets) {
    const of = await lockEngines(tx, accountId, channelId)
    if (of) await work(of, engineIds ? of.engines.filter(({ id }) => engineIds.includes(id)) : of.engines)
  }
}

async function wasScheduled(tx: Tx, runId: string | null): Promise<boolean> {
  const run = runId === null ? undefined : await tx.runs.get(runId)
  return run?.start.type === 'scheduler' && run.keptBy === null
}

export function emitSchedulerEvent(
  { clock }: Pick<ChannelContext, 'clock'>,
  tx: Tx,
  { id, accountId, name }: Scheduler,
  event: Extract<ChannelEventName, `scheduler.${string}`>,
  data: { readonly message: string } | null = null,
): Promise<void> {
  const on = { accountId, atMs: clock.now() }
  return emitChannelEvents(tx, on, { name: event, object: { type: 'scheduler', id, name }, data })
}
