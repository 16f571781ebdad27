import { describe, expect, test } from 'vitest'
import {
  firstOf,
  type Planned,
  slotsByDay,
  spanOf,
  timesOf,
} from '../../../web/dashboard/src/pages/channels/calendarSlots.ts'
import {
  addDays,
  dayOf,
  daysOfView,
  midnightMs,
  readDay,
  stepDay,
} from '../../../web/dashboard/src/pages/channels/localDays.ts'
import { barsByDay } from '../../../web/dashboard/src/pages/channels/runBars.ts'

const HOUR_MS = 3_600_000
const at = (text: string): number => Date.parse(text)

test('what begins first is found, whatever order schedulers have', () => {
  const later = { name: 'Evening', nextStart: '2026-12-02T19:15:00Z' }
  const sooner = { name: 'Breakfast', nextStart: '2026-11-30T08:30:00+01:00' }
  expect(firstOf([{ name: 'Over' }, later, sooner])).toEqual({ name: 'Breakfast', start: sooner.nextStart })
  expect(firstOf([{ name: 'Over' }])).toBeNull()
})

describe('days of a zone', () => {
  test.each([
    ['Europe/Berlin', '2026-03-29', 23],
    ['Europe/Berlin', '2026-10-25', 25],
    ['Europe/Berlin', '2026-06-01', 24],
    ['America/New_York', '2026-03-08', 23],
    ['Pacific/Auckland', '2026-04-05', 25],
    ['Asia/Kolkata', '2026-03-29', 24],
    ['UTC', '2026-03-29', 24],
  ])('begin at midnight, also where the clock changes: %s %s', (zone, day, hours) => {
    const [start, end] = [midnightMs(day, zone), midnightMs(addDays(day, 1), zone)]
    expect((end - start) / HOUR_MS).toBe(hours)
    expect([dayOf(start, zone), dayOf(start - 1, zone), dayOf(end - 1, zone)]).toEqual([day, addDays(day, -1), day])
  })

  test('a week is from Monday to Sunday, and a month is in whole weeks', () => {
    expect(daysOfView('week', '2026-11-22')).toEqual(daysOfView('week', '2026-11-16'))
    expect([daysOfView('week', '2026-11-22')[0], daysOfView('week', '2026-11-22').at(-1)]).toEqual([
      '2026-11-16',
      '2026-11-22',
    ])
    const month = daysOfView('month', '2026-11-22')
    expect([month.length, month[0], month.at(-1)]).toEqual([42, '2026-10-26', '2026-12-06'])
    expect(daysOfView('month', '2027-02-10')).toHaveLength(28)
  })

  test('the views beside one are a week or a month away, also at the end of a year', () => {
    expect(stepDay('week', '2026-12-30', 1)).toBe('2027-01-06')
    expect(stepDay('month', '2026-12-31', 1)).toBe('2027-01-01')
    expect(stepDay('month', '2026-01-31', -1)).toBe('2025-12-01')
  })

  test('a day of a broken link counts as absent', () => {
    expect(readDay('2026-11-22', 'x')).toBe('2026-11-22')
    for (const broken of [null, '', '2026-13-01', '22.11.2026', '2026-11-22T00']) expect(readDay(broken, 'x')).toBe('x')
  })
})

const planned = (...occurrences: Planned['occurrences']): Planned[] => [
  { scheduler: { id: 'sc_1', name: 'Show', timeZone: 'America/New_York' }, occurrences },
]
const NOW = at('2026-11-18T12:00:00Z')
const DAYS = ['2026-11-17', '2026-11-18', '2026-11-19']
const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 16)

describe('the slots of a calendar', () => {
  const shown = (rows: readonly Planned[], zone: string): unknown =>
    [...slotsByDay(rows, DAYS, zone, NOW)].map(([day, slots]) => [
      day,
      ...slots.map((slot) => `${timesOf(slot, clock)} ${slot.state}`),
    ])

  test('stand in the days of the zone of the viewer, the earliest first', () => {
    const rows = planned(
      { start: '2026-11-18T23:30:00Z', end: '2026-11-18T23:45:00Z' },
      { start: '2026-11-18T08:00:00Z', end: '2026-11-18T09:00:00Z' },
    )
    expect(shown(rows, 'UTC')).toEqual([
      ['2026-11-17'],
      ['2026-11-18', '08:00–09:00 over', '23:30–23:45 planned'],
      ['2026-11-19'],
    ])
    expect(shown(rows, 'Europe/Berlin')).toEqual([
      ['2026-11-17'],
      ['2026-11-18', '08:00–09:00 over'],
      ['2026-11-19', '23:30–23:45 planned'],
    ])
  })

  test('over midnight are in both days, but not in a day that begins when they end', () => {
    expect(shown(planned({ start: '2026-11-18T22:00:00Z', end: '2026-11-19T01:00:00Z' }), 'UTC')).toEqual([
      ['2026-11-17'],
      ['2026-11-18', '22:00– planned'],
      ['2026-11-19', '–01:00 planned'],
    ])
    expect(shown(planned({ start: '2026-11-17T22:00:00Z', end: '2026-11-18T00:00:00Z' }), 'UTC')).toEqual([
      ['2026-11-17', '22:00–00:00 over'],
      ['2026-11-18'],
      ['2026-11-19'],
    ])
  })

  test('without an end have their start alone; active and skipped ones say so', () => {
    const rows = planned(
      { start: '2026-11-18T10:00:00Z', active: true },
      { start: '2026-11-17T10:00:00Z', end: '2026-11-17T11:00:00Z', skipped: 'it was disabled' },
    )
    expect(shown(rows, 'UTC')).toEqual([
      ['2026-11-17', '10:00–11:00 skipped'],
      ['2026-11-18', '10:00 active'],
      ['2026-11-19'],
    ])
  })

  test('are asked for with a day more at each end, for zones on both sides of UTC', () => {
    expect(spanOf(DAYS)).toEqual({ from: '2026-11-16T00:00:00.000Z', until: '2026-11-21T00:00:00.000Z' })
  })
})

describe('the timeline of runs', () => {
  const run = (engineId: string, start: string, end?: string, stopType?: 'error' | 'api') => ({
    engineId,
    start,
    ...(end ? { end } : {}),
    ...(stopType ? { stopType } : {}),
  })

  test('cuts runs at midnight, and counts the time of several engines once', () => {
    const runs = [
      run('en_1', '2026-11-17T18:00:00Z', '2026-11-18T06:00:00Z', 'api'),
      run('en_2', '2026-11-18T03:00:00Z', '2026-11-18T09:00:00Z', 'error'),
      run('en_1', '2026-11-18T11:00:00Z'),
      run('en_gone', '2026-11-18T00:00:00Z'),
    ]
    expect(barsByDay(runs, ['en_1', 'en_2'], DAYS, 'UTC', NOW)).toEqual([
      { day: '2026-11-17', bars: [{ lane: 0, from: 0.75, until: 1, failed: false }], seconds: 6 * 3600 },
      {
        day: '2026-11-18',
        bars: [
          { lane: 0, from: 0, until: 0.25, failed: false },
          { lane: 1, from: 0.125, until: 0.375, failed: true },
          { lane: 0, from: 11 / 24, until: 0.5, failed: false },
        ],
        seconds: 10 * 3600,
      },
      { day: '2026-11-19', bars: [], seconds: 0 },
    ])
  })

  test('marks an error in the day in which the run ended, and in no other', () => {
    const runs = [run('en_1', '2026-11-17T12:00:00Z', '2026-11-18T12:00:00Z', 'error')]
    const failed = barsByDay(runs, ['en_1'], DAYS, 'UTC', NOW).map(({ bars }) => bars.map((bar) => bar.failed))
    expect(failed).toEqual([[false], [true], []])
  })
})
