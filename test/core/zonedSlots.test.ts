import { describe, expect, it } from 'vitest'
import { beginsSlot, lengthInDays, slotIn, slotsOf } from '../../src/core/zonedSlots.ts'

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
