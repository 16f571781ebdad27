import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { Peer } from '../peer.ts'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()
let publisher: Peer
beforeAll(async () => {
  publisher = await dashboard.peer()
})

/** A name that would do harm if a page took it for HTML. */
const HOSTILE = '<img src=x onerror=alert(1)>'

const card = (page: Page, stream: string) => page.locator('.live-card').filter({ hasText: stream })
const rowOf = (page: Page, title: string, row: string) =>
  page.locator(`section:has(h2:text-is("${title}")) li`, { hasText: row })

test('the first page takes less than 60 kB of script, compressed; the library of the plots comes after it', async () => {
  const context = await dashboard.newContext({ storageState: await dashboard.context.storageState() })
  const page = await context.newPage()
  const scripts: Promise<{ url: string; bytes: number }>[] = []
  page.on('requestfinished', (request) => {
    if (request.resourceType() !== 'script') return
    scripts.push(request.sizes().then(({ responseBodySize }) => ({ url: request.url(), bytes: responseBodySize })))
  })
  await page.goto(dashboard.home)
  await page.waitForSelector('.plot-canvas canvas')
  const first = (await Promise.all(scripts)).filter(({ url }) => !url.includes('/uPlot'))
  expect(first.length).toBeLessThan(scripts.length)
  const bytes = first.reduce((sum, one) => sum + one.bytes, 0)
  expect(bytes).toBeGreaterThan(20_000)
  expect(bytes).toBeLessThan(60_000)
  await context.close()
})

test('an empty overview teaches the next step', async () => {
  const page = await dashboard.open('/')
  await page.waitForSelector('h2:text-is("The gate is closed")')
  await page.waitForSelector('.side-foot .st:has-text("Live updates on")')
  await page.waitForSelector('.plot-canvas canvas')
  // The last time of the axis is as wide as those before it.
  const beside = `(({ offsetLeft, offsetWidth, parentElement }) => parentElement.clientWidth - offsetLeft - offsetWidth)`
  expect(await page.evaluate(`${beside}(document.querySelector('.u-over'))`)).toBeGreaterThanOrEqual(32)
  expect(await axe(page)).toEqual([])
  // Without a chosen theme the plots follow the system, too.
  await page.evaluate(
    `document.querySelectorAll('.plot-canvas canvas').forEach((one) => (one.dataset.theme = 'light'))`,
  )
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.waitForSelector('.plot-canvas canvas:not([data-theme])')
  await page.waitForSelector('.plot-canvas canvas[data-theme]', { state: 'detached' })
  await page.click('text=Addresses for OBS')
  await page.waitForURL(({ hash }) => hash === '#/live?from=program')
  await page.close()
})

test('streams appear and leave by themselves, with their figures, and a hostile name is text', async () => {
  const page = await dashboard.open('/')
  const { token } = await dashboard.token('publish', {
    label: 'Studio 1',
    streams: [{ streamName: 'morning' }, { streamName: HOSTILE }],
  })
  expect(await publisher.publish({ url: dashboard.whip('morning'), token, codec: 'vp8', scale: 0.5 })).toBe('ok')
  const morning = card(page, 'morning')
  await morning.waitFor()
  expect(await morning.locator('.chip').first().textContent()).toBe('WHIP')
  await expect.poll(() => morning.locator('.meta').first().textContent()).toMatch(/Studio 1.*360p\d* · VP8/)
  await expect.poll(() => morning.locator('.meta .num').first().textContent()).toMatch(/[1-9].*\s[kM]bit\/s/)
  expect(await morning.locator('.st[data-s=ok]').textContent()).toBe('Steady')
  await page.waitForSelector('.nav .tally:has-text("1 live")')

  // The search takes the first key, finds what is live, and Enter goes there.
  await page.keyboard.press('Control+k')
  await page.keyboard.type('morn')
  await page.waitForSelector('[role=option][aria-selected=true]:has-text("morning")')
  expect(await axe(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.waitForURL(({ hash }) => hash === '#/streams/morning')
  await page.goBack()

  const viewer = await dashboard.peer()
  expect(await viewer.watch({ url: dashboard.whep('morning') })).toBe('ok')
  await expect.poll(() => page.textContent('.home .fig')).toBe('1 now')
  await expect.poll(() => rowOf(page, 'Watched by', 'WHEP').locator('.n').textContent()).toBe('1')
  expect(await axe(page)).toEqual([])

  const second = await dashboard.peer()
  expect(await second.publish({ url: dashboard.whip(HOSTILE), token, scale: 0.25 })).toBe('ok')
  await card(page, HOSTILE).waitFor()
  expect(await page.locator('.live-card img[src=x]').count()).toBe(0)
  await rowOf(page, 'Just happened', `${HOSTILE} went live`).waitFor()

  await card(page, HOSTILE).getByRole('button', { name: 'More for' }).click()
  await page.click('text=End for all viewers')
  expect(await page.textContent('dialog p')).toContain('It has no viewers now.')
  await page.click('dialog button:has-text("End for all viewers")')
  await card(page, HOSTILE).waitFor({ state: 'detached' })
  await rowOf(page, 'Just happened', `${HOSTILE} ended`).waitFor()

  await viewer.stop()
  await publisher.stop()
  await page.waitForSelector('h2:text-is("The gate is closed")')
  // What was before the page was opened is there too, with the reason of the end.
  await page.reload()
  await rowOf(page, 'Just happened', `${HOSTILE} endedit was stopped`).waitFor()
  await page.close()
})

test('a refusal is counted by its reason and leads to the access log', async () => {
  const page = await dashboard.open('/')
  await page.waitForSelector('section:has(h2:text-is("Refused in 24 hours")) p')
  const refused = await dashboard.peer()
  expect(await refused.watch({ url: dashboard.whep('morning'), token: 'x'.repeat(32) })).toContain('401')
  const row = rowOf(page, 'Refused in 24 hours', 'Unknown token')
  await row.waitFor()
  expect(await row.locator('a').getAttribute('href')).toBe('#/access?code=invalid_token')
  // No token is another reason than a wrong one, also where the client gets the same answer.
  await dashboard.token('publish', { streams: [{ streamName: 'vault' }], subscribeRequiresAuth: true })
  expect(await refused.watch({ url: dashboard.whep('vault') })).toContain('401')
  const without = rowOf(page, 'Refused in 24 hours', 'No token was given')
  await without.waitFor()
  await without.locator('a').click()
  await page.locator('tbody a.row', { hasText: 'No token was given' }).waitFor()
  await page.close()
})

test('what needs attention is listed', async () => {
  const soonMs = Date.now() + 3 * 86_400_000
  await dashboard.token('publish', {
    streams: [{ streamName: 'gala' }],
    expires: Math.round((soonMs - Date.now()) / 1000),
  })
  const page = await dashboard.open('/')
  const row = rowOf(page, 'Needs attention', 'A token expires soon')
  await row.waitFor()
  expect(await row.locator('a').getAttribute('href')).toMatch(/^#\/tokens\/publish\/\d+$/)
  await page.close()
})

test('what needs attention and does not fit is behind a link', async () => {
  const page = await dashboard.open('/')
  const finding = (id: number) => ({
    kind: 'webhook_paused',
    severity: 'warning',
    text: `Webhook ${id} is paused`,
    since: new Date(0).toISOString(),
    subject: { type: 'webhook', id: String(id) },
  })
  await page.route(/\/api\/attention/, (route) => route.fulfill({ json: { data: [1, 2, 3, 4, 5, 6, 7].map(finding) } }))
  await page.reload()
  const card = page.locator('section', { has: page.locator('h2:text-is("Needs attention")') })
  const more = card.getByRole('link', { name: 'And 2 more' })
  await more.waitFor()
  expect(await card.locator('li b').count()).toBe(5)
  await more.click()
  await expect.poll(() => card.locator('li b').count()).toBe(7)
  await page.close()
})

test('streams with the same trouble are one row of what needs attention, which names the first of them', async () => {
  const page = await dashboard.open('/')
  const uneven = (id: string) => ({
    kind: 'stream_uneven',
    severity: 'warning',
    text: `${id} arrives unevenly`,
    sentences: [],
    subject: { type: 'stream', id },
  })
  const data = ['one', 'two', 'three', 'four'].map(uneven)
  await page.route(/\/api\/attention/, (route) => route.fulfill({ json: { data } }))
  await page.reload()
  const row = rowOf(page, 'Needs attention', '4 streams arrive unevenly')
  await row.getByText('one, two, three, …').waitFor()
  expect(await row.locator('a').getAttribute('href')).toBe('#/streams?health=uneven')
  await page.close()
})

test('tokens that expire are one row of what needs attention, which leads to their list', async () => {
  const ids: number[] = []
  for (let count = 0; count < 12; count++) {
    ids.push((await dashboard.token('subscribe', { streams: [{ streamName: 'gala' }], expires: 86_400 })).id)
  }
  const page = await dashboard.open('/')
  const row = rowOf(page, 'Needs attention', '12 subscribe tokens expire soon')
  await row.waitFor()
  expect(await row.locator('a').getAttribute('href')).toBe('#/tokens/subscribe?state=expiring')
  expect(await row.locator('a').getAttribute('aria-label')).toContain('12 subscribe tokens expire soon')
  expect(await axe(page)).toEqual([])
  await row.locator('a').click()
  await expect.poll(() => page.locator('tbody tr').count()).toBe(12)
  for (const id of ids) await dashboard.api('DELETE', `/api/subscribe_token/${id}`)
  await page.close()
})

test('an open page says that the server is away, and goes on when it is back, without loading or signing in again', async () => {
  const page = await dashboard.open('/')
  const state = page.locator('.side-foot .st')
  await state.getByText('Live updates on').waitFor()
  await page.evaluate('window.isSamePage = true')
  const goTo = (path: string) => page.evaluate(`location.hash = '#${path}'`)
  await goTo('/live')
  const goLive = page.getByRole('button', { name: 'Go live as' })
  await goLive.waitFor()
  await goTo('/')
  const startAgain = await dashboard.stopServer()
  await state.getByText('Live updates off, connecting again').waitFor()
  await page.setViewportSize({ width: 360, height: 900 })
  await page.locator('.topbar').getByText('Live updates off, connecting again').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  await page.setViewportSize({ width: 1280, height: 900 })
  await goTo('/live')
  await page.getByText('The server does not answer.').waitFor()
  await startAgain()
  await state.getByText('Live updates on').waitFor()
  // What could not be loaded meanwhile is loaded, without a click.
  await goLive.waitFor()
  await goTo('/')
  const { token } = await dashboard.token('publish', { streams: [{ streamName: 'again' }] })
  expect(await publisher.publish({ url: dashboard.whip('again'), token, scale: 0.25 })).toBe('ok')
  await card(page, 'again').waitFor()
  expect(await page.evaluate('window.isSamePage')).toBe(true)
  await publisher.stop()
  await page.close()
})
