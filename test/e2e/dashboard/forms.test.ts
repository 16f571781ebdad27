import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
  await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write'])
}

const field = (label: string) => page.locator('.field', { has: page.getByLabel(label, { exact: true }) })
const errorOf = (label: string) => field(label).locator('.err')
const input = (label: string) => page.getByLabel(label, { exact: true })
const create = () => page.getByRole('button', { name: 'Create token' }).click()

/** As from a spreadsheet or a mail. */
async function paste(label: string, text: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  await input(label).focus()
  await page.keyboard.press('Control+v')
}

test('a year of five digits is no date, and makes no token that never expires', async () => {
  await open('/tokens/publish/new')
  await input('Label').fill('Summer')
  await paste('Streams', 'summer')
  await page.getByText('On a date').click()
  await input('Date and time').fill('20266-01-01T12:00')
  await create()
  await errorOf('Date and time').waitFor()
  await input('Date and time').fill('2036-01-01T12:00')
  await create()
  await page.getByRole('heading', { level: 1, name: 'Summer' }).waitFor()
  const { data } = await dashboard.api('GET', '/api/publish_token/list?itemsOnPage=1&sortBy=AddedOn&isDescending=true')
  expect((data as { expiresOn?: string }[])[0]?.expiresOn).toMatch(/^2036-/)
})

test('what is too long for a field was cut without a word', async () => {
  await open('/tokens/publish/new')
  const label = 'é'.repeat(10_001)
  await paste('Label', label)
  await errorOf('Label').getByText('Use 128 characters or fewer.').waitFor()
  expect(await input('Label').inputValue()).toBe(label)
  await paste('Streams', 'show')
  await create()
  expect(await input('Label').evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  // As the server counts: an emoji is one.
  await input('Label').fill('🎥'.repeat(128))
  await errorOf('Label').waitFor({ state: 'detached' })
  await create()
  await page.getByRole('heading', { level: 1, name: '🎥' }).waitFor()
})

test('each line that is pasted into a list is an entry', async () => {
  await open('/tokens/publish/new')
  await create()
  await errorOf('Streams').waitFor()
  await paste('Streams', 'stage one\r\nstage two\n/guest-[0-9]{1,3}/\n')
  await expect.poll(() => field('Streams').locator('.chips > span').count()).toBe(3)
  expect(await errorOf('Streams').count()).toBe(0)
  await page.getByText('Narrow it: sites, addresses, countries').click()
  await paste('Allowed sites optional', 'a.example\nb.example')
  await expect
    .poll(() => field('Allowed sites optional').locator('.chips > span').allTextContents())
    .toEqual(['a.example', 'b.example'])
})

test('what is wrong with a very long entry of a list fits into a few lines', async () => {
  await open('/tokens/subscribe/new')
  await page.getByText('Narrow it: sites, addresses, countries').click()
  await input('Allowed addresses optional').fill(`${'9'.repeat(10_000)},`)
  const said = await errorOf('Allowed addresses optional').textContent()
  expect(said?.length).toBeLessThan(200)
  expect(said).toMatch(/^9+… /)
})

test('a list that cannot be loaded does not say that it is empty', async () => {
  await open('/')
  await page.route('**/publish_token/list*', (route) => route.fulfill({ status: 503 }))
  await page.goto(`${dashboard.home}#/tokens/publish`)
  await page.getByRole('alert').getByText('The server does not answer.').waitFor()
  expect(await page.getByText('No token matches').count()).toBe(0)
})

test('what another person deletes while the question is open is deleted, without an error', async () => {
  const secrets = `${dashboard.home}api/secrets`
  const headers = { 'X-Sluice-Dashboard': '1' }
  const made = await dashboard.context.request.post(secrets, { headers, data: { name: 'Shared' } })
  const { data } = (await made.json()) as { data: { id: number } }
  await open('/settings/security')
  await page.getByRole('button', { name: 'Delete Shared' }).click()
  expect((await dashboard.context.request.delete(`${secrets}/${data.id}`, { headers })).ok()).toBe(true)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.locator('.toast', { hasText: 'Shared' }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})
