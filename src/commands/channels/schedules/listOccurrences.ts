import { err, ok } from '../../../base/result.ts'
import { type TimeSpan, isoTime } from '../../../base/time.ts'
import { noSuch } from '../../../core/channels/errors.ts'
import { readOccurrencesQuery } from '../../../core/channels/schedules/occurrencesQuery.ts'
import { type Occurrence, occurrencesFrom, type SchedulePlan } from '../../../core/channels/schedules/plan.ts'
import { validPlan } from '../../../core/channels/schedules/requests.ts'
import type { Scheduler } from '../../../store/store.ts'
import type { CommandContext } from '../../context.ts'
import { type ChannelResult, checked, isId } from '../channelCommand.ts'

/** No rule repeats within a day, and no more skips are on record than occurrences. */
const OCCURRENCES_MAX = 400

/** An occurrence as the interface shows it. */
interface OccurrenceEntry {
  readonly start: string
  readonly end?: string
  readonly active?: true
  readonly skipped?: string
}

/** The occurrences of a scheduler that touch a time, by the same plan that starts them. */
export async function listOccurrences(
  ctx: CommandContext,
  accountId: string,
  id: string,
  query: Record<string, unknown>,
): ChannelResult<OccurrenceEntry[]> {
  const nowMs = ctx.clock.now()
  const span = checked(readOccurrencesQuery(query, nowMs))
  if (!span.ok) return span
  const scheduler = isId(id) ? await ctx.store.read.schedulers.get(accountId, id) : undefined
  if (!scheduler) return err(noSuch('scheduler', id))
  const plan = validPlan(scheduler)
  if (!plan.ok) return ok([])
  const skips = await ctx.store.read.schedulers.skips(id, OCCURRENCES_MAX)
  const reasons = new Map(skips.map(({ startMs, reason }) => [startMs, reason]))
  const { status, seenUntilMs } = scheduler
  const found = within(plan.value, span.value).filter(
    ({ startMs }) => status !== 'terminated' || startMs <= seenUntilMs,
  )
  return ok(found.map((one) => toEntry(one, scheduler, reasons.get(one.startMs) ?? whyNot(one, scheduler, nowMs))))
}

/** Why an occurrence to come will not begin; undefined: it will, or it is under way. */
const whyNot = ({ startMs }: Occurrence, { occurrence, seenUntilMs }: Scheduler, nowMs: number): string | undefined =>
  startMs > nowMs && startMs <= seenUntilMs && startMs !== occurrence?.startMs
    ? 'it was begun by hand before its time'
    : undefined

function within(plan: SchedulePlan, { fromMs, untilMs }: TimeSpan): Occurrence[] {
  const found: Occurrence[] = []
  for (const one of occurrencesFrom(plan, fromMs)) {
    if (one.startMs >= untilMs || found.length === OCCURRENCES_MAX) break
    if ((one.endMs ?? one.startMs + 1) > fromMs) found.push(one)
  }
  return found
}

function toEntry(
  { startMs, endMs }: Occurrence,
  { occurrence }: Scheduler,
  reason: string | undefined,
): OccurrenceEntry {
  return {
    start: isoTime(startMs),
    ...(endMs === null ? {} : { end: isoTime(endMs) }),
    ...(occurrence?.startMs === startMs ? { active: true } : {}),
    ...(reason === undefined ? {} : { skipped: reason }),
  }
}
