import { expect, it } from 'vitest'
import { columnOf, minutesOf, readMinutesQuery } from '../../../src/core/streams/seriesQuery.ts'

const MINUTE_MS = 60_000

it('gives all metrics of the last hour unless the query names others, in the usual order', () => {
  expect(readMinutesQuery({})).toEqual({
    ok: true,
    value: { metrics: ['viewers', 'bytesOut', 'bytesIn'], range: 'hour' },
  })
  expect(readMinutesQuery({ metric: 'bytesIn, viewers', range: 'day' })).toEqual({
    ok: true,
    value: { metrics: ['viewers', 'bytesIn'], range: 'day' },
  })
  expect(readMinutesQuery({ metric: ['viewers', 'x'], range: 'week' })).toMatchObject({
    error: { metric: [/^must name/], range: [/^must be one of hour, day$/] },
  })
  for (const [name, query] of Object.entries({ metric: { metric: 'x' }, range: { range: 'x' } })) {
    const read = readMinutesQuery(query)
    expect(read.ok ? [] : Object.keys(read.error)).toEqual([name])
  }
})

it('ends with the minute in progress, also at its first moment', () => {
  const from = 100 * MINUTE_MS
  expect(minutesOf('hour', from)).toEqual({ fromMs: 41 * MINUTE_MS, untilMs: 101 * MINUTE_MS })
  expect(minutesOf('hour', from + MINUTE_MS - 1)).toEqual(minutesOf('hour', from))
  expect(minutesOf('day', 2000 * MINUTE_MS).fromMs).toBe(561 * MINUTE_MS)
})

it('has a value for each minute, 0 where nothing is on record, and leaves out what is outside', () => {
  const rowOf = (at: number, viewers: number) => ({ minuteMs: at * MINUTE_MS, viewers, bytesIn: 0, bytesOut: 0 })
  const rows = [rowOf(9, 7), rowOf(10, 1), rowOf(12, 3), rowOf(13, 9)]
  expect(columnOf(rows, 'viewers', { fromMs: 10 * MINUTE_MS, untilMs: 13 * MINUTE_MS })).toEqual([1, 0, 3])
})
