import { describe, expect, it } from 'vitest'
import { readUsageQuery } from '../../../src/core/usage/query.ts'

const SPAN = { startDate: '2026-01-01', stopDate: '2026-02-01' }
const ms = (text: string): number => Date.parse(text)

describe('a question about usage', () => {
  it('is of days of UTC, by the hour, of everything, unless it says else', () => {
    expect(readUsageQuery(SPAN, {})).toEqual({
      ok: true,
      value: {
        fromMs: ms('2026-01-01T00:00Z'),
        untilMs: ms('2026-02-01T00:00Z'),
        zone: 'UTC',
        names: [],
        resolution: 'Hour',
        slots: [...Array(31 * 24).keys()].map((hour) => ms('2026-01-01T00:00Z') + hour * 3_600_000),
        mediaOnly: false,
      },
    })
    const given = { ...SPAN, timeZone: 'Europe/Vienna', mediaOnly: 'TRUE', resolution: 'month' }
    expect(readUsageQuery(given, { resolutions: ['Day', 'Month'] })).toMatchObject({
      value: { fromMs: ms('2025-12-31T23:00Z'), zone: 'Europe/Vienna', mediaOnly: true, resolution: 'Month' },
    })
    // What an endpoint does not take it ignores.
    expect(readUsageQuery({ ...given, streamNames: 'a' }, {})).toMatchObject({
      value: { resolution: 'Hour', names: [] },
    })
  })

  it('has an end after its beginning, and 400 days at most, by tracking id 366', () => {
    const errorOf = (startDate: string, stopDate: string, names?: 'trackingIds' | 'streamNames') => {
      const read = readUsageQuery({ startDate, stopDate, ...(names ? { [names]: 'a' } : {}) }, names ? { names } : {})
      return read.ok ? null : read.error
    }
    const tooEarly = { stopDate: ['must be later than startDate; it is exclusive'] }
    expect([errorOf('2026-01-01', '2026-01-01'), errorOf('2026-01-02', '2026-01-01')]).toEqual([tooEarly, tooEarly])
    expect(errorOf('2026-01-01', '2027-02-05')).toBeNull()
    expect(errorOf('2026-01-01', '2027-02-06')).toEqual({ stopDate: ['must be at most 400 days after startDate'] })
    expect(errorOf('2026-01-01', '2027-01-02', 'trackingIds')).toBeNull()
    const tooLong = { stopDate: ['must be at most 366 days after startDate'] }
    expect(errorOf('2026-01-01', '2027-01-03', 'trackingIds')).toEqual(tooLong)
    expect(errorOf('2026-01-01', '2027-02-05', 'streamNames')).toBeNull()
    expect(Object.keys(errorOf('x', '2026-02-30') ?? {})).toEqual(['startDate', 'stopDate'])
  })

  it('names one to ten streams or tracking ids, each once', () => {
    const read = (names: 'streamNames' | 'trackingIds', value: unknown) => {
      const done = readUsageQuery({ ...SPAN, [names]: value }, { names })
      return done.ok ? done.value.names : done.error[names]
    }
    const bracketed = { ...SPAN, 'trackingIds[]': ['a', 'b'], 'trackingids[1]': 'c', 'trackingIds[x]': 'd' }
    expect(readUsageQuery(bracketed, { names: 'trackingIds' })).toMatchObject({ value: { names: ['a', 'b', 'c'] } })
    const all = Array.from({ length: 11 }, (_, at) => `s${at}`)
    expect(read('streamNames', all.slice(1))).toEqual(all.slice(1))
    expect(read('streamNames', ['a', 'b', 'a'])).toEqual(['a', 'b'])
    for (const wrong of [all, [], undefined]) expect(read('streamNames', wrong)).toEqual(['must name 1 to 10'])
    // A comma belongs to the name of a stream, and lies between tracking ids.
    expect([read('streamNames', 'a,b'), read('trackingIds', 'a,b'), read('trackingIds', 'a\\,b')]).toEqual([
      ['a,b'],
      ['a', 'b'],
      ['a,b'],
    ])
    expect(read('streamNames', '..')).toEqual([expect.stringMatching(/^each must not be/)])
    expect(read('trackingIds', '..')).toEqual(['..'])
    expect(read('trackingIds', 'a\nb')).toEqual([expect.stringMatching(/^each /)])
  })

  it('begins and ends with a slot of its resolution', () => {
    const problemOf = (startDate: string, stopDate: string, resolution?: string) => {
      const read = readUsageQuery({ startDate, stopDate, resolution }, { resolutions: ['Hour', 'Day', 'Month'] })
      return read.ok ? null : Object.values(read.error).flat().join()
    }
    const noon = '2026-01-02T12:00:00Z'
    expect(problemOf('2026-01-01', noon, 'Hour')).toBeNull()
    const ofDays = 'and startDate must be days of timeZone when the resolution is Day'
    expect([problemOf('2026-01-01', noon, 'Day'), problemOf(noon, '2026-01-05', 'Day')]).toEqual([ofDays, ofDays])
    const ofMonths = 'and startDate must be the first day of a month when the resolution is Month'
    expect([problemOf('2026-01-01', '2026-01-31', 'Month'), problemOf('2026-01-02', '2026-02-01', 'Month')]).toEqual([
      ofMonths,
      ofMonths,
    ])
    const required = 'is required, one of Hour, Day, Month'
    expect([problemOf('2026-01-01', noon), problemOf('2026-01-01', noon, 'Week')]).toEqual([required, required])
  })
})
