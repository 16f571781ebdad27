import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { axe, type Dashboard, openDashboard } from './dashboard.ts'

const SOON = { timeout: 60_000, interval: 100 }

let dashboard: Dashboard
let page: Page
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

beforeEach(async () => {
  page = await dashboard.open('/settings/defaults')
  return () => page.close()
})

const button = (name: string) => page.getByRole('button', { name, exact: true })
const card = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) })

test('the account says how long recordings are kept, and a change is undone', async () => {
  const days = card('Recordings').getByLabel('Delete recordings after')
  const save = card('Recordings').getByRole('button', { name: 'Save' })
  const stored = async () => (await dashboard.api('GET', '/api/v3/account/media/expiration')).data.recordings
  await days.fill('366')
  await save.click()
  await page.getByText('Write a whole number from 1 to 365.').waitFor()
  expect(await stored()).toBeNull()
  await days.fill('30')
  await save.click()
  await page.getByRole('status').getByText('Saved').waitFor()
  expect(await stored()).toEqual({ days: 30 })
  expect(await axe(page)).toEqual([])
  await button('Undo').click()
  await expect.poll(stored, SOON).toBeNull()
  await expect.poll(() => days.inputValue(), SOON).toBe('')
})

test('a viewer reads what the account says, and changes nothing', async () => {
  await page.route('**/dashboard/api/session', async (route) => {
    const answer = await route.fetch()
    const { data, ...rest } = (await answer.json()) as { data: { user: object } }
    await route.fulfill({ json: { ...rest, data: { ...data, user: { ...data.user, role: 'viewer' } } } })
  })
  await page.reload()
  await page.getByText('Recordings stay until someone deletes them.').waitFor()
  expect(await page.locator('main :is(button, input)').count()).toBe(0)
})
