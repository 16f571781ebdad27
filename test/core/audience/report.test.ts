import { expect, it } from 'vitest'
import { spansOf } from '../../../src/core/audience/report.ts'
import { beginOf, type SlotLength } from '../../../src/core/audience/slots.ts'

const DAY_MS = 86_400_000

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
