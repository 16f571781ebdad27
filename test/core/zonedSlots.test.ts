import { describe, expect, it } from 'vitest'
import { beginsSlot, slotIn, slotsOf } from '../../src/core/zonedSlots.ts'

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
})
