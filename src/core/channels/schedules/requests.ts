import { err, ok, type Result } from '../../../base/result.ts'
import type { FieldErrors } from '../../errors.ts'
import type { ChannelFailure } from '../errors.ts'
import { type PageRequest, readers, readPageQuery } from '../listQuery.ts'
import { readName } from '../name.ts'
import { Problems } from '../../validation/problems.ts'
import { readShape, type BodyReader } from '../../validation/bodyReader.ts'
import { nextOccurrence, type SchedulePlan, planOf, type Timing } from './plan.ts'
import { CreateScheduler, SCHEDULER_STATUSES, UpdateScheduler } from './schema.ts'
import { instantOf } from './zone.ts'

/** What a scheduler starts; without `engineIds` all engines of the channel. */
export interface ScheduleTarget {
  channelId: string
  engineIds?: readonly string[]
}

/** The settings of a scheduler that its owner chooses. */
export interface SchedulerRules extends Timing {
  name: string
  enabled: boolean
  channels: readonly ScheduleTarget[]
}

/**
 * Parses the body of a create. All errors at once.
 * @param planFor refuses timings
 */
export function readCreateScheduler(
  body: unknown,
  planFor: (timing: Timing) => Result<SchedulePlan, FieldErrors>,
): Result<{ rules: SchedulerRules; plan: SchedulePlan }, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateScheduler, body, problems)
  const channels = readTargets(reader)
  if (channels === undefined && !problems.touches('channels') && !problems.touches('channelIds')) {
    problems.add('channels', 'is required: what the scheduler starts')
  }
  const rules = {
    name: readName(reader) ?? '',
    enabled: reader.value('enabled') ?? true,
    startDate: reader.value('startDate') ?? '',
    startTime: reader.value('startTime') ?? '',
    endDate: reader.value('endDate') ?? null,
    endTime: reader.value('endTime') ?? null,
    recurrence: reader.value('recurrence') ?? null,
    timeZone: reader.value('timeZone') ?? 'UTC',
    channels: channels ?? [],
  }
  const shaped = problems.settle(rules)
  if (!shaped.ok) return shaped
  const plan = planFor(rules)
  return plan.ok ? ok({ rules, plan: plan.value }) : plan
}

/** The plan of a timing; refused unless it begins in the future. */
export function futurePlan(timing: Timing, nowMs: number): Result<SchedulePlan, FieldErrors> {
  const plan = validPlan(timing)
  if (!plan.ok) return plan
  const { zone, startDay, startMinutes } = plan.value
  if (instantOf(zone, startDay, startMinutes) <= nowMs) return err({ startDate: ['must lie in the future'] })
  return comingPlan(timing, nowMs)
}

/** The plan of a timing that may have begun; refused unless it begins once more. */
export function comingPlan(timing: Timing, nowMs: number): Result<SchedulePlan, FieldErrors> {
  const plan = validPlan(timing)
  if (!plan.ok || nextOccurrence(plan.value, nowMs)) return plan
  return err({ recurrence: ['would never begin'] })
}

export function validPlan(timing: Timing): Result<SchedulePlan, FieldErrors> {
  const plan = planOf(timing)
  return plan.ok ? plan : err(Object.fromEntries(Object.entries(plan.error)))
}

/** Parses the body of an update: only the fields that it contains. */
export function readUpdateScheduler(body: unknown): Result<Partial<SchedulerRules>, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateScheduler, body, problems)
  const cleared = (field: 'endDate' | 'endTime' | 'recurrence') => (reader.clears(field) ? null : reader.value(field))
  const named = {
    name: readName(reader),
    enabled: reader.value('enabled'),
    startDate: reader.value('startDate'),
    startTime: reader.value('startTime'),
    endDate: cleared('endDate'),
    endTime: cleared('endTime'),
    recurrence: cleared('recurrence'),
    timeZone: reader.value('timeZone'),
    channels: readTargets(reader),
  }
  const entries = Object.entries(named).filter(([, value]) => value !== undefined)
  return problems.settle<Partial<SchedulerRules>>(Object.fromEntries(entries))
}

/** Both spellings are one field. */
function readTargets(
  body: BodyReader<Pick<UpdateScheduler, 'channels' | 'channelIds'>>,
): readonly ScheduleTarget[] | undefined {
  if (body.names('channels') && body.names('channelIds')) {
    body.problems.add('channelIds', 'must not be sent together with channels')
  }
  const channels: readonly ScheduleTarget[] | undefined =
    body.value('channels') ?? body.value('channelIds')?.map((channelId) => ({ channelId }))
  const ids = channels?.map(({ channelId }) => channelId) ?? []
  if (new Set(ids).size < ids.length) body.problems.add('channels', 'must not name a channel twice')
  return channels
}

export const SORTS = ['name', 'status', 'startDate', 'startTime'] as const

export interface SchedulerFilters {
  status: readonly string[]
  channelId: string
  sortBy: (typeof SORTS)[number]
  sortDirection: 'asc' | 'desc'
}

/** Parses the query of the list. */
export function readSchedulerQuery(
  query: Record<string, unknown>,
): Result<PageRequest & { filters: Partial<SchedulerFilters> }, ChannelFailure> {
  return readPageQuery<SchedulerFilters>(query, {
    status: readers.someOf(SCHEDULER_STATUSES),
    channelId: (text) => (/^ch_\w{1,60}$/.test(text) ? ok(text) : err('must be the id of a channel')),
    sortBy: readers.oneOf(SORTS),
    sortDirection: readers.oneOf(['asc', 'desc']),
  })
}
