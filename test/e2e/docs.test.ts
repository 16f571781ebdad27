import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Page } from 'playwright-core'
import { buildPages } from './dashboard/build.ts'
import { axe, useDashboard } from './dashboard/dashboard.ts'

const dashboard = useDashboard()
beforeAll(() => buildPages('docs'))

async function open(path: string, width = 1280): Promise<Page> {
  const page = await dashboard.context.newPage()
  onTestFinished(() => page.close())
  await page.setViewportSize({ width, height: 900 })
  await page.goto(`${dashboard.server.url}/docs/${path}`)
  return page
}

test('the search shows what answers a question, and Enter leads there', async () => {
  const page = await open('')
  const links = page.getByRole('region', { name: 'Results of the search' }).getByRole('link')
  const field = page.getByRole('searchbox', { name: 'Search' })
  await field.fill('zzzz')
  await page.getByRole('status').getByText('Nothing found').waitFor()
  await field.fill('delete the data of a viewer')
  await links.first().waitFor()
  await field.press('Enter')
  await page.waitForURL(/guides\/privacy\.html/)
  await page.getByRole('heading', { level: 1, name: /^Privacy/ }).waitFor()
})

test('the search is loaded again at the next key after the network has failed', async () => {
  const page = await open('')
  let asked = 0
  await page.route('**/search.json', (route) => (asked++ === 0 ? route.abort() : route.continue()))
  const field = page.getByRole('searchbox', { name: 'Search' })
  await field.fill('toke')
  await page.getByRole('status').getByText('The search could not be loaded').waitFor()
  await field.fill('token')
  await page.getByRole('region', { name: 'Results of the search' }).getByRole('link').first().waitFor()
  // The browser complains of the request.
  dashboard.complaints.splice(0)
})

test.each([
  ['', 1280],
  ['guides/production.html', 390],
  ['reference/errors.html', 1280],
  ['guides/dashboard.html', 390],
] as const)('axe finds nothing wrong with %s, which fits its window and asks no other host', async (path, width) => {
  const remote: string[] = []
  const page = await open('', width)
  page.on('request', (request) => {
    if (!request.url().startsWith('data:') && !request.url().startsWith(dashboard.server.url))
      remote.push(request.url())
  })
  await page.goto(`${dashboard.server.url}/docs/${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('searchbox', { name: 'Search' }).fill('token')
  await page.getByRole('region', { name: 'Results of the search' }).getByRole('link').first().waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  expect(await axe(page)).toEqual([])
  expect(remote).toEqual([])
})

test('requests are in the language that was chosen last, on every page, and the dashboard keeps its own language', async () => {
  const page = await open('guides/tokens.html')
  const shown = () => page.locator('.samples pre:visible')
  const samples = await page.locator('.samples').count()
  expect([samples > 10, await shown().count()]).toEqual([true, samples])
  expect(await shown().first().textContent()).toMatch(/^curl -X POST /)
  await page.getByRole('button', { name: 'Python' }).last().click()
  await expect.poll(() => shown().count()).toBe(samples)
  expect(await shown().first().textContent()).toContain('urlopen(request)')
  await page.goto(`${dashboard.server.url}/docs/guides/srt.html`)
  expect(await shown().first().textContent()).toContain('urlopen(request)')
  expect(await page.getByRole('button', { name: 'Python' }).first().getAttribute('aria-pressed')).toBe('true')
  await page.goto(`${dashboard.server.url}/api/docs/createPublishToken`)
  await page.getByRole('button', { name: 'Python', pressed: true }).waitFor()
  expect(await page.evaluate("localStorage.getItem('sluice-language')")).toBeNull()
})

test('a sample is copied as it is shown, in its language; in print it is whole, and nothing is beside it', async () => {
  await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await open('guides/tokens.html')
  const group = page.locator('.samples').first()
  await group.getByRole('button', { name: 'curl' }).click()
  await group.getByRole('button', { name: 'Copy' }).click()
  const shown = (await group.locator('pre:visible').textContent())?.trimEnd()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(shown)
  await page.emulateMedia({ media: 'print' })
  expect(await page.locator('.menu, header form, .copy, .languages').filter({ visible: true }).count()).toBe(0)
  const cut = `[...document.querySelectorAll('main pre')].filter((one) => one.scrollHeight > one.clientHeight).length`
  expect(await page.evaluate(cut)).toBe(0)
})

test('the head of a page of the dashboard leads to the page of the documentation about it', async () => {
  const page = await dashboard.open('/webhooks')
  const link = page.getByRole('link', { name: 'Help' })
  expect(await link.getAttribute('href')).toBe('../docs/guides/webhook-receiver.html')
  const opened = page.waitForEvent('popup')
  await link.click()
  const shown = await opened
  onTestFinished(() => shown.close())
  await shown.getByRole('heading', { level: 1, name: 'Write a webhook receiver' }).waitFor()
})
