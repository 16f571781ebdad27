import { describe, expect, it } from 'vitest'
import { readAudienceQuery } from '../../../src/core/audience/query.ts'

const read = (startDate: string, stopDate: string, more: object = {}) =>
  readAudienceQuery({ startDate, stopDate, timeZone: 'Europe/Vienna', ...more })
const ofOne = { country: 'DE', by: 'streamName' }

describe('a question about viewers', () => {
  it('was refused for October by the hour, of one country, where a clock is set back in it', () => {
    expect(read('2026-10-01', '2026-11-01', { resolution: 'Hour' }).ok).toBe(true)
    expect(read('2026-10-01', '2026-11-01', ofOne).ok).toBe(true)
    expect(read('2026-10-01', '2026-11-02', { resolution: 'Hour', ...ofOne })).toEqual({
      ok: false,
      error: {
        resolution: ['may be Hour for at most 31 days'],
        by: ['may not be used beside a filter for more than 31 days'],
      },
    })
  })

  it('is about 400 days at most, however often a clock is set in them', () => {
    expect(read('2025-10-01', '2026-11-05').ok).toBe(true)
    expect(read('2025-10-01', '2026-11-06')).toEqual({
      ok: false,
      error: { stopDate: ['must be at most 400 days after startDate'] },
    })
  })
})
