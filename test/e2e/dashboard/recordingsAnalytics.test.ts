import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { buildPlayer } from '../playerPage.ts'
import { axe, inSentence, useDashboard } from './dashboard.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'

const dashboard = useDashboard()

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const dialog = () => page.getByRole('dialog')

interface Recording {
  readonly id: string
  readonly state: string
  readonly bytes?: number
}
const recordings = async (): Promise<Recording[]> => (await dashboard.api('GET', '/api/recordings')).data as Recording[]

async function choose(item: string): Promise<void> {
  await page.getByRole('button', { name: `More for ${inSentence(HOSTILE)}, ` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('without a recording and without traffic the pages say how to begin', async () => {
  await open('/recordings')
  await page.getByText('A publish token with the switch Record').waitFor()
  expect(await axe(page)).toEqual([])
  await page.getByRole('searchbox').fill(HOSTILE)
  await page.getByText(`There is no recording of a stream with ${inSentence(HOSTILE)} in its name.`).waitFor()
  expect(await page.locator('main img').count()).toBe(0)

  // What was typed just before the address changes brings no page back.
  await page.getByRole('searchbox').fill('late')
  await page.evaluate(`location.hash = '#/analytics'`)
  await page.getByRole('heading', { name: 'No traffic in this time' }).waitFor()
  expect(await axe(page)).toEqual([])
})

test('a recording is noticed, played, downloaded and deleted', async () => {
  const { token } = await dashboard.token('publish', { streams: [{ streamName: HOSTILE }], record: true })
  const analytics = await dashboard.open('/analytics')
  await analytics.getByRole('heading', { name: 'No traffic in this time' }).waitFor()
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: dashboard.whip(HOSTILE), token, codec: 'h264', scale: 0.25 })).toBe('ok')
  // A page that had nothing to show does not stay so.
  await analytics.getByRole('heading', { name: 'Traffic by day' }).waitFor()
  await analytics.close()
  await expect.poll(async () => (await recordings())[0]?.state).toBe('recording')
  await open('/recordings')
  await page.locator('tbody tr', { hasText: 'Recording' }).waitFor()
  await publisher.stop()
  await expect.poll(async () => (await recordings())[0]?.state).toBe('completed')
  // The page follows a recording that is under way.
  await page.locator('tbody tr', { hasText: 'Ready' }).waitFor()
  expect(await page.locator('tbody b').allTextContents()).toEqual([HOSTILE])
  await page.getByText(/^1 ready · .*B · .*B free$/).waitFor()
  const width = () => page.evaluate(`document.querySelector('.thumb img')?.naturalWidth`)
  await expect.poll(width).toBe(320)
  expect(await axe(page)).toEqual([])

  await choose('Play')
  await expect.poll(() => page.evaluate(`document.querySelector('dialog video').currentTime`)).toBeGreaterThan(0)
  expect(await axe(page)).toEqual([])
  await page.keyboard.press('Escape')
  expect(await dialog().count()).toBe(0)

  await page.getByRole('searchbox').fill('SRC=X onerr')
  await expect.poll(() => page.url()).toContain('search=')
  await page.locator('tbody tr', { hasText: 'Ready' }).waitFor()

  const saving = page.waitForEvent('download')
  await choose('Download')
  const file = await readFile(await (await saving).path())
  const [recording] = await recordings()
  expect(file.length).toBe(recording?.bytes)
  expect(file.subarray(4, 8).toString()).toBe('ftyp')
  await page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor()

  const [head, first] = await savedCsv(() => page.getByRole('button', { name: 'CSV Recordings' }).click())
  expect(head).toBe('id,streamName,state,startedOn,durationMs,bytes,expiresOn')
  expect(first).toMatch(new RegExp(`^${recording?.id},.*,completed,.*,${recording?.bytes},$`))

  await choose('Copy link')
  const linked = () => dialog().locator('code', { hasText: '.mp4?' }).textContent()
  const forADay = endOf(await linked())
  await dialog().getByText('A week').click()
  await expect.poll(async () => endOf(await linked())).toBeGreaterThan(forADay + 5 * 86_400)
  const link = await linked()
  expect(await axe(page)).toEqual([])
  await page.keyboard.press('Escape')
  await playsWithoutSession(link ?? '')

  const row = page.getByRole('checkbox', { name: `${inSentence(HOSTILE)}, ` })
  await page.getByRole('checkbox', { name: 'Select all of this page' }).check()
  expect(await row.isChecked()).toBe(true)
  await page.getByRole('group', { name: '1 selected' }).getByRole('button', { name: 'Delete' }).click()
  await dialog()
    .getByText(`Delete this recording of ${inSentence(HOSTILE)}?`)
    .waitFor()
  await dialog().getByRole('button', { name: 'Keep it' }).click()
  await row.uncheck()
  expect(await page.getByRole('group', { name: /selected/ }).count()).toBe(0)

  await choose('Delete recording')
  await dialog().getByRole('button', { name: 'Delete recording' }).click()
  await page.locator('.toast', { hasText: 'deleted' }).waitFor()
  expect(await recordings()).toEqual([])
  await page.getByRole('heading', { name: 'No recordings' }).waitFor()
})

/** When a link ends, epoch seconds. */
const endOf = (link: string | null): number => Number(new URL(link ?? '').searchParams.get('expires'))

/** On a page of another origin, in a browser that is not signed in. */
async function playsWithoutSession(link: string): Promise<void> {
  const context = await dashboard.newContext()
  const visitor = await context.newPage()
  await visitor.setContent(`<video muted autoplay crossorigin="anonymous" src="${link}"></video>`)
  const video = (value: string) => visitor.evaluate(`document.querySelector('video').${value}`)
  await expect.poll(() => video('currentTime')).toBeGreaterThan(0)
  await context.close()
}

async function savedCsv(press: () => Promise<void>): Promise<string[]> {
  const saving = page.waitForEvent('download')
  await press()
  const text = await readFile(await (await saving).path(), 'utf8')
  // Without it Excel takes UTF-8 for something else.
  expect(text.startsWith('\uFEFF')).toBe(true)
  return text.slice(1).trimEnd().split('\r\n')
}

test('many recordings are deleted at once; what the server keeps stays in the list, with its reason', async () => {
  await open('/')
  let kept = Array.from({ length: 50 }, (_, at) => ({
    id: String(at),
    streamName: `show-${at}`,
    state: 'completed',
    startedOn: `2026-01-01T00:00:${String(at).padStart(2, '0')}.000Z`,
    durationMs: 1000,
    bytes: 1_000_000,
  }))
  let refused = '30'
  await page.route('**/api/recordings**', (route) => {
    const { pathname } = new URL(route.request().url())
    if (route.request().method() === 'GET') return route.fulfill({ json: { status: 'success', data: kept } })
    const id = pathname.split('/').at(-1)
    if (id === refused) return route.fulfill({ status: 409, json: { status: 'fail', data: { message: 'It is busy' } } })
    kept = kept.filter((one) => one.id !== id)
    return route.fulfill({ json: { status: 'success', data: null } })
  })
  await page.goto(`${dashboard.home}#/recordings`)
  await page.getByRole('checkbox', { name: 'Select all of this page' }).check()
  await page.getByText('50 selected · 50 MB').waitFor()
  await page.getByRole('group', { name: '50 selected' }).getByRole('button', { name: 'Delete' }).click()
  await dialog().getByText('Delete 50 recordings?').waitFor()
  await dialog().getByRole('button', { name: 'Delete recording' }).click()
  await dialog().getByText('It is busy').waitFor()
  await expect.poll(() => page.locator('tbody tr').count()).toBe(kept.length)
  refused = ''
  await dialog().getByRole('button', { name: 'Delete recording' }).click()
  await page.locator('.toast', { hasText: '50 recordings deleted' }).waitFor()
  await page.getByRole('heading', { name: 'No recordings' }).waitFor()
})

test('traffic is shown by range, and saved as CSV', async () => {
  await open('/analytics')
  await page.getByRole('heading', { name: 'Traffic by day' }).waitFor()
  const csv = () => page.locator('section.card', { hasText: 'Traffic by' }).getByRole('button', { name: 'CSV' }).click()
  const [head, ...days] = await savedCsv(csv)
  expect(head).toBe('time,bytesOut,bytesIn')
  expect(days).toHaveLength(7)
  await page.locator('section.card', { hasText: 'Traffic by' }).locator('.plot-canvas .u-over').hover()
  await page.locator('.plot-pointed', { hasText: /Out to viewers: .* In from publishers: / }).waitFor()
  await page.locator('.bars li', { hasText: 'WHIP, received' }).waitFor()
  // Nothing was watched. What a publisher is told about its media went to no viewer.
  expect(await page.locator('.figs div', { hasText: 'Out to viewers' }).locator('dd').textContent()).toBe('0\u00a0B')
  expect(await page.locator('.bars li', { hasText: 'WHIP, sent' }).count()).toBe(0)
  expect(await page.locator('section.card', { hasText: 'Out to viewers, by country' }).count()).toBe(0)
  const tokens = page.locator('section.card', { hasText: 'By token' })
  await tokens.getByRole('link', { name: 'e2e', exact: true }).waitFor()
  const [tokensHead, tokenRow = ''] = await savedCsv(() => tokens.getByRole('button', { name: 'CSV' }).click())
  expect(tokensHead).toBe('tokenId,bytesOut,bytesIn')
  expect(tokenRow).toMatch(/^\d+,\d+,[1-9]\d*$/)
  expect(await axe(page)).toEqual([])
  await tokens.getByRole('link', { name: 'e2e', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'e2e' }).waitFor()
  await page.goBack()

  await page.getByText('28 days', { exact: true }).click()
  await expect.poll(async () => (await savedCsv(csv)).length).toBe(29)
  await page.getByText('Today', { exact: true }).click()
  await page.getByRole('heading', { name: 'Traffic by hour' }).waitFor()
  expect(page.url()).toContain('span=today')
  const hours = await savedCsv(csv)
  expect(hours.slice(1).reduce((sum, line) => sum + Number(line.split(',')[2]), 0)).toBeGreaterThan(0)

  await page.getByText('Dates', { exact: true }).click()
  await page.getByLabel('From').fill('2020-01-01')
  await page.getByLabel('To', { exact: true }).fill('2020-01-10')
  await page.getByRole('heading', { name: 'No traffic in this time' }).waitFor()
  expect(await axe(page)).toEqual([])
  await page.reload()
  await page.getByRole('heading', { name: 'No traffic in this time' }).waitFor()
  expect(await page.getByLabel('From').inputValue()).toBe('2020-01-01')
})

test('who watched is shown while they watch, divided, filtered and saved', async () => {
  const { token } = await dashboard.token('publish', { streams: [{ streamName: 'talk' }] })
  const [publisher, viewer] = [await dashboard.peer(), await dashboard.peer()]
  onTestFinished(async () => void (await Promise.all([publisher.stop(), viewer.stop()])))
  expect(await publisher.publish({ url: dashboard.whip('talk'), token, codec: 'h264', scale: 0.25 })).toBe('ok')
  await open('/analytics?span=today')
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Audience' }) })
  const figure = (name: string) => card.locator('.figs div', { hasText: name }).locator('dd').first().textContent()
  await card.getByText('There was no view in this time.').waitFor()
  expect(await axe(page)).toEqual([])
  expect(await viewer.watch({ url: dashboard.whep('talk') })).toBe('ok')
  // Five seconds later it is a view, and the page looks for it.
  await card.getByRole('link', { name: 'talk', exact: true }).waitFor()
  expect([await figure('Views'), await figure('Viewers'), await figure('Most at once')]).toEqual(['1', '1', '1'])
  expect(await axe(page)).toEqual([])
  await card.getByText('Browser', { exact: true }).click()
  await card.getByRole('link', { name: 'Chrome', exact: true }).waitFor()
  const [head, row = ''] = await savedCsv(() => card.getByRole('button', { name: 'CSV' }).click())
  expect([head, row.split(',')[0]]).toEqual(['browser,views,viewers,watchSeconds,mostAtOnce', 'Chrome'])
  await card.getByRole('link', { name: 'Chrome', exact: true }).click()
  await card.getByRole('link', { name: 'talk', exact: true }).waitFor()
  expect(page.url()).toContain('browser=Chrome')
  await card.getByRole('button', { name: 'Browser: Chrome' }).click()
  await card.getByText('Country', { exact: true }).waitFor()
  expect(page.url()).not.toContain('browser=')
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    // A plot takes the new size with the next frame.
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  }
})

/** Counts the looks of a player at statistics with a picture: its last report says what the last look saw. */
const COUNT_LOOKS = `
  globalThis.looks = 0
  const { getStats } = RTCPeerConnection.prototype
  RTCPeerConnection.prototype.getStats = async function () {
    const all = await getStats.call(this)
    if ([...all.values()].some(({ kind, jitterBufferEmittedCount }) => kind === 'video' && jitterBufferEmittedCount > 0)) looks++
    return all
  }
`

test('how well it played is shown by stream, as the player reported it', async () => {
  buildPlayer()
  const { token } = await dashboard.token('publish', { streams: [{ streamName: 'played' }] })
  const publisher = await dashboard.peer()
  onTestFinished(() => publisher.stop())
  expect(await publisher.publish({ url: dashboard.whip('played'), token, codec: 'h264', scale: 0.25 })).toBe('ok')
  await open('/analytics?span=today')
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'How well it played' }) })
  await card.getByText('No player reported in this time.').waitFor()
  const context = await dashboard.newContext()
  const visitor = await context.newPage()
  await visitor.addInitScript(COUNT_LOOKS)
  await visitor.goto(dashboard.whep('played').replace('/api/whep/', '/watch/'))
  const time = () => visitor.evaluate(`document.querySelector('sluice-player').video?.currentTime ?? 0`)
  await expect.poll(time).toBeGreaterThan(1)
  const looks = () => visitor.evaluate(`document.querySelector('sluice-player').delivery === 'hls' ? Infinity : looks`)
  await expect.poll(looks).toBeGreaterThan(1)
  await visitor.goto('about:blank')
  await card.getByRole('cell', { name: 'played', exact: true }).waitFor()
  const figure = (name: string) => card.locator('.figs div', { hasText: name }).locator('dd').first().textContent()
  expect(await figure('First picture')).toMatch(/^[\d.]+\ss$/)
  expect(await figure('Failed to start')).toBe('0')
  // One hour of one player is no line: the plots show a point, and their tables the values.
  expect(await card.getByRole('img').count()).toBe(2)
  await card.getByText('As a table').first().click()
  await card.getByRole('row', { name: / \d+ \d+$/ }).waitFor()
  await card.getByText('As a table').last().click()
  await card
    .getByRole('row', { name: / [\d.]+ s$/ })
    .first()
    .waitFor()
  const [head, row = ''] = await savedCsv(() => card.getByRole('button', { name: 'CSV' }).click())
  expect(head).toBe(
    'streamName,players,started,startSecondsMedian,startSeconds95,playedSeconds,stalls,stalledSeconds,startFailures',
  )
  expect(row).toMatch(/^played,1,1,/)
  expect(await axe(page)).toEqual([])
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    // A plot takes the new size with the next frame.
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  }
  await context.close()
})

test('a phone shows the same without scrolling sideways', async () => {
  for (const path of ['/recordings', '/analytics?span=own']) {
    const phone = await dashboard.open(path, { width: 390, theme: 'dark' })
    await phone.locator('main :is(.empty, .figs)').first().waitFor()
    expect(await phone.evaluate('document.documentElement.scrollWidth'), path).toBe(390)
    await phone.close()
  }
})
