import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  RESOLUTIONS,
  readSeriesQuery,
  type Resolution,
  RECORDS_MAX,
  runTimes,
  slotAfter,
  slotAt,
  SLOTS_MAX,
  toSeries,
} from '../../../src/core/channels/analytics.ts'
import { atOnce } from '../../support/atOnce.ts'
import { instant, moment } from '../../../src/core/validation/moments.ts'

const MINUTE_MS = 60_000
const TIME = { start: '2026-01-31T00:00:00Z', end: '2026-03-01T00:00:00Z' }
const TAKES = { groups: ['channel', 'engine'], ids: 'engineIds' } as const

const cut = fc.record({
  resolution: fc.constantFrom(...RESOLUTIONS),
  offsetMs: fc.integer({ min: -48, max: 56 }).map((quarters) => quarters * 15 * MINUTE_MS),
})
const moments = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2040, 0, 1) })

/** The local time there, without a zone. */
const wall = (ms: number, offsetMs: number): string => new Date(ms + offsetMs).toISOString()

describe('slots', () => {
  test('begin at the local time of their zone, contain every moment, and follow each other without a gap', () => {
    const begins: Record<Resolution, RegExp> = {
      '15min': /:(00|15|30|45):00\.000Z$/,
      hour: /:00:00\.000Z$/,
      day: /T00:00:00\.000Z$/,
      month: /-01T00:00:00\.000Z$/,
    }
    fc.assert(
      fc.property(cut, moments, (how, ms) => {
        const slot = slotAt(ms, how)
        expect(wall(slot, how.offsetMs)).toMatch(begins[how.resolution])
        expect(slot).toBeLessThanOrEqual(ms)
        expect(slotAfter(slot, how)).toBeGreaterThan(ms)
        expect(slotAt(slotAfter(slot, how), how)).toBe(slotAfter(slot, how))
        expect(slotAt(slotAfter(slot, how) - 1, how)).toBe(slot)
      }),
    )
  })

  test('of a report contain all counted amounts, at any resolution', () => {
    const amount = fc.record({ at: fc.nat(1000), id: fc.constantFrom('a', 'b'), amount: fc.nat(9) })
    fc.assert(
      fc.property(cut, moments, fc.array(amount), (how, fromMs, counted) => {
        const question = { ...how, fromMs, untilMs: fromMs + 1001 * 15 * MINUTE_MS }
        const amounts = counted.map(({ at, ...rest }) => ({ ...rest, slotMs: fromMs + at * 15 * MINUTE_MS }))
        const series = atOnce(toSeries(question, amounts))
        const shown = series.flatMap(({ records }) => records).reduce((sum, one) => sum + one.amount, 0)
        expect(shown).toBe(counted.reduce((sum, one) => sum + one.amount, 0))
        const times = series.map(({ timestamp }) => Date.parse(timestamp))
        expect(times[0]).toBe(slotAt(fromMs, how))
        for (const [at, ms] of times.entries()) expect(times[at + 1] ?? slotAfter(ms, how)).toBe(slotAfter(ms, how))
      }),
    )
  })

  test('of a report have the records of a time by their ids, with what caches sent beside it', () => {
    const question = { fromMs: 0, untilMs: 1, resolution: 'hour', offsetMs: 0 } as const
    const amounts = ['b', 'a', 'b'].map((id) => ({ slotMs: 0, id, amount: 3, bytesFromCaches: id === 'b' ? 1 : 0 }))
    expect(atOnce(toSeries(question, amounts))).toStrictEqual([
      {
        timestamp: '1970-01-01T00:00:00.000Z',
        records: [
          { id: 'a', amount: 3 },
          { id: 'b', amount: 6, bytesFromCaches: 2 },
        ],
      },
    ])
  })

  test('of runs add up to the run time within the queried span', () => {
    const run = fc.record({ from: fc.integer({ min: -500, max: 1500 }), minutes: fc.nat(600) })
    fc.assert(
      fc.property(cut, moments, fc.array(run, { maxLength: 5 }), (how, fromMs, runs) => {
        const untilMs = fromMs + 1000 * MINUTE_MS
        const times = runs.map(({ from, minutes }) => {
          const startedAtMs = fromMs + from * MINUTE_MS
          return { id: 'en_1', startedAtMs, endedAtMs: startedAtMs + minutes * MINUTE_MS }
        })
        const within = times.map(
          ({ startedAtMs, endedAtMs }) => Math.min(endedAtMs, untilMs) - Math.max(startedAtMs, fromMs),
        )
        const expected = within.reduce((sum, ms) => sum + Math.max(0, ms), 0)
        const amounts = runTimes({ ...how, fromMs, untilMs }, times)
        expect(amounts.ok && amounts.value.reduce((sum, one) => sum + one.amount, 0)).toBe(expected)
      }),
    )
  })

  test('of more runs than a report can have are refused, and of as many are not', () => {
    const times = Array.from({ length: RECORDS_MAX }, () => ({ id: 'en_1', startedAtMs: 0, endedAtMs: 1 }))
    const question = { fromMs: 0, untilMs: 1, resolution: 'hour', offsetMs: 0 } as const
    expect(runTimes(question, times).ok).toBe(true)
    expect(runTimes(question, [...times, ...times.slice(0, 1)]).ok).toBe(false)
  })
})

describe('a query', () => {
  test('is parsed completely, with the first grouping as default', () => {
    const given = { ...TIME, resolution: 'day', utcOffset: '-210', engineIds: 'en_1,en_2' }
    expect(readSeriesQuery(given, TAKES)).toEqual({
      ok: true,
      value: {
        fromMs: Date.UTC(2026, 0, 31),
        untilMs: Date.UTC(2026, 2, 1),
        resolution: 'day',
        offsetMs: -210 * MINUTE_MS,
        groupBy: 'channel',
        ids: ['en_1', 'en_2'],
      },
    })
  })

  test('that is invalid gets all errors at once, by name', () => {
    const wrong = { end: 'tomorrow', resolution: 'week', utcOffset: '7', groupBy: 'country', streamingFormats: 'hls' }
    const read = readSeriesQuery(wrong, TAKES)
    expect(read.ok ? [] : read.error.details?.map(({ path }) => path).sort()).toEqual(
      ['end', 'groupBy', 'resolution', 'start', 'streamingFormats', 'utcOffset'].sort(),
    )
    const backwards = readSeriesQuery({ start: TIME.end, end: TIME.start, resolution: 'day' }, TAKES)
    expect(backwards.ok ? [] : backwards.error.details).toEqual([
      { path: 'end', message: 'must be later than start; it is exclusive' },
    ])
    expect(readSeriesQuery({ ...TIME, end: TIME.start, resolution: 'day' }, TAKES).ok).toBe(false)
    const takes = (utcOffset: string) => readSeriesQuery({ ...TIME, resolution: 'day', utcOffset }, TAKES).ok
    expect(['-735', '-720', '840', '855', '1.5', ''].map(takes)).toEqual([false, true, true, false, false, false])
  })

  test('is bounded by the most steps of a report', () => {
    // No month is shorter than 28 days.
    const spans = { '15min': 15, hour: 60, day: 1440, month: 28 * 1440 }
    for (const [resolution, minutes] of Object.entries(spans)) {
      const until = (steps: number) => new Date(Date.parse(TIME.start) + steps * minutes * MINUTE_MS).toISOString()
      const read = (steps: number) => readSeriesQuery({ start: TIME.start, end: until(steps), resolution }, TAKES)
      expect([read(SLOTS_MAX).ok, read(SLOTS_MAX + 1).ok]).toEqual([true, false])
    }
  })
})

describe('times', () => {
  test.each([
    ['2026-02-28', Date.UTC(2026, 1, 28)],
    ['2026-02-28T01:00Z', Date.UTC(2026, 1, 28, 1)],
    ['2026-02-28T01:00:00Z', Date.UTC(2026, 1, 28, 1)],
    ['2026-02-28T01:00:00.5+01:00', Date.UTC(2026, 1, 28, 0, 0, 0, 500)],
  ])('%s is a time', (text, ms) => expect(instant(text)).toEqual({ ok: true, value: ms }))

  test.each(['', 'now', '2026', '2026-02-30', '2026-02-28T25:00Z', '2026-02-28T01:00', '2026-2-8', '1767225600'])(
    '"%s" is not a time',
    (text) => expect([instant(text).ok, moment(text).ok]).toEqual([false, false]),
  )

  test('and where JSON form is required, no other form is accepted', () => {
    expect(moment('2026-02-28T01:00:00.000Z')).toEqual({ ok: true, value: Date.UTC(2026, 1, 28, 1) })
    for (const text of ['2026-02-28T01:00:00Z', '2026-02-30T01:00:00.000Z']) expect(moment(text).ok).toBe(false)
  })
})
