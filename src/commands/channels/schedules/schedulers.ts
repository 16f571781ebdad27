import { err, ok, type Result } from '../../../base/result.ts'
import { isoTime } from '../../../base/time.ts'
import { type ChannelFailure, noSuch, refusal, validationFailed } from '../../../core/channels/errors.ts'
import type { FieldErrors } from '../../../core/errors.ts'
import { beginByHand, endByHand, reconcile, seenAfterEdit } from '../../../core/channels/schedules/advance.ts'
import {
  nextOccurrence,
  occurrencesFrom,
  type SchedulePlan,
  type Timing,
} from '../../../core/channels/schedules/plan.ts'
import {
  comingPlan,
  futurePlan,
  readCreateScheduler,
  readSchedulerQuery,
  readUpdateScheduler,
  type SchedulerRules,
  validPlan,
  type ScheduleTarget,
} from '../../../core/channels/schedules/requests.ts'
import type { Channel } from '../../../core/channels/types.ts'
import type { SchedulerRecord } from '../../../core/channels/schedules/schema.ts'
import { startSame } from '../../../core/channels/schedules/targets.ts'
import type { Scheduler, SchedulerSort, SkippedOccurrence, Tx } from '../../../store/store.ts'
import { hasRoom } from '../../accounts/accounts.ts'
import type { Actor, ChannelContext } from '../../context.ts'
import type { KeysetPage } from '../../pages.ts'
import { type ChannelResult, checked, isId, channelPage, newId, recordChanges } from '../channelCommand.ts'
import { beginOccurrence, caughtUp, endOccurrence, nothingToBegin, emitSchedulerEvent } from './occurrences.ts'

const SCHEDULERS_MAX = 1000
const SKIPS_SHOWN = 20

/** What an operator may choose for a new scheduler, and a client of the API may not. */
interface ChosenScheduler {
  readonly id?: string | undefined
  /** Refuses timings; by default those that do not begin in the future. */
  readonly planFor?: (timing: Timing, nowMs: number) => Result<SchedulePlan, FieldErrors>
}

/** Creates a scheduler. */
export async function createScheduler(
  ctx: ChannelContext,
  actor: Actor,
  body: unknown,
  { id = newId(ctx, 'sc'), planFor = futurePlan }: ChosenScheduler = {},
): ChannelResult<SchedulerRecord> {
  const nowMs = ctx.clock.now()
  const read = checked(readCreateScheduler(body, (timing) => planFor(timing, nowMs)))
  if (!read.ok) return read
  const { rules, plan } = read.value
  const { state, nextMs: nextAtMs } = reconcile(plan, { occurrence: null, seenUntilMs: nowMs })
  const times = { nextAtMs, createdAtMs: nowMs, updatedAtMs: nowMs }
  const { accountId } = actor
  const scheduler = { ...rules, ...state, ...times, id, accountId }
  return ctx.store.transaction(async (tx): ChannelResult<SchedulerRecord> => {
    if (!(await hasRoom(tx, accountId, SCHEDULERS_MAX, () => tx.schedulers.count(accountId))))
      return err(refusal('too_many', `There are ${SCHEDULERS_MAX} schedulers, the most`))
    const targets = await checkTargets(tx, accountId, rules.channels)
    if (!targets.ok) return targets
    await tx.schedulers.insert(scheduler)
    await recordChanges(ctx, tx, actor, { object: objectOf(scheduler), verb: 'created', after: rules })
    return ok(schedulerRecord(scheduler))
  })
}

export async function readScheduler(
  ctx: ChannelContext,
  accountId: string,
  id: string,
): ChannelResult<SchedulerRecord> {
  const scheduler = isId(id) ? await ctx.store.read.schedulers.get(accountId, id) : undefined
  if (!scheduler) return err(noSuch('scheduler', id))
  return ok(schedulerRecord(scheduler, await ctx.store.read.schedulers.skips(id, SKIPS_SHOWN)))
}

/** Fields that say when a scheduler starts. */
const STARTS = ['startDate', 'startTime', 'timeZone'] as const
/** Fields that belong to the current occurrence. */
const LOCKED = [...STARTS, 'channels'] as const

/** Edits a scheduler. The current occurrence keeps its start and its channels; a finished one cannot be edited. */
export async function updateScheduler(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<SchedulerRecord> {
  const patch = checked(readUpdateScheduler(body))
  if (!patch.ok) return patch
  const nowMs = ctx.clock.now()
  const { channels } = patch.value
  return ctx.store.transaction((tx) => {
    const work = async (before: Scheduler): ChannelResult<SchedulerRecord> => {
      const edited = edit(before, patch.value, nowMs)
      if (!edited.ok) return edited
      const targets = channels ? await checkTargets(tx, actor.accountId, channels) : ok(true)
      if (!targets.ok) return targets
      await tx.schedulers.replace(edited.value)
      const states = { before: rulesOf(before), after: rulesOf(edited.value) }
      await recordChanges(ctx, tx, actor, { object: objectOf(edited.value), verb: 'updated', ...states })
      if (edited.value.status === 'terminated') await emitSchedulerEvent(ctx, tx, edited.value, 'scheduler.terminated')
      return ok(schedulerRecord(edited.value))
    }
    return withScheduler(ctx, tx, actor.accountId, id, work, channels)
  })
}

function edit(before: Scheduler, patch: Partial<SchedulerRules>, nowMs: number): Result<Scheduler, ChannelFailure> {
  if (before.status === 'terminated') return err(isOver(before))
  const after = { ...before, ...patch, updatedAtMs: nowMs }
  const active = before.status === 'active'
  const changed = changedOf(before, patch)
  const otherKind = (after.recurrence === null) !== (before.recurrence === null)
  if (active && (changed.length > 0 || otherKind)) {
    const fields = [...changed, ...(otherKind ? ['recurrence'] : [])].join(', ')
    return err(refusal('scheduler_active', `The scheduler "${before.name}" is active; stop it to change ${fields}`))
  }
  const plan = planOfEdit(after, changed, nowMs)
  if (!plan.ok) return err(validationFailed(plan.error))
  const occurrence = before.occurrence && sameOccurrence(plan.value, before.occurrence)
  const planBefore = validPlan(before)
  const plans = { before: planBefore.ok ? planBefore.value : null, after: plan.value }
  const seenUntilMs = seenAfterEdit(plans, before.seenUntilMs, nowMs)
  const { state, nextMs } = reconcile(plan.value, { occurrence, seenUntilMs })
  return ok({ ...after, ...state, nextAtMs: nextMs })
}

/** The start of a recurrence may be over. It begins at another time, or in another zone, from its next occurrence on. */
function planOfEdit(
  after: Timing,
  changed: readonly (keyof Timing | 'channels')[],
  nowMs: number,
): Result<SchedulePlan, FieldErrors> {
  if (!STARTS.some((field) => changed.includes(field))) return validPlan(after)
  const isUnderWay = after.recurrence !== null && !changed.includes('startDate')
  return isUnderWay ? comingPlan(after, nowMs) : futurePlan(after, nowMs)
}

/** Clients send fields back as they read them, which changes nothing. */
function changedOf(before: Scheduler, patch: Partial<SchedulerRules>): (typeof LOCKED)[number][] {
  const { channels } = patch
  const times = STARTS.filter((field) => patch[field] !== undefined && patch[field] !== before[field])
  return channels === undefined || startSame(channels, before.channels) ? times : [...times, 'channels']
}

/** The current occurrence with its present end. */
function sameOccurrence(
  plan: SchedulePlan,
  now: NonNullable<Scheduler['occurrence']>,
): NonNullable<Scheduler['occurrence']> {
  for (const one of occurrencesFrom(plan, now.startMs)) {
    if (one.startMs === now.startMs) return one
    if (one.startMs > now.startMs) break
  }
  return now
}

/** Deletes a scheduler that is not active. */
export function deleteScheduler(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return ctx.store.transaction((tx) =>
    withScheduler(ctx, tx, actor.accountId, id, async (before): ChannelResult<true> => {
      if (before.status === 'active') return err(isActive(before, 'stop it first'))
      await tx.schedulers.delete(id)
      await recordChanges(ctx, tx, actor, { object: objectOf(before), verb: 'deleted', before: rulesOf(before) })
      return ok(true)
    }),
  )
}

/** Begins the next occurrence now. Its end does not change. */
export async function startScheduler(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  const nowMs = ctx.clock.now()
  const done = await ctx.store.transaction((tx) =>
    withScheduler(ctx, tx, actor.accountId, id, async (before): ChannelResult<true> => {
      if (before.status === 'active') return err(isActive(before, 'it was started already'))
      if (before.status === 'terminated') return err(isOver(before))
      const plan = validPlan(before)
      if (!plan.ok) return err(validationFailed(plan.error))
      const nothing = await nothingToBegin(tx, before)
      if (nothing !== null) return err(refusal('engine_not_ready', `There is nothing to start: ${nothing}`))
      const { state, nextMs } = beginByHand(plan.value, before, nowMs)
      const after = { ...before, ...state, nextAtMs: nextMs }
      await tx.schedulers.replace(after)
      await recordChanges(ctx, tx, actor, { object: objectOf(after), verb: 'start' })
      await beginOccurrence(ctx, tx, after)
      return ok(true)
    }),
  )
  if (done.ok) wake(ctx, actor, id)
  return done
}

/** Ends the current occurrence. The scheduler continues with the next one. */
export async function stopScheduler(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  const nowMs = ctx.clock.now()
  const done = await ctx.store.transaction((tx) =>
    withScheduler(ctx, tx, actor.accountId, id, async (before): ChannelResult<true> => {
      if (before.status !== 'active') {
        return err(refusal('scheduler_not_active', `The scheduler "${before.name}" is ${before.status}, not active`))
      }
      const plan = validPlan(before)
      if (!plan.ok) return err(validationFailed(plan.error))
      const { state, nextMs } = endByHand(plan.value, before, nowMs)
      const after = { ...before, ...state, nextAtMs: nextMs }
      await tx.schedulers.replace(after)
      await recordChanges(ctx, tx, actor, { object: objectOf(after), verb: 'stop' })
      if (after.status === 'terminated') await emitSchedulerEvent(ctx, tx, after, 'scheduler.terminated')
      await endOccurrence(ctx, tx, after)
      return ok(true)
    }),
  )
  if (done.ok) wake(ctx, actor, id)
  return done
}

/** One page of schedulers: newest first, or as `sortBy` says. */
export async function listSchedulers(
  ctx: ChannelContext,
  accountId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<SchedulerRecord>> {
  const read = readSchedulerQuery(query)
  if (!read.ok) return read
  const { limit, cursor, filters } = read.value
  const sortBy: SchedulerSort = filters.sortBy ?? 'createdAt'
  const { status: statuses, channelId, sortDirection = sortBy === 'createdAt' ? 'desc' : 'asc' } = filters
  const filter = { ...(statuses ? { statuses } : {}), ...(channelId ? { channelId } : {}) }
  const selection = { accountId, sortBy, descending: sortDirection === 'desc', ...filter }
  const page = await channelPage(ctx, {
    scope: { list: 'schedulers', filters: { accountId, sortBy, sortDirection, status: statuses?.join(), channelId } },
    limit,
    cursor,
    keyOf: (row: Scheduler) => [sortKey(row, sortBy), row.id],
    read: ([key, id], count) =>
      ctx.store.read.schedulers.page({
        ...selection,
        limit: count,
        ...(key !== undefined && key !== null && typeof id === 'string' ? { after: { key, id } } : {}),
      }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map((row) => schedulerRecord(row)) }) : page
}

const sortKey = (row: Scheduler, by: SchedulerSort): string | number => (by === 'createdAt' ? row.createdAtMs : row[by])

/**
 * What is due of the scheduler happens first: a change in the second of a start would leave that start out.
 * @param targets those that the change locks
 */
async function withScheduler<T>(
  ctx: ChannelContext,
  tx: Tx,
  accountId: string,
  id: string,
  work: (scheduler: Scheduler) => ChannelResult<T>,
  targets: readonly ScheduleTarget[] = [],
): ChannelResult<T> {
  const scheduler = isId(id) ? await tx.schedulers.lock(accountId, id) : undefined
  if (!scheduler) return err(noSuch('scheduler', id))
  // Together with those of what is due, which come in their order.
  if (targets.length > 0) await lockChannels(tx, accountId, [...scheduler.channels, ...targets])
  return work(await caughtUp(ctx, tx, scheduler))
}

/** Checks that every target exists, and locks the channels, so that none is deleted before its scheduler is written. */
async function checkTargets(tx: Tx, accountId: string, targets: readonly ScheduleTarget[]): ChannelResult<true> {
  const errors: Record<string, string[]> = {}
  const channels = await lockChannels(tx, accountId, targets)
  for (const [index, { channelId, engineIds }] of targets.entries()) {
    const channel = channels.get(channelId)
    if (!channel) errors[`channels[${index}].channelId`] = [`there is no channel ${channelId}`]
    const engines = channel ? (await tx.engines.ofChannel(channelId)).map(({ id }) => id) : []
    const missing = channel ? (engineIds?.filter((id) => !engines.includes(id)) ?? []) : []
    if (missing.length > 0) errors[`channels[${index}].engineIds`] = [`the channel has no engine ${missing.join(', ')}`]
  }
  return Object.keys(errors).length === 0 ? ok(true) : err(validationFailed(errors))
}

/** Every transaction locks channels in the same order, to avoid deadlocks. */
async function lockChannels(
  tx: Tx,
  accountId: string,
  targets: readonly ScheduleTarget[],
): Promise<Map<string, Channel | undefined>> {
  const channels = new Map<string, Channel | undefined>()
  for (const id of targets.map(({ channelId }) => channelId).toSorted())
    channels.set(id, isId(id) ? await tx.channels.lock(accountId, id) : undefined)
  return channels
}

const wake = (ctx: ChannelContext, { accountId }: Actor, id: string): void =>
  ctx.channelChanged({ kind: 'scheduler', what: 'updated', accountId, id })

const isActive = ({ name }: Scheduler, how: string): ChannelFailure =>
  refusal('scheduler_active', `The scheduler "${name}" is active: ${how}`)

const isOver = ({ name }: Scheduler): ChannelFailure =>
  refusal('scheduler_terminated', `The scheduler "${name}" is through: nothing of it is to come`)

const objectOf = ({ id, name }: Scheduler) => ({ type: 'scheduler', id, name }) as const

const rulesOf = (one: SchedulerRules): SchedulerRules => ({
  name: one.name,
  enabled: one.enabled,
  channels: one.channels,
  timeZone: one.timeZone,
  startDate: one.startDate,
  startTime: one.startTime,
  endDate: one.endDate,
  endTime: one.endTime,
  recurrence: one.recurrence,
})

export function schedulerRecord(one: Scheduler, skips?: readonly SkippedOccurrence[]): SchedulerRecord {
  const { endDate, endTime, recurrence } = one
  const plan = one.status === 'terminated' ? undefined : validPlan(one)
  const next = plan?.ok ? nextOccurrence(plan.value, one.seenUntilMs) : undefined
  return {
    id: one.id,
    name: one.name,
    enabled: one.enabled,
    status: one.status,
    startDate: one.startDate,
    startTime: one.startTime,
    ...(endDate === null ? {} : { endDate }),
    ...(endTime === null ? {} : { endTime }),
    ...(recurrence === null ? {} : { recurrence }),
    timeZone: one.timeZone,
    channels: one.channels.map(({ channelId, engineIds }) =>
      engineIds ? { channelId, engineIds: [...engineIds] } : { channelId },
    ),
    channelIds: one.channels.map(({ channelId }) => channelId),
    ...(next ? { nextStart: isoTime(next.startMs) } : {}),
    ...(skips ? { skipped: skips.map(toSkip) } : {}),
    createdAt: isoTime(one.createdAtMs),
    updatedAt: isoTime(one.updatedAtMs),
  }
}

const toSkip = ({ startMs, endMs, reason }: SkippedOccurrence) => ({
  start: isoTime(startMs),
  ...(endMs === null ? {} : { end: isoTime(endMs) }),
  reason,
})
