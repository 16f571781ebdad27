import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { WhepViewer } from '../../web/client/index.ts'
import { type Counted, NOTHING_COUNTED, QualityReporter } from '../../web/client/quality.ts'
import { CREATED, FakeBrowser, FakeMedia, REFUSED } from './fakes.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

function reporting(counted: Partial<Counted> = {}, isOn = true) {
  const browser = new FakeBrowser()
  const count = () => ({ ...NOTHING_COUNTED, ...counted })
  const quality = new QualityReporter({ environment: browser, isOn, count })
  return { browser, quality, last: () => browser.reports.at(-1) }
}

it('reports sums once a minute and at the end, each with the next number', async () => {
  const { browser, quality } = reporting({ frames: 90, dropped: 2, height: 720, behindMs: 1800.4 })
  quality.attempt()
  await browser.pass(300)
  quality.session('/one/report')
  await browser.pass(700)
  quality.frame()
  await browser.pass(20_000)
  quality.stall()
  await browser.pass(4000)
  quality.frame()
  await browser.pass(100_000)
  quality.closed('stopped', true)
  const same = { start: 1000, stalls: 1, stalled: 4000, frames: 90, dropped: 2, height: 720, behind: 1800, switches: 0 }
  expect(browser.reports).toEqual([
    { ...same, n: 1, played: 55_300 },
    { ...same, n: 2, played: 115_300 },
    { ...same, n: 3, played: 120_000 },
  ])
  await browser.pass(120_000)
  expect(browser.reports).toHaveLength(3)
  expect(browser.listeners).toBe(0)
})

it('reports a stall that is under way, and does not count it twice', async () => {
  const { browser, quality, last } = reporting()
  quality.attempt()
  quality.session('/one/report')
  quality.frame()
  await browser.pass(50_000)
  quality.stall()
  await browser.pass(10_000)
  expect(last()).toMatchObject({ played: 50_000, stalls: 1, stalled: 10_000 })
  quality.frame()
  await browser.pass(60_000)
  expect(last()).toMatchObject({ played: 110_000, stalls: 1, stalled: 10_000 })
})

it('reports a session without a picture with its reason, and one that the viewer left', async () => {
  const { browser, quality } = reporting()
  quality.attempt()
  quality.session('/one/report')
  await browser.pass(5000)
  quality.closed('not_connected', false)
  quality.session('/two/report')
  quality.closed('stopped', true)
  expect(browser.reports.map(({ failed, start }) => [failed, start])).toEqual([
    ['not_connected', undefined],
    ['left', undefined],
  ])
})

it('counts what is lost between two sessions as a stall of the second, and no new start', async () => {
  const { browser, quality, last } = reporting()
  quality.attempt()
  quality.session('/one/report')
  quality.frame()
  await browser.pass(10_000)
  quality.closed('connection_lost', false)
  expect(last()).toMatchObject({ played: 10_000, stalls: 0, stalled: 0 })
  await browser.pass(3000)
  quality.attempt()
  quality.session('/two/report')
  await browser.pass(1000)
  quality.frame()
  await browser.pass(2000)
  quality.closed('stopped', true)
  expect(last()).toEqual({ n: 1, played: 2000, stalls: 1, stalled: 4000, frames: 0, dropped: 0, switches: 0 })
})

it('does not count the wait for a publisher', async () => {
  const { browser, quality, last } = reporting()
  quality.attempt()
  await browser.pass(100)
  quality.closed('stream_not_published', false)
  await browser.pass(600_000)
  quality.attempt()
  quality.session('/one/report')
  await browser.pass(400)
  quality.frame()
  quality.closed('stopped', true)
  expect(last()).toMatchObject({ start: 400 })
})

it('takes what the browser counts as stalls out of the time that was played', async () => {
  const { browser, quality, last } = reporting({ stalls: 2, stalledMs: 1500 })
  quality.attempt()
  quality.session('/one/report')
  quality.frame()
  await browser.pass(60_000)
  expect(last()).toMatchObject({ played: 58_500, stalls: 2, stalled: 1500 })
})

it('stays within 400 bytes', async () => {
  const most = Number.MAX_SAFE_INTEGER
  const { browser, quality } = reporting({ frames: most, dropped: most, height: 99_999, behindMs: most, stalls: most })
  quality.attempt()
  quality.session('/one/report')
  quality.frame()
  browser.timeMs = most
  quality.closed('stopped', true)
  expect(JSON.stringify(browser.reports[0]).length).toBeLessThan(400)
})

it('reports when the page is hidden, four times a minute at most', async () => {
  const { browser, quality } = reporting()
  quality.attempt()
  quality.session('/one/report')
  await browser.pass(1000)
  for (let times = 0; times < 5; times++) browser.hide()
  await browser.pass(15_000)
  browser.hide()
  expect(browser.reports.map(({ n }) => n)).toEqual([1, 2])
})

it('stops when the server wants no reports, and sends none when they are off', async () => {
  const { browser, quality } = reporting()
  browser.reportStatus = 403
  quality.session('/one/report')
  await browser.pass(300_000)
  expect(browser.reports).toHaveLength(1)
  const off = reporting({}, false)
  off.quality.session('/one/report')
  await off.browser.pass(300_000)
  off.quality.closed('stopped', true)
  expect(off.browser.reports).toEqual([])
})

it('counts the picture of a viewer who leaves before the browser has counted any', async () => {
  const browser = new FakeBrowser()
  const viewer = new WhepViewer({ url: 'https://live.test/api/whep/acc/show', environment: browser })
  void viewer.start()
  await browser.pass(400)
  browser.peer.become('connected')
  await browser.pass(0)
  viewer.frameIsShown(720)
  browser.leave()
  expect(browser.reports).toEqual([expect.objectContaining({ n: 1, start: 400, frames: 1, height: 720 })])
})

it('of a viewer over WHEP goes below the resource of its session, before that is deleted', async () => {
  const browser = new FakeBrowser([REFUSED(409, 'Stream not being published', '2'), CREATED])
  const viewer = new WhepViewer({ url: 'https://live.test/api/whep/acc/show', environment: browser })
  void viewer.start()
  await browser.pass(6000)
  browser.peer.report = [
    {
      type: 'inbound-rtp',
      kind: 'video',
      framesDecoded: 30,
      framesDropped: 1,
      frameHeight: 360,
      freezeCount: 1,
      totalFreezesDuration: 0.5,
      jitterBufferDelay: 3,
      jitterBufferEmittedCount: 30,
    },
    { type: 'candidate-pair', nominated: true, currentRoundTripTime: 0.02 },
  ]
  browser.peer.become('connected')
  await browser.pass(100)
  browser.leave()
  await browser.pass(0)
  expect(browser.reports).toEqual([
    expect.objectContaining({ n: 1, frames: 30, dropped: 1, height: 360, stalls: 1, stalled: 500, behind: 110 }),
  ])
  expect(browser.requests('DELETE')).toHaveLength(1)
})
