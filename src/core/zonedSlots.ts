import { err, ok, type Result } from '../base/result.ts'
import { DAY_MS, HOUR_MS } from '../base/time.ts'
import { dayAt, instantOf, isZone } from './channels/schedules/zone.ts'
import { timeOf } from './validation/moments.ts'

/** Half open, on whole hours. */
export interface HourSpan {
  readonly fromMs: number
  readonly untilMs: number
}

/** The same, in a time zone. */
export interface ZonedSpan extends HourSpan {
  readonly zone: string
}

export type SlotResolution = 'Hour' | 'Day' | 'Month'

/** Reads the name of a time zone; without one it is UTC. */
export function readZone(text: unknown): Result<string, string> {
  if (text === undefined) return ok('UTC')
  return typeof text === 'string' && isZone(text)
    ? ok(text)
    : err('must be a name of the IANA time zone database, such as Europe/Vienna')
}

const DATE_RULE = 'must be a date such as 2026-01-31, or an ISO 8601 time with a zone on a whole hour'

/** Reads the beginning of a day of the zone, or a whole hour. */
export function readDateIn(zone: string, text: unknown): Result<number, string> {
  if (typeof text !== 'string') return err(`is required once; it ${DATE_RULE}`)
  const dayMs = timeOf(text.slice(0, 10))
  if (dayMs === null) return err(DATE_RULE)
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return ok(beginOfDay(zone, dayMs / DAY_MS))
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:00(:00(\.0{1,9})?)?(Z|[+-]\d{2}:00)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? err(DATE_RULE) : ok(ms)
}

/** Hours are those of UTC, so in a zone with half an hour more a day begins with the hour that its midnight is in. */
export function beginOfDay(zone: string, day: number): number {
  const ms = instantOf(zone, day, 0)
  return ms - (ms % HOUR_MS)
}

/** The day of a whole hour: that of its last moment, because the day may begin within the hour. */
export const dayOfHour = (zone: string, hourMs: number): number => dayAt(zone, hourMs + HOUR_MS - 1)

/** The most days of a report: thirteen months. */
export const REPORT_DAYS_MAX = 400

/** In days of the zone, of which those with a change of its clock are longer or shorter. A part of a day is one more. */
export function lengthInDays({ fromMs, untilMs, zone }: ZonedSpan): number {
  const [from, until] = [dayOfHour(zone, fromMs), dayOfHour(zone, untilMs)]
  const isLaterInDay = untilMs - beginOfDay(zone, until) > fromMs - beginOfDay(zone, from)
  return until - from + (isLaterInDay ? 1 : 0)
}

/** What a series is divided into: hours of UTC, or days or months of the zone. */
export interface SlottedSpan extends ZonedSpan {
  readonly resolution: SlotResolution
}

/** The beginnings of the slots of a span, in order; the first is that of the span. */
export function slotsOf({ fromMs, untilMs, zone, resolution }: SlottedSpan): number[] {
  const slots: number[] = []
  for (let ms = fromMs; ms < untilMs; ms = nextSlot(ms, zone, resolution)) slots.push(ms)
  return slots
}

function nextSlot(ms: number, zone: string, resolution: SlotResolution): number {
  if (resolution === 'Hour') return ms + HOUR_MS
  const day = dayOfHour(zone, ms)
  return beginOfDay(zone, resolution === 'Day' ? day + 1 : nextMonth(day))
}

function nextMonth(day: number): number {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / DAY_MS
}

/** Whether a day, or a month, of the zone begins here. */
export function beginsSlot(ms: number, zone: string, resolution: SlotResolution): boolean {
  if (resolution === 'Hour') return true
  const day = dayOfHour(zone, ms)
  return beginOfDay(zone, day) === ms && (resolution === 'Day' || new Date(day * DAY_MS).getUTCDate() === 1)
}

/** Finds the slot that a time is in, by halves. @param slots ascending; the time is not before the first */
export function slotIn(slots: readonly number[], ms: number): number {
  let [low, high] = [0, slots.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((slots[middle] ?? 0) <= ms) low = middle
    else high = middle
  }
  return slots[low] ?? ms
}

/** What sums are stored by. Days and months are those of UTC. */
export type SlotLength = 'hour' | 'day' | 'month'

export const SLOT_LENGTHS = ['hour', 'day', 'month'] as const satisfies readonly SlotLength[]

/** The beginning of the hour, day or month that a moment is in. */
export function beginOf(length: SlotLength, ms: number): number {
  if (length !== 'month') return ms - (ms % (length === 'day' ? DAY_MS : HOUR_MS))
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** The longest sums that are each in one slot. @param slots the beginnings of slots, in order */
export function longestIn([, ...slots]: readonly number[]): SlotLength {
  const areAll = (length: SlotLength) => slots.every((ms) => beginOf(length, ms) === ms)
  return areAll('month') ? 'month' : areAll('day') ? 'day' : 'hour'
}

const SHORTER = { month: 'day', day: 'hour' } as const

/**
 * Where to read the slots of a span: whole months as months, which are few, whole days beside them as days, and the rest as
 * hours. Times are those of UTC.
 * @param longest longer slots are not used
 */
export function spansOf(span: HourSpan, longest: SlotLength): readonly (HourSpan & { length: SlotLength })[] {
  const { fromMs, untilMs } = span
  if (untilMs <= fromMs) return []
  if (longest === 'hour') return [{ length: 'hour', fromMs, untilMs }]
  const shorter = SHORTER[longest]
  const whole = { fromMs: nextBeginOf(longest, fromMs), untilMs: beginOf(longest, untilMs) }
  if (whole.untilMs <= whole.fromMs) return spansOf(span, shorter)
  return [
    { length: longest, ...whole },
    ...spansOf({ fromMs, untilMs: whole.fromMs }, shorter),
    ...spansOf({ fromMs: whole.untilMs, untilMs }, shorter),
  ]
}

/** The first beginning that is not before a moment. 32 days later it is another month. */
const nextBeginOf = (length: SlotLength, ms: number): number =>
  beginOf(length, ms) === ms ? ms : beginOf(length, beginOf(length, ms) + (length === 'month' ? 32 : 1) * DAY_MS)
