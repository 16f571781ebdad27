import { describe, expect, it } from 'vitest'
import {
  beginOf,
  beginsSlot,
  lengthInDays,
  slotIn,
  type SlotLength,
  slotsOf,
  spansOf,
} from '../../src/core/zonedSlots.ts'

const DAY_MS = 86_400_000

const ms = (text: string): number => Date.parse(text)
const iso = (slots: readonly number[]): string[] => slots.map((slot) => new Date(slot).toISOString().slice(0, 16))

describe('slots of a time zone', () => {
  it('are its days, also where a clock is set', () => {
    const span = { fromMs: ms('2026-03-27T23:00Z'), untilMs: ms('2026-03-30T22:00Z') }
    const slots = slotsOf({ ...span, zone: 'Europe/Vienna', resolution: 'Day' })
    expect(iso(slots)).toEqual(['2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00'])
  })

  it('are its months, which begin with the hour of their midnight', () => {
    const span = { fromMs: ms('2026-01-31T18:00Z'), untilMs: ms('2026-03-31T18:00Z') }
    const slots = slotsOf({ ...span, zone: 'Asia/Kolkata', resolution: 'Month' })
    expect(iso(slots)).toEqual(['2026-01-31T18:00', '2026-02-28T18:00'])
    expect(slots.map((slot) => beginsSlot(slot, 'Asia/Kolkata', 'Month'))).toEqual([true, true])
    expect(beginsSlot(ms('2026-01-31T19:00Z'), 'Asia/Kolkata', 'Day')).toBe(false)
    expect(beginsSlot(ms('2026-02-01T18:00Z'), 'Asia/Kolkata', 'Month')).toBe(false)
  })

  it('are found by any time in them', () => {
    const slots = [10, 20, 30]
    expect([10, 19, 20, 29, 30, 99].map((at) => slotIn(slots, at))).toEqual([10, 10, 20, 20, 30, 30])
  })

  it.each([
    ['of a month in which a clock is set back', 'Europe/Vienna', '2026-09-30T22:00Z', '2026-10-31T23:00Z', 31],
    ['of one in which it is set forward', 'Europe/Vienna', '2026-02-28T23:00Z', '2026-03-31T22:00Z', 31],
    ['of one in which it is set by two hours', 'Antarctica/Troll', '2026-09-30T22:00Z', '2026-11-01T00:00Z', 31],
    ['from noon to noon', 'Europe/Vienna', '2026-06-01T10:00Z', '2026-06-02T10:00Z', 1],
    ['from noon to one hour after', 'Europe/Vienna', '2026-06-01T10:00Z', '2026-06-02T11:00Z', 2],
    ['of one hour', 'UTC', '2026-01-01T05:00Z', '2026-01-01T06:00Z', 1],
  ])('are counted by the calendar: %s', (_, zone, from, until, days) => {
    expect(lengthInDays({ zone, fromMs: ms(from), untilMs: ms(until) })).toBe(days)
  })
})

const read = (from: string, until: string, longest: SlotLength = 'month') =>
  spansOf({ fromMs: Date.parse(from), untilMs: Date.parse(until) }, longest)
    .toSorted((a, b) => a.fromMs - b.fromMs)
    .map(
      ({ length, fromMs, untilMs }) =>
        `${length} ${new Date(fromMs).toISOString().slice(0, 13)} ${(untilMs - fromMs) / 3_600_000}`,
    )

it('reads a span as whole months, whole days beside them, and hours at its ends', () => {
  expect(read('2025-10-29T22:00Z', '2026-02-02T03:00Z')).toEqual([
    'hour 2025-10-29T22 2',
    'day 2025-10-30T00 48',
    'month 2025-11-01T00 2208',
    'day 2026-02-01T00 24',
    'hour 2026-02-02T00 3',
  ])
  expect(read('2026-01-01T00:00Z', '2026-02-01T00:00Z')).toEqual(['month 2026-01-01T00 744'])
  expect(read('2026-01-01T00:00Z', '2026-02-01T00:00Z', 'day')).toEqual(['day 2026-01-01T00 744'])
  expect(read('2026-01-01T01:00Z', '2026-01-01T04:00Z')).toEqual(['hour 2026-01-01T01 3'])
  expect(read('2026-01-01T01:00Z', '2026-01-01T01:00Z')).toEqual([])
})

it('reads thirteen months of a stream as at most 12 months, 60 days and 46 hours, wherever they begin', () => {
  for (let hour = 0; hour < 400 * 24; hour += 7) {
    const fromMs = Date.UTC(2025, 0, 1) + hour * 3_600_000
    const spans = spansOf({ fromMs, untilMs: fromMs + 396 * DAY_MS }, 'month')
    const rows = { month: 0, day: 0, hour: 0 }
    for (const { length, fromMs: ms, untilMs } of spans) {
      expect([beginOf(length, ms), beginOf(length, untilMs)]).toEqual([ms, untilMs])
      rows[length] += Math.round((untilMs - ms) / ({ month: 30.5, day: 1, hour: 1 / 24 }[length] * DAY_MS))
    }
    expect(rows.month).toBeLessThanOrEqual(13)
    expect(rows.day).toBeLessThanOrEqual(60)
    expect(rows.hour).toBeLessThanOrEqual(46)
    const sum = spans.reduce((ms, span) => ms + span.untilMs - span.fromMs, 0)
    expect(sum).toBe(396 * DAY_MS)
  }
})
