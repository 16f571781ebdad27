import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard({ SLUICE_SERVER_REGION: 'eu-west' })
let page: Page

beforeEach(async () => {
  page = await dashboard.open('/settings/defaults')
})

/** A message, which stays as long as it is pointed at. */
const saved = () => page.getByRole('status').getByText('Saved')
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
  await saved().hover()
  expect(await stored()).toEqual({ days: 30 })
  expect(await axe(page)).toEqual([])
  await button('Undo').click()
  await expect.poll(stored).toBeNull()
  await expect.poll(() => days.inputValue()).toBe('')
})

test('countries of tokens without rules are changed and undone, and the page says what they do without a database', async () => {
  const stored = async () => (await dashboard.api('GET', '/api/v3/account/security')).data as object
  const countries = card('Countries')
  await countries.getByText('For all publish and subscribe tokens that have no country rules of their own.').waitFor()
  await countries.getByText('“Only these” refuses every client').waitFor()
  await countries.getByRole('textbox').fill('de,xx')
  await countries.getByRole('button', { name: 'Save' }).click()
  await countries.getByText('xx').first().waitFor()
  expect(await stored()).toEqual({ allowedCountries: [], deniedCountries: [] })
  await countries.getByRole('button', { name: 'Remove xx' }).click()
  await countries.getByText('All but these', { exact: true }).click()
  await countries.getByRole('button', { name: 'Save' }).click()
  await saved().hover()
  expect(await stored()).toEqual({ allowedCountries: [], deniedCountries: ['DE'] })
  expect(await axe(page)).toEqual([])
  await button('Undo').click()
  await expect.poll(stored).toEqual({ allowedCountries: [], deniedCountries: [] })
})

test('the regions that show streams are changed, and one that no node is in is refused', async () => {
  const distribution = card('Distribution')
  await distribution.getByText('Off: every server does.').waitFor()
  await distribution.getByRole('switch').check()
  await distribution.getByRole('textbox').fill('phx-1,all,')
  await distribution.getByRole('button', { name: 'Save' }).click()
  await distribution.getByText('phx-1: must be all or a region of nodes (eu-west), not phx-1').waitFor()
  await distribution.getByRole('button', { name: 'Remove phx-1' }).click()
  await distribution.getByRole('button', { name: 'Save' }).click()
  await saved().waitFor()
  const geoCascade = { isEnabled: true, clusters: ['all'] }
  expect((await dashboard.api('GET', '/api/v3/account/distribution')).data).toEqual({ geoCascade })
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
