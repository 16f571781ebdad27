import { err, ok, type Result } from '../../../base/result.ts'
import { realDay } from './days.ts'

/**
 * The part of RFC 5545 section 3.3.10 that schedules need: FREQ DAILY, WEEKLY and MONTHLY with INTERVAL, BYDAY,
 * BYMONTHDAY, COUNT, UNTIL and WKST. Every other part is refused by name, because a half-understood rule starts a
 * channel on the wrong day.
 */
export interface Recurrence {
  readonly freq: 'DAILY' | 'WEEKLY' | 'MONTHLY'
  readonly interval: number
  readonly byDay: readonly ByDay[]
  /** 1 to 31, or counted from the end of the month: -1 to -31. */
  readonly byMonthDay: readonly number[]
  readonly count: number | null
  readonly until: Until | null
  /** First day of the week, 0 = Monday. */
  readonly weekStart: number
}

export interface ByDay {
  /** 0 = Monday */
  readonly weekday: number
  /** The nth weekday of the month, from the end when negative; null: every one. */
  readonly nth: number | null
}

/** The last moment, inclusive, at which an occurrence may begin: a local day or minute, or an instant. */
export type Until =
  | { readonly kind: 'day'; readonly day: number }
  | { readonly kind: 'wall'; readonly day: number; readonly seconds: number }
  | { readonly kind: 'instant'; readonly ms: number }

const LIMITS = { interval: 1000, count: 1000, text: 500 } as const

const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const FREQUENCIES = ['DAILY', 'WEEKLY', 'MONTHLY'] as const
const NAMES = ['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'COUNT', 'UNTIL', 'WKST']

/** Parses a rule with or without its `RRULE:` prefix. The refusal is a sentence for its author. */
export function parseRecurrence(text: string): Result<Recurrence, string> {
  if (text.length > LIMITS.text) return err(`must have at most ${LIMITS.text} characters`)
  const parts = new Map<string, string>()
  for (const part of text.replace(/^RRULE:/i, '').split(';')) {
    const [name = '', value, more] = part.split('=')
    const upper = name.toUpperCase()
    if (value === undefined || value === '' || more !== undefined) return err(`"${part}" is no NAME=VALUE`)
    if (!NAMES.includes(upper)) return err(`${name} is not supported; the parts are ${NAMES.join(', ')}`)
    if (parts.has(upper)) return err(`${name} is given twice`)
    parts.set(upper, value.toUpperCase())
  }
  try {
    return together(ok(read(parts)))
  } catch (error) {
    if (error instanceof Unreadable) return err(error.message)
    throw error
  }
}

/** Internal to this file: when several parts are parsed, the first invalid one ends the parsing. */
class Unreadable extends Error {}

function read(parts: ReadonlyMap<string, string>): Recurrence {
  const freq = FREQUENCIES.find((one) => one === parts.get('FREQ'))
  if (freq === undefined) throw new Unreadable(`FREQ must be one of ${FREQUENCIES.join(', ')}`)
  return {
    freq,
    interval: whole('INTERVAL', parts.get('INTERVAL') ?? '1', LIMITS.interval),
    byDay: list(parts.get('BYDAY')).map(byDayOf),
    byMonthDay: list(parts.get('BYMONTHDAY')).map(monthDayOf),
    count: parts.has('COUNT') ? whole('COUNT', parts.get('COUNT') ?? '', LIMITS.count) : null,
    until: parts.has('UNTIL') ? untilOf(parts.get('UNTIL') ?? '') : null,
    weekStart: weekdayNamed('WKST', parts.get('WKST') ?? 'MO'),
  }
}

/** Refuses parts that exclude each other. */
function together(read: { ok: true; value: Recurrence }): Result<Recurrence, string> {
  const { freq, byDay, byMonthDay, count, until } = read.value
  if (count !== null && until !== null) return err('COUNT and UNTIL exclude each other')
  if (freq === 'WEEKLY' && byMonthDay.length > 0) return err('BYMONTHDAY cannot stand beside FREQ=WEEKLY')
  if (freq !== 'MONTHLY' && byDay.some(({ nth }) => nth !== null)) {
    return err('BYDAY with a number, such as 1MO, needs FREQ=MONTHLY')
  }
  return read
}

const list = (value: string | undefined): string[] => value?.split(',') ?? []

function whole(name: string, value: string, max: number): number {
  const number = /^\d{1,6}$/.test(value) ? Number(value) : 0
  if (number < 1 || number > max) throw new Unreadable(`${name} must be a whole number from 1 to ${max}`)
  return number
}

function weekdayNamed(name: string, value: string): number {
  const weekday = WEEKDAYS.indexOf(value)
  if (weekday < 0) throw new Unreadable(`${name} must name a day: ${WEEKDAYS.join(', ')}`)
  return weekday
}

function byDayOf(value: string): ByDay {
  const parts = /^([+-]?[1-5])?([A-Z]{2})$/.exec(value)
  if (!parts) throw new Unreadable(`BYDAY: "${value}" is no day such as MO, 1MO or -1FR`)
  const nth = parts[1] === undefined ? null : Number(parts[1])
  return { weekday: weekdayNamed('BYDAY', parts[2] ?? ''), nth }
}

function monthDayOf(value: string): number {
  const day = /^[+-]?\d{1,2}$/.test(value) ? Number(value) : 0
  if (day === 0 || Math.abs(day) > 31) throw new Unreadable('BYMONTHDAY must hold days from 1 to 31, or from -31 to -1')
  return day
}

function untilOf(value: string): Until {
  const parts = /^(\d{4})(\d{2})(\d{2})(?:T([01]\d|2[0-3])([0-5]\d)([0-5]\d)(Z)?)?$/.exec(value)
  if (!parts) throw new Unreadable('UNTIL must be a date such as 20301231 or a moment such as 20301231T235959Z')
  const [year = 0, month = 0, date = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map((n) => Number(n ?? 0))
  const day = realDay({ year, month, day: date })
  if (day === undefined) throw new Unreadable('UNTIL names a day that does not exist')
  if (parts[4] === undefined) return { kind: 'day', day }
  const seconds = hour * 3600 + minute * 60 + second
  return parts[7] === 'Z' ? { kind: 'instant', ms: (day * 86_400 + seconds) * 1000 } : { kind: 'wall', day, seconds }
}
