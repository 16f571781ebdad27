import { expect, it } from 'vitest'
import { rangeOf, resolutionOf, untilNow } from '../../../web/dashboard/src/pages/analytics/range.ts'

it("asks for the reader's days, one day by its hours", () => {
  const days = rangeOf({ first: '2026-02-01', last: '2026-03-31' }, 'Asia/Kolkata')
  expect(days).toEqual({ startDate: '2026-02-01', stopDate: '2026-04-01', timeZone: 'Asia/Kolkata' })
  expect(resolutionOf(days)).toBe('Day')
  expect(resolutionOf(rangeOf({ first: '2026-02-28', last: '2026-02-28' }, 'UTC'))).toBe('Hour')
})

it('leaves out what has not begun, but for the first time', () => {
  const series = { '2026-02-01T18:00:00Z': 1, '2026-02-02T18:00:00Z': 2, '2026-02-03T18:00:00Z': 3 }
  const shown = (now: string) => untilNow(series, Date.parse(now)).map(([, value]) => value)
  expect(shown('2026-02-02T18:00:00Z')).toEqual([1, 2])
  expect(shown('2026-01-01T00:00:00Z')).toEqual([1])
})
