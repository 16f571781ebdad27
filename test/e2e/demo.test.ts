import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

/** Keeps the texts of the badge, of which some are there for a second. */
const WATCH_BADGE = `
  globalThis.badges = []
  new MutationObserver(([{ target }]) => badges.push(target.textContent))
    .observe(document.querySelector('#watch .badge'), { childList: true })`

const figure = (page: Page, tab: string, name: string) => page.textContent(`#${tab} [data-figure="${name}"]`)

test('the page broadcasts a test video, links to it, plays it, and explains refusals', async () => {
  const { token, id } = await stage.token('publish', { streams: [{ streamName: 'show' }] })
  const page = await stage.browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${stage.server.url}/demo`)
  await page.waitForSelector('a:text("Sign in to the dashboard")')

  await page.click('text=Go live')
  const notice = page.locator('#broadcast .notice')
  await notice.waitFor()
  expect(await notice.textContent()).toMatch(/^There is no valid token\..*401 Unauthorized: Invalid token$/)

  await page.fill('#broadcast [name=token]', token)
  await page.click('text=Go live')
  await page.waitForSelector('#broadcast .badge[data-state=live]')
  // The focus is where it was, for those who use the keyboard.
  await page.waitForSelector('#broadcast .main.stop:focus')
  const link = page.locator('#broadcast .notice a')
  expect(await link.textContent()).toBe(`${stage.accountId}/show`)

  const [watching] = await Promise.all([page.waitForEvent('popup'), link.click()])
  await watching.click('#watch .main')
  await watching.waitForSelector('#watch .badge[data-state=live]')
  await expect.poll(() => figure(watching, 'watch', 'Frame rate')).toMatch(/^[1-9]\d* fps$/)
  expect(await figure(watching, 'watch', 'Resolution')).toMatch(/^\d+ × \d+$/)
  expect(await figure(watching, 'watch', 'Codecs')).toBe('H.264 + Opus')
  expect(await figure(watching, 'watch', 'First frame')).toMatch(/ m?s$/)
  await expect.poll(() => figure(page, 'broadcast', 'Bitrate')).toMatch(/bit\/s$/)

  // Who stops before the server has answered watches nothing: the session ends as soon as it has begun.
  const isEnd = (request: Request): boolean => request.method() === 'DELETE'
  await Promise.all([watching.waitForRequest(isEnd), watching.click('#watch .main')])
  const stopped = Promise.withResolvers<void>()
  await watching.route('**/api/whep/**', (route) => stopped.promise.then(() => route.continue()))
  await watching.click('#watch .main')
  await watching.click('#watch .main')
  stopped.resolve()
  await watching.waitForRequest(isEnd)
  expect(await watching.getAttribute('#watch .badge', 'data-state')).toBe('idle')
  await watching.click('#watch .main')
  await watching.waitForSelector('#watch .badge[data-state=live]')

  // The page shows at once that a viewer's session was ended, and reconnects.
  const { data } = await stage.api('GET', '/api/sessions')
  const viewer = (data as { id: string; action: string }[]).find(({ action }) => action === 'view')
  await watching.evaluate(WATCH_BADGE)
  await stage.api('DELETE', `/api/sessions/${viewer?.id}`)
  await expect.poll(() => watching.evaluate('badges')).toContain('Connection ended')
  await watching.waitForSelector('#watch .badge[data-state=live]')

  await stage.api('DELETE', `/api/publish_token/${id}`)
  await page.waitForSelector('#broadcast .badge[data-state=idle]')
  await watching.waitForSelector('#watch .badge[data-state=waiting]')
  expect(complaints).toEqual([])
})
