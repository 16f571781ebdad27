import { readFileSync } from 'node:fs'
import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { pace } from '../../support/until.ts'
import { useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

/** The addresses that need no id. */
const PATHS = [
  ...readFileSync(new URL('../../../web/dashboard/src/pages/pages.ts', import.meta.url), 'utf8').matchAll(
    /^\s+(?:\{ )?path: '([^':]+)', ?(?:load|$)/gm,
  ),
].map(([, path = '']) => path)

/** A browser opens six connections to a server, and each page follows events on one of them. */
const PAGES_AT_ONCE = 5
const IDLE_SECONDS = 10
/** Of each page meanwhile. Some ask every few seconds; a page whose answers cause requests makes hundreds. */
const REQUESTS_MAX = 20

test('an open page asks its server only now and then', async () => {
  expect(PATHS.length).toBeGreaterThan(15)
  // With something on record: an answer that is empty every time may look like the one before.
  await fetch(dashboard.whip('show'), { method: 'POST', headers: { 'content-type': 'application/sdp' }, body: 'v=0' })
  const storageState = await dashboard.context.storageState()
  const requests = new Map<string, number>()
  for (let at = 0; at < PATHS.length; at += PAGES_AT_ONCE) {
    const context = await dashboard.newContext({ storageState })
    for (const path of PATHS.slice(at, at + PAGES_AT_ONCE)) {
      const page = await context.newPage()
      page.on('request', () => requests.set(path, (requests.get(path) ?? 0) + 1))
      await page.goto(`${dashboard.home}#${path}`)
      await page.waitForSelector('main h1, main h2')
      await page.waitForSelector('.bone', { state: 'detached' })
      requests.delete(path)
    }
    // What is measured is a rate, so the time is part of the question.
    await pace(IDLE_SECONDS * 1000)
    await context.close()
  }
  expect([...requests].filter(([, count]) => count > REQUESTS_MAX)).toEqual([])
})

const POINTS = ['00', '10', '20'].map((second) => ({ at: `2026-01-01T00:00:${second}.000Z`, bitrateIn: 1 }))

test.each([
  ['/settings/nodes', '**/dashboard/api/nodes', 'main dl', undefined],
  ['/streams/show', '**/streams/show/health', '.last-hour', { feeds: [], history: { sources: [{ points: POINTS }] } }],
] as const)(
  '%s, which looks again and again, shows an answer that takes longer than until its next look',
  async (path, asked, shown, data) => {
    const context = await dashboard.newContext({ storageState: await dashboard.context.storageState() })
    const page = await context.newPage()
    await page.clock.install()
    await page.route(asked, async (route) => {
      await page.clock.runFor(11_000)
      await (data ? route.fulfill({ json: { data } }) : route.continue()).catch(() => undefined)
    })
    await page.goto(`${dashboard.home}#${path}`)
    await page.locator(shown).first().waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.close()
  },
)

/** Adds up how far the parts of a page jump, as browsers measure it. */
const MEASURE_SHIFT = `
  globalThis.shift = 0
  new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (shift += value)))
    .observe({ type: 'layout-shift', buffered: true })
`
const SHIFT_MAX = 0.05

test('parts of a page jumped when those above them were loaded later', async () => {
  const storageState = await dashboard.context.storageState()
  for (const width of [1280, 360]) {
    const context = await dashboard.newContext({ storageState, viewport: { width, height: 900 } })
    await context.addInitScript(MEASURE_SHIFT)
    for (const path of ['/', '/access', '/settings/security', '/settings/defaults', '/settings/server']) {
      const page = await context.newPage()
      const held: Route[] = []
      await page.route(/\/dashboard\/api\/(?!session)/, (route) => void held.push(route))
      await page.goto(`${dashboard.home}#${path}`)
      await page.waitForSelector('main h1')
      // What was asked for last is answered first.
      while ((await page.locator('.bone:visible').count()) > 0 || held.length > 0) {
        await held.pop()?.continue()
        await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))')
      }
      expect(await page.evaluate('shift'), `${path} at ${width} px`).toBeLessThan(SHIFT_MAX)
      await page.close()
    }
    await context.close()
  }
})

test('tabs in the background held the six connections of a browser, so that a seventh loaded nothing', async () => {
  const page = await dashboard.open('/')
  const isOfEvents = (request: { url(): string }): boolean => request.url().endsWith('/api/events')
  await page.waitForResponse(isOfEvents)
  const turn = (state: string) =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' })
      document.dispatchEvent(new Event('visibilitychange'))`)
  const over = page.waitForEvent('requestfailed', isOfEvents)
  await turn('hidden')
  await over
  const streams = [{ streamName: 'meanwhile' }]
  const { token } = await dashboard.token('publish', { label: 'Meanwhile', streams })
  const peer = await dashboard.peer()
  expect(await peer.publish({ url: dashboard.whip('meanwhile'), token })).toBe('ok')
  await turn('visible')
  await page.getByRole('link', { name: 'meanwhile' }).first().waitFor()
  await peer.stop()
})

test('a page whose script cannot be loaded says so, and loads again', async () => {
  const page = await dashboard.open('/')
  await page.waitForSelector('main h1')
  await page.route(/\/assets\//, (route) => route.abort())
  await page.evaluate(`location.hash = '#/analytics'`)
  await page.getByRole('alert').getByText('This page cannot be loaded').waitFor()
  await page.unroute(/\/assets\//)
  await page.getByRole('button', { name: 'Load again' }).click()
  await page.getByRole('heading', { name: 'Analytics', level: 1 }).waitFor()
})

test('a page whose server did not answer at first stayed empty', async () => {
  const page = await dashboard.open('/')
  await page.waitForSelector('main h1')
  const session = '**/dashboard/api/session'
  await page.route(session, (route) => route.abort())
  await page.reload()
  await page.getByRole('alert').getByText('The server does not answer').waitFor()
  await page.unroute(session)
  await page.waitForSelector('main h1')
})
