import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSessionQuery, readStreamStop } from '../../src/core/sessions/sessionQuery.ts'
import { readUsageQuery } from '../../src/core/usage/query.ts'
import { type SlotResolution, slotsOf } from '../../src/core/zonedSlots.ts'
import { cases } from '../support/randomCases.ts'

const DAY_MS = 86_400_000
const EPOCH = Date.parse('2000-01-01T00:00:00Z')
const value = fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(undefined), fc.integer())
const day = (days: number) => new Date(EPOCH + days * DAY_MS).toISOString().slice(0, 10)

describe('any query', () => {
  it('of analytics gives a bounded query or errors by field', () => {
    const names = fc.constantFrom('startDate', 'stopDate', 'trackingIds', 'streamNames', 'resolution', '__proto__', 'x')
    const date = fc.constantFrom('2026-01-01', '2026-01-02', '2027-01-01', '2026-02-30')
    const near = fc.record({
      startDate: date,
      stopDate: date,
      trackingIds: fc.constant('a'),
      resolution: fc.constantFrom('Hour', 'Day', 'Month'),
    })
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(fc.oneof(names, fc.string()), value), near), (query) => {
        const read = readUsageQuery(query, { names: 'trackingIds', resolutions: ['Hour', 'Day'] })
        if (read.ok) expect(read.value.untilMs).toBeGreaterThan(read.value.fromMs)
        else expect(Object.keys(read.error).length).toBeGreaterThan(0)
      }),
    )
  })

  it('of analytics can name each tracking id, with commas or backslashes too, alone and beside others', () => {
    const id = fc.string({ minLength: 1, maxLength: 20, size: 'max', unit: fc.constantFrom(',', '\\', 'a', 'ä', ' ') })
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 10 }), (ids) => {
        const written = ids.map((one) => one.replaceAll(',', '\\,'))
        // An id that ends in a backslash is named by itself.
        const joined = ids.some((one) => one.endsWith('\\')) ? written : written.join(',')
        const query = { startDate: '2026-01-01', stopDate: '2026-01-02', trackingIds: joined }
        expect(readUsageQuery(query, { names: 'trackingIds' })).toMatchObject({ value: { names: ids } })
      }),
    )
  })

  it('of sessions and streams gives a query or errors by field', () => {
    const fields = fc.constantFrom('action', 'protocol', 'tokenId', 'address', 'limit')
    const streamId = fc.oneof(fc.constantFrom('a1b2c3/show', 'a1b2c3/a/b'), fc.string(), fc.anything())
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(fields, fc.string()), value), (query) => {
        const read = readSessionQuery(query)
        if (!read.ok) expect(Object.keys(read.error).length).toBeGreaterThan(0)
      }),
    )
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.record({ streamId })), (body) => {
        const read = readStreamStop(body)
        if (read.ok)
          expect(`${read.value.accountId}/${read.value.streamName}`).toBe((body as { streamId: string }).streamId)
      }),
    )
  })
})

describe('slots', () => {
  const resolution = fc.constantFrom<SlotResolution>('Hour', 'Day')

  it('follow one another without a gap from the first moment to the last', () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.integer({ min: 1, max: 366 }), resolution, (from, days, wanted) => {
        const query = { startDate: day(from), stopDate: day(from + days), resolution: wanted }
        const read = readUsageQuery(query, { resolutions: ['Hour', 'Day'] })
        if (!read.ok) throw new Error(JSON.stringify(read.error))
        const slots = slotsOf(read.value)
        const length = wanted === 'Hour' ? DAY_MS / 24 : DAY_MS
        expect(slots).toEqual(
          Array.from({ length: (days * DAY_MS) / length }, (_, n) => read.value.fromMs + n * length),
        )
      }),
      cases(50),
    )
  })

  it('of months begin on the first of each', () => {
    const read = readUsageQuery(
      { startDate: '2024-01-01', stopDate: '2025-01-01', resolution: 'Month' },
      { resolutions: ['Month'] },
    )
    const months = read.ok ? slotsOf(read.value).map((ms) => new Date(ms).toISOString().slice(0, 10)) : []
    expect(months).toEqual(Array.from({ length: 12 }, (_, n) => `2024-${String(n + 1).padStart(2, '0')}-01`))
  })
})
