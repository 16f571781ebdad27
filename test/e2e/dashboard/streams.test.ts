import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const rows = (page: Page) => page.locator('tbody tr')
const names = (page: Page) => page.locator('tbody a.row').allTextContents()

test('a stream is in the list while it is on the air, and with its last broadcast when it has ended', async () => {
  const page = await dashboard.open('/')
  await page.click('.nav >> text=Streams')
  await page.waitForSelector('h2:text-is("The gate is closed")')
  const { token } = await dashboard.token('publish', { label: 'Crew', streams: [{ streamName: 'Morning' }] })
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: dashboard.whip('Morning'), token, codec: 'vp8', scale: 0.25 })).toBe('ok')
  const row = rows(page).filter({ hasText: 'Morning' })
  await row.waitFor()
  await expect.poll(() => row.textContent()).toMatch(/Crew.*Steady.*0WHIP.*VP8.*[1-9].*\s[kM]bit\/s/)
  expect(await axe(page)).toEqual([])
  await page.click('text=Off the air')
  await page.waitForSelector('h2:text-is("No stream has ended yet")')
  await publisher.stop()
  await expect.poll(() => rows(page).textContent()).toMatch(/Morning.*Crew.*the publisher left/)
  expect(await axe(page)).toEqual([])
  await page.fill('input[type=search]', 'NOON')
  await page.waitForSelector('h2:text-is("No stream matches")')
  await page.fill('input[type=search]', 'MORN')
  await expect.poll(() => names(page)).toEqual(['Morning'])
  await page.click('tbody a.row')
  await page.waitForURL(({ hash }) => hash === '#/streams/Morning')
  expect(await page.locator('.nav a[aria-current=page]').textContent()).toBe('Streams')
})

test('of 2,000 streams the overview shows twelve, and the list finds, filters, sorts and turns the page', async () => {
  const healths = ['steady', 'uneven', 'impaired', 'stalled']
  const streams = Array.from({ length: 2000 }, (_, count) => ({
    streamName: `stage ${String(count).padStart(4, '0')}`,
    startedOn: new Date(1_700_000_000_000 + count * 1000).toISOString(),
    protocol: count % 2 === 0 ? 'whip' : 'rtmp',
    health: healths[count % 4],
    viewers: count,
    viewersByProtocol: { whep: count, hls: 0 },
    bitrateIn: 1_000_000 + count,
    bitrateOut: 0,
    mostViewers: count,
    tokenId: 1,
    tokenLabel: 'Crew',
  }))
  const page = await dashboard.open('/')
  const body = `retry: 600000\nevent: reset\nid: 1\ndata: ${JSON.stringify({ why: 'new', streams })}\n\n`
  await page.route(/\/api\/events/, (route) => route.fulfill({ contentType: 'text/event-stream', body }))
  await page.reload()
  const more = page.getByRole('link', { name: 'And 1,988 more with fewer viewers' })
  await more.waitFor()
  expect(await page.locator('.live-card').count()).toBe(12)
  await more.click()
  await expect.poll(() => rows(page).count()).toBe(50)
  expect((await names(page))[0]).toBe('stage 1999')
  await page.click('th button:has-text("Stream")')
  await expect.poll(() => names(page).then(([first]) => first)).toBe('stage 0000')
  await page.click('button:has-text("Next")')
  await expect.poll(() => names(page).then(([first]) => first)).toBe('stage 0050')
  await page.click('th button:has-text("Health")')
  await expect.poll(() => names(page).then(([first]) => first)).toBe('stage 0003')
  await page.selectOption('select[aria-label=Health]', 'uneven')
  await page.selectOption('select[aria-label=Protocol]', 'whip')
  await page.waitForSelector('h2:text-is("No stream matches")')
  await page.selectOption('select[aria-label=Protocol]', 'rtmp')
  await page.fill('input[type=search]', 'AGE 199')
  await expect.poll(() => names(page)).toEqual(['stage 1993', 'stage 1997'])
})

test('on a phone the list fits, and the menu leads to it', async () => {
  const page = await dashboard.open('/access', { width: 390 })
  await page.click('.tabbar button:has-text("More")')
  await page.getByRole('menuitem', { name: 'Streams' }).click()
  await page.waitForURL(({ hash }) => hash === '#/streams')
  await page.waitForSelector('h1:text-is("Streams")')
  expect(await page.locator('.tabbar [aria-current=page]').allTextContents()).toEqual(['More'])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
})
