import { expect, it } from 'vitest'
import { byStep, rangeOf } from '../../../web/dashboard/src/pages/analytics/range.ts'

const HOUR_MS = 3_600_000
/** Midnight of the zone that the machine has. */
const midnight = (month: number, day: number): number => new Date(2026, month - 1, day).getTime()
const iso = (ms: number): string => new Date(Math.floor(ms / HOUR_MS) * HOUR_MS).toISOString()

it("asks for the hours of the reader's days, and sums them up to now", () => {
  const noon = midnight(2, 3) + 12 * HOUR_MS
  const range = rangeOf({ first: '2026-02-01', last: '2026-02-04' }, noon)
  expect(range).toMatchObject({ startDate: iso(midnight(2, 1)), stopDate: iso(midnight(2, 5)), resolution: 'Hour' })
  expect(range.steps).toHaveLength(3)
  const at = (ms: number, bytesOut: number) => [iso(ms), { bytesOut, bytesIn: 1 }] as const
  const series = [at(midnight(2, 1), 5), at(midnight(2, 2) - HOUR_MS, 7), at(midnight(2, 2), 11), at(noon, 13)]
  expect(byStep(Object.fromEntries(series), range)).toEqual([
    { bytesOut: 12, bytesIn: 2 },
    { bytesOut: 11, bytesIn: 1 },
    { bytesOut: 13, bytesIn: 1 },
  ])
})

it('shows one day by its hours, and more than a month by days of UTC', () => {
  const day = rangeOf({ first: '2026-02-03', last: '2026-02-03' }, midnight(2, 3) + 2.5 * HOUR_MS)
  expect(day).toMatchObject({ shownBy: 'Hour' })
  expect(day.steps).toHaveLength(3)
  expect(rangeOf({ first: '2026-02-03', last: '2026-02-03' }, 0).steps).toHaveLength(1)
  const months = rangeOf({ first: '2026-01-01', last: '2026-02-28' }, midnight(3, 1))
  expect(months).toMatchObject({ resolution: 'Day', shownBy: 'Day' })
  expect([months.startDate, months.stopDate]).toEqual(['2026-01-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'])
  expect(months.steps).toHaveLength(59)
})
