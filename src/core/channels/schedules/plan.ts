import { err, ok, type Result } from '../../../base/result.ts'
import { daysOf } from './dates.ts'
import { parseDate, parseTime } from './days.ts'
import { parseRecurrence, type Recurrence } from './recurrence.ts'
import { dayAt, instantOf, isZone } from './zone.ts'

/** When a scheduler runs, as users write it: local dates and times of a zone. */
export interface Timing {
  /** `YYYY-MM-DD` */
  readonly startDate: string
  /** `HH:mm` */
  readonly startTime: string
  /** Without a recurrence: the day of the end. With one: the last day on which an occurrence may begin. */
  readonly endDate: string | null
  /** Null: it ends by hand. */
  readonly endTime: string | null
  /** `RRULE:…` */
  readonly recurrence: string | null
  readonly timeZone: string
}

/** A valid timing, ready to compute occurrences. */
export interface SchedulePlan {
  readonly zone: string
  readonly startDay: number
  /** Minutes after midnight. */
  readonly startMinutes: number
  readonly endMinutes: number | null
  /** Days from the start of an occurrence to its end. */
  readonly endsDaysLater: number
  readonly lastDay: number | null
  readonly rule: Recurrence | null
}

/**
 * From when until when, epoch milliseconds. `endMs` null: until it is stopped by hand, or the next occurrence
 * begins.
 */
export interface Occurrence {
  readonly startMs: number
  readonly endMs: number | null
}

/** Sentences by field, for the author of the timing. */
export type TimingProblems = Partial<Record<keyof Timing, string[]>>

/** Parses a timing. All errors at once. */
export function planOf(timing: Timing): Result<SchedulePlan, TimingProblems> {
  const problems: TimingProblems = {}
  const wrong = (field: keyof Timing, text: string): void => void (problems[field] = [text])
  const day = (field: 'startDate' | 'endDate'): number | undefined => {
    const read = parseDate(timing[field] ?? '')
    if (read === undefined) wrong(field, 'must be a date that exists, as YYYY-MM-DD')
    return read
  }
  const time = (field: 'startTime' | 'endTime'): number | undefined => {
    const read = parseTime(timing[field] ?? '')
    if (read === undefined) wrong(field, 'must be a time of the day, as HH:mm')
    return read
  }
  const [startDay = 0, startMinutes = 0] = [day('startDate'), time('startTime')]
  const lastDay = timing.endDate === null ? null : (day('endDate') ?? startDay)
  const endMinutes = timing.endTime === null ? null : (time('endTime') ?? 0)
  if (!isZone(timing.timeZone)) wrong('timeZone', 'must name a zone of the IANA database, such as Europe/Vienna or UTC')
  const rule = timing.recurrence === null ? ok(null) : parseRecurrence(timing.recurrence)
  if (!rule.ok) wrong('recurrence', rule.error)
  const endsDaysLater = daysToEnd({ startDay, startMinutes, lastDay, endMinutes }, timing.recurrence === null)
  if (lastDay !== null && endMinutes === null && timing.recurrence === null) {
    wrong('endTime', 'is needed beside endDate, unless there is a recurrence')
  }
  if ((lastDay !== null && lastDay < startDay) || endsDaysLater < 0) wrong('endDate', 'must not lie before the start')
  if (!rule.ok || Object.keys(problems).length > 0) return err(problems)
  const zone = timing.timeZone
  return ok({ zone, startDay, startMinutes, endMinutes, endsDaysLater, lastDay, rule: rule.value })
}

/**
 * Without a recurrence: from the dates, or the first such time after the start. With one: the same day or, past
 * midnight, the next.
 */
function daysToEnd(
  of: { startDay: number; startMinutes: number; lastDay: number | null; endMinutes: number | null },
  once: boolean,
): number {
  if (of.endMinutes === null) return 0
  const overMidnight = of.endMinutes <= of.startMinutes ? 1 : 0
  if (!once || of.lastDay === null) return overMidnight
  const days = of.lastDay - of.startDay
  return days === 0 && overMidnight === 1 ? -1 : days
}

/** Occurrences by their start, ascending. The first may still be active at `fromMs`, or begins later. */
export function* occurrencesFrom(plan: SchedulePlan, fromMs: number): Generator<Occurrence> {
  // One day for the zone's own offsets, one for an end past midnight, and one as a cheap margin.
  const fromDay = dayAt(plan.zone, fromMs) - 3 - plan.endsDaysLater
  let last = Number.NEGATIVE_INFINITY
  for (const day of plan.rule === null ? [plan.startDay] : daysOf(plan.rule, plan.startDay, fromDay)) {
    if (plan.rule !== null && plan.lastDay !== null && day > plan.lastDay) return
    if (day < fromDay && plan.rule !== null) continue
    const startMs = instantOf(plan.zone, day, plan.startMinutes)
    if (isBehind(plan, day, startMs)) return
    // Where a zone skips a whole day, the occurrence of that day coincides with the one of the next day.
    if (startMs > last) yield { startMs, endMs: endOf(plan, day, startMs) }
    last = startMs
  }
}

function isBehind({ rule, startMinutes }: SchedulePlan, day: number, startMs: number): boolean {
  const until = rule?.until ?? null
  if (until === null) return false
  if (until.kind === 'instant') return startMs > until.ms
  if (until.kind === 'day' || day !== until.day) return day > until.day
  return startMinutes * 60 > until.seconds
}

/** A gap of the zone can put the end before the start. Then the length in local time counts. */
function endOf(plan: SchedulePlan, day: number, startMs: number): number | null {
  if (plan.endMinutes === null) return null
  const endMs = instantOf(plan.zone, day + plan.endsDaysLater, plan.endMinutes)
  const minutes = plan.endsDaysLater * 1440 + plan.endMinutes - plan.startMinutes
  return endMs > startMs ? endMs : startMs + minutes * 60_000
}

/** The first occurrence that begins after `afterMs`; undefined: there is none. */
export function nextOccurrence(plan: SchedulePlan, afterMs: number): Occurrence | undefined {
  for (const one of occurrencesFrom(plan, afterMs)) if (one.startMs > afterMs) return one
  return undefined
}
