import { afterAll, beforeAll, expect, it } from 'vitest'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { audienceCsv, type AudienceReport } from '../../src/core/audience/report.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { crowd } from '../support/crowd.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

const DATES = 'startDate=2026-01-31&stopDate=2026-02-01'

let at: TestNode
beforeAll(async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 31, 12, 30))
  at = await startTestNode({ clock })
  const client = { device: 'tv', browser: 'AVPlayer' } as const
  const [session] = await crowd(at.ctx, at.accountId, 'show', 1, {
    client,
    country: 'NZ',
    origin: 'https://=a.example',
  })
  countBytes(at.ctx, session?.id ?? '', { bytesIn: 0, bytesOut: 1 })
  await at.node.count()
  clock.advance(60_000)
})
afterAll(() => at.close())

const read = (query: string) => at.call('GET', `/api/analytics/audience?${query}`)

const ONE = { views: 1, viewers: 1, watchSeconds: 60, mostAtOnce: 1 }

it('answers with the total, the range before, a series and divisions', async () => {
  const { json } = await read(`${DATES}&timeZone=Asia/Tokyo&resolution=day&by=country,site&by=browser`)
  expect(json.data).toEqual({
    from: '2026-01-30T15:00:00Z',
    until: '2026-01-31T15:00:00Z',
    total: ONE,
    before: {
      from: '2026-01-29T15:00:00Z',
      until: '2026-01-30T15:00:00Z',
      views: 0,
      viewers: 0,
      watchSeconds: 0,
      mostAtOnce: 0,
    },
    series: [{ time: '2026-01-30T15:00:00Z', ...ONE }],
    by: {
      country: [{ value: 'NZ', ...ONE }],
      site: [{ value: '=a.example', ...ONE }],
      browser: [{ value: 'AVPlayer', ...ONE }],
    },
  })
  expect((await read(`${DATES}&country=zz`)).json.data.total.views).toBe(0)
  expect((await read(`${DATES}&streamName=other&device=tv`)).json.data.total.views).toBe(0)
  expect((await read(`${DATES}&streamName=show&device=tv`)).json.data.total.views).toBe(1)
})

const REPORTED =
  'players,started,startSeconds,startSecondsMedian,startSeconds95,playedSeconds,' +
  'stalls,stalledSeconds,behindSeconds,droppedPercent,switches,startFailures'

it('answers as CSV, in which no cell is a formula', async () => {
  const { json } = await read(`${DATES}&by=site`)
  expect(audienceCsv(json.data as AudienceReport).split('\r\n')).toEqual([
    `part,value,views,viewers,watchSeconds,mostAtOnce,${REPORTED}`,
    `total,,1,1,60,1${','.repeat(12)}`,
    `before,,0,0,0,0${','.repeat(12)}`,
    `site,"'=a.example",1,1,60,1${','.repeat(12)}`,
    '',
  ])
})

it('refuses what no report can say, each with its parameter', async () => {
  const errorsOf = async (query: string) => Object.keys((await read(query)).json.data.errors)
  expect(await errorsOf('')).toEqual(['startDate', 'stopDate'])
  expect(await errorsOf('startDate=2026-02-30&stopDate=2026-02-01T10:30Z')).toEqual(['startDate', 'stopDate'])
  expect(await errorsOf('startDate=2026-02-01&stopDate=2026-01-31')).toEqual(['stopDate'])
  expect(await errorsOf('startDate=2026-02-01&stopDate=2027-03-20')).toEqual(['stopDate'])
  expect(await errorsOf(`${DATES}&timeZone=+05:30`)).toEqual(['timeZone'])
  expect(await errorsOf(`${DATES}&country=AT&device=tv`)).toEqual(['device'])
  expect(await errorsOf(`${DATES}&country=AT&by=site`)).toEqual(['by'])
  expect(await errorsOf(`${DATES}&streamName=a&by=streamName`)).toEqual(['by'])
  expect(await errorsOf('startDate=2026-01-01&stopDate=2026-03-01&country=AT&by=streamName')).toEqual(['by'])
  expect(await errorsOf(`${DATES}&protocol=srt&by=heat`)).toEqual(['protocol', 'by'])
  expect(await errorsOf('startDate=2026-01-01&stopDate=2026-03-01&resolution=Hour')).toEqual(['resolution'])
})
