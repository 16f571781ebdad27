import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Report, type ReportName, REPORTS } from '../../src/commands/usage/reports.ts'
import type { UsageKey } from '../../src/core/sessions/types.ts'
import { addUsage } from '../conformance/store.samples.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

const HOUR_MS = 3_600_000
const AT = Date.parse('2026-01-10T09:30:00Z')
const REPORTED = Date.parse('2026-03-01T12:00:00Z')
const DATES = 'startDate=2026-01-01&stopDate=2026-02-01'
// A wide sign means the same to some spreadsheets.
const HOSTILE = '＝HYPERLINK("https://a.example"), "x'

describe('reports', () => {
  let at: TestNode
  beforeAll(async () => {
    at = await startTestNode()
    await served({ protocol: 'whip', tokenId: 3, streamName: 'a' }, 500, 0)
    await served({ protocol: 'whep', tokenId: 4, streamName: 'a', trackingId: 'customer-1' }, 0, 1000)
    await served({ protocol: 'hls', tokenId: 4, streamName: HOSTILE, trackingId: 'customer-2' }, 0, 300)
    await served({ protocol: 'hls', streamName: 'b', trackingId: 'other' }, 0, 30)
    await served({ protocol: 'hls', tokenId: 5, streamName: 'b' }, 0, 7, AT + 3_600_000)
  })
  afterAll(() => at.close())

  function served(over: Partial<UsageKey>, bytesIn: number, bytesOut: number, atMs = AT): Promise<void> {
    const hourMs = atMs - (atMs % HOUR_MS)
    return addUsage(at.ctx.store, { accountId: at.accountId, ...over, hourMs, bytesIn, bytesOut })
  }
  const read = async (path: string) => (await at.call('GET', `/api/analytics/${path}`)).json

  it('of bytes by protocol and by token', async () => {
    expect((await read(`account/protocol_total?${DATES}`)).data).toEqual({
      hls: { bytesOut: 337, bytesIn: 0 },
      whep: { bytesOut: 1000, bytesIn: 0 },
      whip: { bytesOut: 0, bytesIn: 500 },
    })
    expect((await read(`account/token_total?${DATES}`)).data).toEqual([
      { tokenId: 4, bytesOut: 1300, bytesIn: 0 },
      { tokenId: 3, bytesOut: 0, bytesIn: 500 },
      { bytesOut: 30, bytesIn: 0 },
      { tokenId: 5, bytesOut: 7, bytesIn: 0 },
    ])
    expect((await read('account/token_total?startDate=2025-01-01&stopDate=2025-02-01')).data).toEqual([])
  })

  it('by the days of a time zone, in which the query names its dates', async () => {
    const days = 'startDate=2026-01-10&stopDate=2026-01-12&timeZone=Pacific/Kiritimati'
    const series = `account/series?${days}&resolution=Day`
    expect((await read(series)).data.bandwidth).toEqual({
      '2026-01-09T10:00:00Z': { bytesOut: 1330, bytesIn: 500 },
      '2026-01-10T10:00:00Z': { bytesOut: 7, bytesIn: 0 },
    })
    expect((await read(`account/total?${days}`)).data).toMatchObject({ bytesOut: 1337, bytesIn: 500 })
    const wrong = await read(`account/series?startDate=2026-01-10&stopDate=2026-01-10&timeZone=Atlantis&resolution=Day`)
    expect(Object.keys(wrong.data.errors)).toEqual(['timeZone', 'stopDate'])
  })

  it('of media alone count no report of a publisher or viewer as media of the other side', async () => {
    await served({ protocol: 'whip', tokenId: 8, streamName: 'quiet' }, 700, 9, REPORTED)
    await served({ protocol: 'whep', tokenId: 9, streamName: 'quiet', country: 'NZ' }, 11, 60, REPORTED)
    const dates = 'startDate=2026-03-01&stopDate=2026-03-02'
    const media = `${dates}&mediaOnly=true`
    expect((await read(`account/total?${dates}`)).data).toMatchObject({ bytesOut: 69, bytesIn: 711 })
    expect((await read(`account/total?${media}`)).data).toMatchObject({ bytesOut: 60, bytesIn: 700 })
    expect((await read(`account/protocol_total?${media}`)).data).toEqual({
      whep: { bytesOut: 60, bytesIn: 0 },
      whip: { bytesOut: 0, bytesIn: 700 },
    })
    expect((await read(`account/token_total?${media}`)).data).toEqual([
      { tokenId: 8, bytesOut: 0, bytesIn: 700 },
      { tokenId: 9, bytesOut: 60, bytesIn: 0 },
    ])
    expect((await read(`account/geo_total?${media}`)).data.geo.NZ).toMatchObject({ bytesOut: 60, bytesIn: 0 })
    expect((await at.call('GET', `/api/analytics/account/total?${dates}&mediaOnly=perhaps`)).status).toBe(400)
  })

  it('list the tracking ids that occur, also those that begin with a text', async () => {
    const first = await read(`tracking/ids?${DATES}&limit=1`)
    expect(first.data).toEqual([{ trackingId: 'customer-1', bytesOut: 1000, bytesIn: 0 }])
    const rest = await read(`tracking/ids?${DATES}&cursor=${first.pagination.cursor}`)
    expect(rest).toMatchObject({
      data: [{ trackingId: 'customer-2' }, { trackingId: 'other' }],
      pagination: { hasMore: false },
    })
    expect((await read(`tracking/ids?${DATES}&prefix=cust`)).data).toHaveLength(2)
    expect((await read(`tracking/ids?${DATES}&prefix=Cust`)).data).toEqual([])
    expect((await read('tracking/ids?startDate=2025-01-01&stopDate=2025-02-01')).data).toEqual([])
    const { status, json } = await at.call('GET', `/api/analytics/tracking/ids?limit=0&prefix=${'x'.repeat(129)}`)
    expect([status, Object.keys(json.data.errors).sort()]).toEqual([400, ['limit', 'prefix', 'startDate', 'stopDate']])
  })
})

describe('many reports at once', () => {
  it('are made a few at a time, so that their rows fit into memory, and too many of one account are refused', async () => {
    const sluice = await runApp()
    const { usage } = sluice.app.ctx.store.read
    const held: (() => void)[] = []
    const spy = vi.spyOn(usage, 'sum').mockImplementation(async () => {
      await new Promise<void>((resolve) => held.push(resolve))
      return []
    })
    const browser = await browserOf(sluice)
    const path = `/analytics/account/token_total?${DATES}`
    const ask = (_: unknown, at: number) =>
      at % 2 === 0 ? sluice.call('GET', `/api${path}`) : browser.call('GET', path)
    try {
      const answers = Array.from({ length: 105 }, ask)
      const refused = await Promise.race(answers)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
      expect(held).toHaveLength(4)
      spy.mockRestore()
      for (const release of held) release()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 104 }, () => 200), 429])
    } finally {
      spy.mockRestore()
      for (const release of held) release()
      await sluice.close()
    }
  })
})

describe('CSV', () => {
  let sluice: RunningApp
  beforeAll(async () => {
    sluice = await runApp()
    const { ctx } = sluice.app
    const of = { accountId: sluice.accountId, hourMs: AT - (AT % HOUR_MS), trackingId: 'one', bytesIn: 1, bytesOut: 2 }
    await addUsage(ctx.store, { ...of, streamName: 'a' }, { ...of, streamName: HOSTILE })
  })
  afterAll(() => sluice.close())

  const csv = (path: string, accept = 'text/csv') => sluice.call('GET', `/api/analytics/${path}`, undefined, { accept })

  it('has a line for each sum, and no cell that a spreadsheet takes for a formula', async () => {
    const { status, headers, text } = await csv(`tracking/total?${DATES}&trackingIds=one`)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    expect(headers.get('content-disposition')).toBe('attachment; filename="tracking-total.csv"')
    expect(text.split('\r\n')).toEqual([
      'trackingId,streamName,bytesOut,bytesIn',
      'one,a,2,1',
      `one,"'${HOSTILE.replaceAll('"', '""')}",2,1`,
      '',
    ])
  })

  it('is there for every report, with the dimensions of the report', async () => {
    const head = 'bytesOut,bytesIn,restreamSecondsUsed,restreamBytesOut,restreamBytesIn'
    expect((await csv(`account/total?${DATES}`)).text).toBe(`${head}\r\n4,2,0,0,0\r\n`)
    const months = await csv(`account/series?${DATES}&resolution=Month`)
    expect(months.text).toBe(`time,${head}\r\n2026-01-01T00:00:00Z,4,2,0,0,0\r\n`)
    const names = 'streamNames=a&trackingIds=one'
    for (const report of Object.keys(REPORTS) as ReportName[]) {
      const { status, text } = await csv(`${report}?${DATES}&resolution=Day&${names}`)
      const [heading = '', ...lines] = text.split('\r\n')
      const { groupBy, restreamsBy, isWatched }: Report = REPORTS[report]
      const figures = 2 + (restreamsBy === undefined ? 0 : 3) + (isWatched ? 4 : 0)
      expect([report, status, heading.split(',').length]).toEqual([report, 200, groupBy.length + figures])
      expect(lines.at(-1)).toBe('')
    }
  })

  it('is there for the audience', async () => {
    const { headers, text } = await csv(`audience?${DATES}&by=country`)
    expect(headers.get('content-disposition')).toBe('attachment; filename="audience.csv"')
    const [head, ...lines] = text.split('\r\n')
    expect(head).toMatch(/^part,value,views,viewers,watchSeconds,mostAtOnce,players,started,startSeconds,/)
    // No player has said how well it played.
    const unsaid = ','.repeat(12)
    expect(lines).toEqual([`total,,0,0,0,0${unsaid}`, `before,,0,0,0,0${unsaid}`, ''])
  })

  it('has the days of a time zone', async () => {
    const days = 'startDate=2026-01-10&stopDate=2026-01-12&timeZone=Pacific/Kiritimati'
    const { text } = await csv(`account/series?${days}&resolution=Day`)
    expect(text).toMatch(/\r\n2026-01-09T10:00:00Z,4,2,0,0,0\r\n$/)
  })

  it('is for those who ask for it, and a refusal stays JSON', async () => {
    for (const accept of ['*/*', 'application/json', 'text/csv, application/json', 'text/html'])
      expect((await csv(`account/total?${DATES}`, accept)).json.status).toBe('success')
    const refused = await csv('account/total')
    expect([refused.status, refused.json.status]).toEqual([400, 'fail'])
  })
})
