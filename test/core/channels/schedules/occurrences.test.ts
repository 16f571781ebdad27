import { readFileSync } from 'node:fs'
import { RRuleTemporal } from 'rrule-temporal'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dateOf } from '../../../../src/core/channels/schedules/days.ts'
import {
  nextOccurrence,
  occurrencesFrom,
  type SchedulePlan,
  planOf,
  type Timing,
} from '../../../../src/core/channels/schedules/plan.ts'

interface Case extends Pick<Timing, 'timeZone' | 'startDate' | 'startTime' | 'recurrence'> {
  starts: string[]
}

/** Computed by `occurrences.py`, which explains how. */
const CASES = JSON.parse(readFileSync(new URL('occurrences.json', import.meta.url), 'utf8')) as Case[]

function plan(timing: Partial<Timing>): SchedulePlan {
  const once = { startDate: '2026-01-01', startTime: '10:00', endDate: null, endTime: null, recurrence: null }
  const read = planOf({ ...once, timeZone: 'UTC', ...timing })
  if (!read.ok) throw new Error(JSON.stringify(read.error))
  return read.value
}

const iso = (ms: number): string => new Date(ms).toISOString()

function starts(of: SchedulePlan, fromMs: number, count: number): string[] {
  const found: string[] = []
  for (const { startMs } of occurrencesFrom(of, fromMs)) {
    if (found.length === count) break
    if (startMs >= fromMs) found.push(iso(startMs))
  }
  return found
}

describe('occurrences that were computed independently', () => {
  test('there are at least three hundred of them, over clock changes both ways', () => {
    expect(CASES.reduce((sum, { starts }) => sum + starts.length, 0)).toBeGreaterThanOrEqual(300)
  })

  test.each(CASES)('$timeZone $startDate $startTime $recurrence', ({ starts: expected, ...timing }) => {
    expect(starts(plan(timing), 0, expected.length)).toEqual(expected)
  })

  test.each(CASES)(
    '$recurrence: the next one is the same from any starting point',
    ({ starts: expected, ...timing }) => {
      const asked = plan(timing)
      for (const [index, start] of expected.slice(0, -1).entries()) {
        const next = nextOccurrence(asked, Date.parse(start))
        expect(next && iso(next.startMs)).toBe(expected[index + 1])
      }
    },
  )
})

test('rules agree with another library on the same days', () => {
  const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
  const days = fc
    .uniqueArray(fc.constantFrom(...weekdays), { minLength: 1, maxLength: 4 })
    .map((list) => `;BYDAY=${list.join()}`)
  const monthDay = fc.integer({ min: -31, max: 31 }).filter((day) => day !== 0)
  const monthDays = fc.uniqueArray(monthDay, { minLength: 1, maxLength: 4 }).map((list) => `;BYMONTHDAY=${list.join()}`)
  const nths = fc.tuple(fc.constantFrom(-2, -1, 1, 2, 3, 4, 5), fc.constantFrom(...weekdays))
  const nthDays = fc
    .uniqueArray(
      nths.map(([n, day]) => `${n}${day}`),
      { minLength: 1, maxLength: 3 },
    )
    .map((list) => `;BYDAY=${list.join()}`)
  const none = fc.constant('')
  const rule = fc.oneof(
    fc.tuple(fc.constant('DAILY'), fc.oneof(none, days), fc.oneof(none, monthDays)),
    fc.tuple(fc.constant('WEEKLY'), fc.oneof(none, days), none),
    fc.tuple(fc.constant('MONTHLY'), fc.oneof(none, days, nthDays), none),
    fc.tuple(fc.constant('MONTHLY'), fc.oneof(none, days), monthDays),
  )
  const interval = fc.integer({ min: 1, max: 5 })
  fc.assert(
    fc.property(
      rule,
      interval,
      fc.integer({ min: 18_000, max: 24_000 }),
      ([freq, byDay, byMonthDay], step, startDay) => {
        const recurrence = `RRULE:FREQ=${freq};INTERVAL=${step}${byDay}${byMonthDay};COUNT=6`
        const { year, month, day } = dateOf(startDay)
        const two = (n: number): string => String(n).padStart(2, '0')
        const timing = { startDate: `${year}-${two(month)}-${two(day)}`, startTime: '10:00', recurrence }
        const dtstart = `DTSTART:${year}${two(month)}${two(day)}T100000Z`
        const theirs = new RRuleTemporal({ rruleString: `${dtstart}\n${recurrence}`, maxIterations: 100_000 })
        expect(starts(plan(timing), 0, 6)).toEqual(theirs.all().map((one) => iso(one.epochMilliseconds)))
      },
    ),
    { numRuns: 300 },
  )
})

describe('ends', () => {
  const first = (timing: Partial<Timing>): string[] => {
    const [one] = occurrencesFrom(plan(timing), 0)
    return one ? [iso(one.startMs), one.endMs === null ? 'by hand' : iso(one.endMs)] : []
  }

  test('an occurrence ends at its end time on the same day, or over midnight on the next', () => {
    const recurrence = 'RRULE:FREQ=DAILY'
    expect(first({ recurrence, endTime: '11:30' })).toEqual(['2026-01-01T10:00:00.000Z', '2026-01-01T11:30:00.000Z'])
    expect(first({ recurrence, endTime: '09:00' })).toEqual(['2026-01-01T10:00:00.000Z', '2026-01-02T09:00:00.000Z'])
  })

  test('once: the end has a day of its own, or is missing', () => {
    expect(first({ endDate: '2026-01-03', endTime: '09:00' })[1]).toBe('2026-01-03T09:00:00.000Z')
    expect(first({})[1]).toBe('by hand')
  })

  test('an end that a clock change puts before the start is moved after it', () => {
    const timing = { timeZone: 'Europe/Berlin', startDate: '2026-03-29', startTime: '02:30', endTime: '03:00' }
    expect(first(timing)).toEqual(['2026-03-29T01:30:00.000Z', '2026-03-29T02:00:00.000Z'])
  })

  test('the end date of a recurrence is the last day on which it begins', () => {
    const daily = plan({ recurrence: 'RRULE:FREQ=DAILY', endDate: '2026-01-03', endTime: '09:00' })
    expect(starts(daily, 0, 10).map((start) => start.slice(0, 10))).toEqual(['2026-01-01', '2026-01-02', '2026-01-03'])
  })

  test('a day later where its time is that of the beginning', () => {
    const [begin, end] = ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z']
    for (const recurrence of [null, 'RRULE:FREQ=WEEKLY'])
      expect(first({ recurrence, endTime: '10:00' })).toEqual([begin, end])
  })

  test.each([
    ['20260102', 2],
    ['20260102T100000', 2],
    ['20260102T095959', 1],
    ['20260102T090000Z', 2],
    ['20260102T085959Z', 1],
  ])('of a rule at UNTIL=%s, which is its last moment', (until, count) => {
    const daily = plan({ timeZone: 'Europe/Berlin', recurrence: `RRULE:FREQ=DAILY;UNTIL=${until}` })
    expect(starts(daily, 0, 10)).toHaveLength(count)
  })

  test('on the day on which it begins, if it is the last one', () => {
    expect(
      starts(plan({ recurrence: 'RRULE:FREQ=DAILY', endDate: '2026-01-01', endTime: '11:00' }), 0, 10),
    ).toHaveLength(1)
  })
})

/** Counts how often a search reads its rule, which it does in each period, and ends one that reads it too often. */
function readsOf(asked: SchedulePlan, fromMs: number): number {
  let reads = 0
  const rule = new Proxy(asked.rule!, {
    get: (target, name) => {
      if (++reads > READS_MAX) throw new Error('the search does not end')
      return Reflect.get(target, name) as unknown
    },
  })
  nextOccurrence({ ...asked, rule }, fromMs)
  return reads
}

/** 50,000 periods, of eight reads each at the most. */
const READS_MAX = 400_000

describe('hostile rules', () => {
  test.each([
    'FREQ=MONTHLY;BYMONTHDAY=30;INTERVAL=12',
    'FREQ=MONTHLY;BYDAY=5MO;BYMONTHDAY=1',
    'FREQ=DAILY;INTERVAL=1000;BYMONTHDAY=31;BYDAY=MO;COUNT=1000',
    'FREQ=DAILY;INTERVAL=7;BYDAY=MO',
  ])('%s ends after a bounded number of steps', (rule) => {
    const asked = plan({ startDate: '2026-02-01', recurrence: `RRULE:${rule}` })
    for (const from of ['2500-01-01', '1970-01-01']) expect(readsOf(asked, Date.parse(from))).toBeGreaterThan(0)
  })
})

describe('refused timings, with the field', () => {
  test.each([
    [{ startDate: '2026-02-29' }, 'startDate'],
    [{ startDate: '26-02-01' }, 'startDate'],
    [{ startTime: '24:00' }, 'startTime'],
    [{ startTime: '9:00' }, 'startTime'],
    [{ timeZone: 'Mars/Olympus' }, 'timeZone'],
    [{ timeZone: '+02:00' }, 'timeZone'],
    [{ endDate: '2025-12-31', endTime: '12:00' }, 'endDate'],
    [{ endDate: '2026-01-01', endTime: '09:00' }, 'endDate'],
    [{ endDate: '2026-01-02' }, 'endTime'],
    [{ recurrence: '' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=YEARLY' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=DAILY;BYHOUR=3' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=DAILY;FREQ=DAILY' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=DAILY;INTERVAL=0' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=WEEKLY;BYDAY=1MO' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=WEEKLY;BYMONTHDAY=1' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=MONTHLY;BYMONTHDAY=32' }, 'recurrence'],
    [{ recurrence: 'RRULE:FREQ=DAILY;UNTIL=20260230' }, 'recurrence'],
  ] as const)('%j', (timing, field) => {
    const once = { startDate: '2026-01-01', startTime: '10:00', endDate: null, endTime: null, recurrence: null }
    const read = planOf({ ...once, timeZone: 'UTC', ...timing })
    expect(read.ok ? [] : Object.keys(read.error)).toEqual([field])
  })

  test('any text gives a value', () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^RRULE:FREQ=[A-Z]{5,7}(;[A-Z]{4,10}=[0-9A-Z,+-]{1,12}){0,4}$/),
    )
    const words = fc.record({
      startDate: text,
      startTime: text,
      endDate: text,
      endTime: text,
      recurrence: text,
      timeZone: text,
    })
    fc.assert(fc.property(words, (timing) => void planOf(timing)))
    fc.assert(fc.property(text, (recurrence) => void planOf({ ...VALID, recurrence })))
  })
})

const VALID: Timing = {
  startDate: '2026-01-01',
  startTime: '10:00',
  endDate: null,
  endTime: null,
  recurrence: null,
  timeZone: 'UTC',
}
