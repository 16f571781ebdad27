import { expect, it } from 'vitest'
import {
  audienceQueryOf,
  changeOf,
  divisionsBeside,
  filtersOf,
} from '../../../web/dashboard/src/pages/analytics/audienceQuery.ts'

const LATE = new Date('2026-01-31T23:30:00Z')
const of = (query: string, span: 'today' | 'week' | 'month' | 'own' = 'week', timeZone = 'UTC') =>
  audienceQueryOf(span, new URLSearchParams(query), LATE, timeZone)

it('asks for days of the reader, by the hour for one day', () => {
  expect(of('')).toEqual({
    startDate: '2026-01-25',
    stopDate: '2026-02-01',
    timeZone: 'UTC',
    resolution: 'Day',
    by: 'streamName',
  })
  expect(of('', 'today', 'Asia/Tokyo')).toMatchObject({
    startDate: '2026-02-01',
    stopDate: '2026-02-02',
    resolution: 'Hour',
  })
  expect(of('from=2026-01-05&to=2026-01-07', 'own')).toMatchObject({ startDate: '2026-01-05', stopDate: '2026-01-08' })
  expect(of('from=2026-01-09&to=2026-01-07', 'own')).toMatchObject({ startDate: '2026-01-07', stopDate: '2026-01-10' })
  expect(of('from=2026-13-01', 'own')).toMatchObject({ startDate: '2026-01-31' })
  expect(of('from=tomorrow', 'own')).toMatchObject({ startDate: '2026-01-31', stopDate: '2026-02-01' })
})

it('takes a stream and one other filter, and divides by what the report has beside them', () => {
  expect(of('streamName=show&device=tv&site=a.example&by=site')).toMatchObject({
    streamName: 'show',
    site: 'a.example',
  })
  expect(of('streamName=show&by=browser').by).toBe('browser')
  expect(of('streamName=show&by=streamName').by).toBe('country')
  expect(of('country=AT&by=device').by).toBe('streamName')
  expect(of('streamName=show&country=AT&by=device').by).toBeUndefined()
  expect(of('country=AT&from=2025-12-01&to=2026-01-31', 'own').by).toBeUndefined()
  expect(filtersOf(new URLSearchParams('protocol=ftp&device='))).toEqual([])
  expect(divisionsBeside([['country', 'AT']])).toEqual(['streamName'])
})

it('says how much a figure has changed', () => {
  expect([changeOf(12, 10, 'en'), changeOf(5, 10, 'en'), changeOf(10, 10, 'en'), changeOf(3, 0, 'en')]).toEqual([
    '+20%',
    '-50%',
    '0%',
    '',
  ])
})
