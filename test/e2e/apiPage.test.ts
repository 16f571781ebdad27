import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { axe, useDashboard } from './dashboard/dashboard.ts'

const dashboard = useDashboard()

/** Addresses outside of this server that a page asked for. */
let remote: string[]

async function open(path: string, width = 1280): Promise<Page> {
  const page = await dashboard.context.newPage()
  onTestFinished(() => page.close())
  remote = []
  page.on('request', (request) => {
    if (!request.url().startsWith('data:') && !request.url().startsWith(dashboard.server.url))
      remote.push(request.url())
  })
  await page.setViewportSize({ width, height: 900 })
  await page.goto(`${dashboard.server.url}/api/docs${path}`)
  return page
}

function operationsIn(name: string): number {
  const file = new URL(`../../api/${name}.openapi.json`, import.meta.url)
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as { paths: Record<string, object> }
  return Object.values(paths).flatMap((methods) => Object.keys(methods)).length
}

/** A phone and a desktop. */
const PAGES = [
  ['tokens', '', 'Token API', 1280],
  ['channels', '/channels', 'Channels API', 390],
  ['tokens', '/createPublishToken', 'Create a publish token', 390],
  ['channels', '/updateDistribution', 'Edit a distribution', 1280],
] as const

test.each(PAGES)(
  'of the %s API, %s lists every operation, hides nothing from people who cannot see, and asks no other host',
  async (name, path, heading, width) => {
    const page = await open(path, width)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    expect(await page.locator('.menu li a').count()).toBe(operationsIn(name))
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(await axe(page)).toEqual([])
    expect(remote).toEqual([])
  },
)

test('the menu finds an operation by a word of it, and leads there', async () => {
  const page = await open('')
  await page.getByLabel('Find').fill('redeliver events')
  await page.getByLabel('Find').fill('sign')
  const found = page.locator('.menu li a:visible')
  await expect.poll(() => found.count()).toBeLessThan(10)
  await found.filter({ hasText: 'Sign a token that narrows this one' }).click()
  await page.getByRole('heading', { level: 1, name: /^Sign a token/ }).waitFor()
})

test('a page shows the samples of one language, for the server that it comes from, and remembers it', async () => {
  const page = await open('/createPublishToken')
  const shown = page.locator('[data-language]:visible pre')
  await expect.poll(() => shown.allTextContents()).toEqual([expect.stringContaining(`'${dashboard.server.url}/api/`)])
  await page.getByRole('button', { name: 'Go', exact: true }).click()
  await page.goto(`${dashboard.server.url}/api/docs/listChannels`)
  await expect.poll(() => shown.allTextContents()).toEqual([expect.stringContaining('package main')])
  await page.getByRole('button', { name: 'curl', exact: true }).click()
})

const answer = (page: Page) => page.getByRole('status')

test('an operation is tried with the session of the dashboard, a change at the second press', async () => {
  const page = await open('/createPublishToken')
  const button = page.locator('button[type=submit]')
  await button.click()
  expect(await button.textContent()).toBe('Send POST: this changes your account')
  await button.click()
  await answer(page).getByText('"label": "Studio 1"').waitFor()
  // For those who use the keyboard.
  expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  await page.goto(`${dashboard.server.url}/api/docs/listPublishTokensByName`)
  await page.getByLabel('name', { exact: true }).fill('Studio 1')
  await page.getByLabel('itemsOnPage').fill('5')
  await button.click()
  await answer(page).getByRole('heading', { name: '200' }).waitFor()
  expect(JSON.parse((await answer(page).locator('pre').textContent())!)).toMatchObject({ data: [{ name: 'Studio 1' }] })
  await page.goto(`${dashboard.server.url}/api/docs/createChannel`)
  await button.click()
  await button.click()
  await answer(page).getByText('"name": "Main stage"').waitFor()
})

test('an operation is tried with a secret, which the tab keeps; the server says why it refuses another', async () => {
  const page = await open('/readAccountInfo')
  await page.getByRole('textbox', { name: 'API secret' }).fill(dashboard.secret)
  expect(await page.getByLabel('An API secret').isChecked()).toBe(true)
  await page.locator('button[type=submit]').click()
  await answer(page).getByText(dashboard.accountId).waitFor()
  await page.reload()
  await page.locator('button[type=submit]').click()
  await answer(page).getByText(dashboard.accountId).waitFor()
  await page.getByRole('textbox', { name: 'API secret' }).fill('wrong')
  await page.locator('button[type=submit]').click()
  await answer(page).getByRole('heading', { name: '401' }).waitFor()
})
