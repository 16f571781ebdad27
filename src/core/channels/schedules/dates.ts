import { dateOf, firstDayOf, LAST_DAY, lengthOf, monthOf, weekdayOf } from './days.ts'
import type { ByDay, Recurrence } from './recurrence.ts'

/**
 * The most periods per search. The slowest possible rules match once in eight years (29 February, every twelfth
 * month, across 2100). A rule that never matches costs this many steps.
 */
const PERIODS_MAX = 50_000

/**
 * The days of a rule in ascending order, from about `fromDay` on: a few earlier days may come first, but no later
 * day is left out. The first period is the one with `startDay`; days before `startDay` are excluded (RFC 5545
 * section 3.3.10, with DTSTART as the bound and not as an occurrence of its own).
 */
export function* daysOf(rule: Recurrence, startDay: number, fromDay: number): Generator<number> {
  const period = PERIODS[rule.freq](rule, startDay)
  // COUNT counts from the start, so the search must begin there.
  const first = rule.count === null ? Math.max(0, period.indexNear(fromDay)) : 0
  let left = rule.count ?? Number.POSITIVE_INFINITY
  for (let index = first; index < first + PERIODS_MAX; index += 1) {
    if (period.firstDay(index) > LAST_DAY) return
    for (const day of period.days(index)) {
      if (day < startDay) continue
      if (left === 0 || day > LAST_DAY) return
      left -= 1
      yield day
    }
  }
}

/** The periods of a frequency, `interval` apart, as ascending days. */
interface Periods {
  /** The index of a period that begins on this day or earlier. */
  indexNear(day: number): number
  firstDay(index: number): number
  days(index: number): number[]
}

const PERIODS: Readonly<Record<Recurrence['freq'], (rule: Recurrence, startDay: number) => Periods>> = {
  DAILY: (rule, startDay) => ({
    indexNear: (day) => Math.floor((day - startDay) / rule.interval),
    firstDay: (index) => startDay + index * rule.interval,
    days: (index) => [startDay + index * rule.interval].filter((day) => isNamed(rule, day) && isMonthDay(rule, day)),
  }),
  WEEKLY: (rule, startDay) => {
    const week = startDay - sinceWeekStart(rule, weekdayOf(startDay))
    const length = 7 * rule.interval
    const weekdays = rule.byDay.length > 0 ? rule.byDay.map(({ weekday }) => weekday) : [weekdayOf(startDay)]
    const offsets = rising(weekdays.map((weekday) => sinceWeekStart(rule, weekday)))
    return {
      indexNear: (day) => Math.floor((day - week) / length),
      firstDay: (index) => week + index * length,
      days: (index) => offsets.map((offset) => week + index * length + offset),
    }
  },
  MONTHLY: (rule, startDay) => {
    const month = monthOf(startDay)
    return {
      indexNear: (day) => Math.floor((monthOf(day) - month) / rule.interval),
      firstDay: (index) => firstDayOf(month + index * rule.interval),
      days: (index) => daysOfMonth(rule, startDay, month + index * rule.interval),
    }
  },
}

const sinceWeekStart = ({ weekStart }: Recurrence, weekday: number): number => (weekday - weekStart + 7) % 7

/**
 * BYMONTHDAY selects days and BYDAY restricts them. BYDAY alone selects days. Without either it is the day of the
 * start.
 */
function daysOfMonth(rule: Recurrence, startDay: number, month: number): number[] {
  const [first, length] = [firstDayOf(month), lengthOf(month)]
  const inMonth = (day: number): boolean => day >= 1 && day <= length
  if (rule.byDay.length === 0 || rule.byMonthDay.length > 0) {
    const named = rule.byMonthDay.length > 0 ? rule.byMonthDay : [dateOf(startDay).day]
    const days = rising(named.map((day) => (day < 0 ? length + 1 + day : day)).filter(inMonth))
    return days.map((day) => first + day - 1).filter((day) => isNamed(rule, day))
  }
  return Array.from({ length }, (_, offset) => first + offset).filter((day) => isNamed(rule, day))
}

function isNamed({ byDay }: Recurrence, day: number): boolean {
  return byDay.length === 0 || byDay.some((one) => one.weekday === weekdayOf(day) && isNth(one, day))
}

function isNth({ nth }: ByDay, day: number): boolean {
  if (nth === null) return true
  const date = dateOf(day).day
  return nth > 0 ? Math.ceil(date / 7) === nth : Math.ceil((lengthOf(monthOf(day)) + 1 - date) / 7) === -nth
}

function isMonthDay({ byMonthDay }: Recurrence, day: number): boolean {
  if (byMonthDay.length === 0) return true
  const [date, length] = [dateOf(day).day, lengthOf(monthOf(day))]
  return byMonthDay.includes(date) || byMonthDay.includes(date - length - 1)
}

const rising = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b)
