import { err, ok, type Result } from '../../../base/result.ts'
import type { FieldErrors } from '../../errors.ts'
import type { ChannelFailure } from '../errors.ts'
import { type PageRequest, readPageQuery } from '../listQuery.ts'
import { readName } from '../name.ts'
import { Problems } from '../../validation/problems.ts'
import { readShape, type BodyReader } from '../../validation/bodyReader.ts'
import { nextOccurrence, type SchedulePlan, planOf, type Timing } from './plan.ts'
import { CreateScheduler, SCHEDULER_STATUSES, UpdateScheduler } from './schema.ts'
import { instantOf } from './zone.ts'

export interface ScheduleTarget {
  channelId: string
  engineIds?: readonly string[]
}

/** What the owner of a scheduler decides. */
export interface SchedulerRules extends Timing {
  name: string
  enabled: boolean
  channels: readonly ScheduleTarget[]
}

/** Reads the body of a create, whatever it is; all errors at once. */
export function readCreateScheduler(
  body: unknown,
  nowMs: number,
): Result<{ rules: SchedulerRules; plan: SchedulePlan }, FieldErrors> {
  const problems = new Problems()
  const sound = readShape(CreateScheduler, body, problems)
  const channels = readTargets(sound)
  if (channels === undefined && !problems.touches('channels') && !problems.touches('channelIds')) {
    problems.add('channels', 'is required: what the scheduler starts')
  }
  const rules = {
    name: readName(sound) ?? '',
    enabled: sound.value('enabled') ?? true,
    startDate: sound.value('startDate') ?? '',
    startTime: sound.value('startTime') ?? '',
    endDate: sound.value('endDate') ?? null,
    endTime: sound.value('endTime') ?? null,
    recurrence: sound.value('recurrence') ?? null,
    timeZone: sound.value('timeZone') ?? 'UTC',
    channels: channels ?? [],
  }
  const shaped = problems.settle(rules)
  if (!shaped.ok) return shaped
  const plan = futurePlan(rules, nowMs)
  return plan.ok ? ok({ rules, plan: plan.value }) : plan
}

/** The plan of a timing that begins in the future. */
export function futurePlan(timing: Timing, nowMs: number): Result<SchedulePlan, FieldErrors> {
  const plan = validPlan(timing)
  if (!plan.ok) return plan
  const { zone, startDay, startMinutes } = plan.value
  if (instantOf(zone, startDay, startMinutes) <= nowMs) return err({ startDate: ['must lie in the future'] })
  return nextOccurrence(plan.value, nowMs) ? plan : err({ recurrence: ['would never begin'] })
}

export function validPlan(timing: Timing): Result<SchedulePlan, FieldErrors> {
  const plan = planOf(timing)
  return plan.ok ? plan : err(Object.fromEntries(Object.entries(plan.error)))
}

/** Reads the body of an update: what it names. */
export function readUpdateScheduler(body: unknown): Result<Partial<SchedulerRules>, FieldErrors> {
  const problems = new Problems()
  const sound = readShape(UpdateScheduler, body, problems)
  const cleared = (field: 'endDate' | 'endTime' | 'recurrence') => (sound.clears(field) ? null : sound.value(field))
  const named = {
    name: readName(sound),
    enabled: sound.value('enabled'),
    startDate: sound.value('startDate'),
    startTime: sound.value('startTime'),
    endDate: cleared('endDate'),
    endTime: cleared('endTime'),
    recurrence: cleared('recurrence'),
    timeZone: sound.value('timeZone'),
    channels: readTargets(sound),
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
  sortBy: (typeof SORTS)[number]
  sortDirection: 'asc' | 'desc'
}

/** Reads the query of the list. */
export function readSchedulerQuery(
  query: Record<string, unknown>,
): Result<PageRequest & { filters: Partial<SchedulerFilters> }, ChannelFailure> {
  return readPageQuery<SchedulerFilters>(query, {
    status: (text) => some(SCHEDULER_STATUSES, text),
    sortBy: (text) => oneOf(SORTS, text),
    sortDirection: (text) => oneOf(['asc', 'desc'] as const, text),
  })
}

function oneOf<W extends string>(words: readonly W[], text: string): Result<W, string> {
  const found = words.find((word) => word === text)
  return found === undefined ? err(`must be one of ${words.join(', ')}`) : ok(found)
}

function some(words: readonly string[], text: string): Result<readonly string[], string> {
  const named = new Set(text.split(','))
  const known = words.filter((word) => named.has(word))
  return known.length === named.size ? ok(known) : err(`must be out of ${words.join(', ')}, separated by commas`)
}
