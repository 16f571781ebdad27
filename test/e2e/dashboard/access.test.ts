import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const HOSTILE = '<script>alert(1)</script>'

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const field = (label: string) =>
  page.locator('.field', {
    has: page.locator('label, .label', { hasText: new RegExp(`^${label}(\\s*optional)?\\s*$`) }),
  })
const results = (): Promise<string[]> => page.locator('tbody a.row').allTextContents()
const shows = (expected: readonly string[]) => expect.poll(results).toEqual(expected)

async function attempt(streamName: string, token: string, origin?: string): Promise<number> {
  const response = await fetch(dashboard.whip(streamName), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/sdp',
      ...(origin === undefined ? {} : { origin }),
    },
    body: 'v=0',
  })
  return response.status
}

test('without a decision the page teaches the dry run', async () => {
  await open('/access')
  await page.getByText('No decision is on record yet').waitFor()
  await page.getByRole('heading', { name: 'Would this be admitted?' }).waitFor()
  expect(await axe(page)).toEqual([])
})

test('a refusal appears by itself, shows its trace, and leads to the rule of the token', async () => {
  const { id, token } = await dashboard.token('publish', {
    label: HOSTILE,
    streams: [{ streamName: 'show' }],
    allowedOrigins: ['example.com'],
  })
  await open('/access')
  await page.getByText('No decision is on record yet').waitFor()
  expect(await attempt('show', token, 'https://evil.example')).toBe(401)
  await shows(['Site not allowed'])
  await page.locator('tbody a.row').click()
  await page.locator('.verdict', { hasText: 'No: Site not allowed' }).waitFor()
  expect(await page.locator('.trace li').allTextContents()).toEqual([
    'Tokenthe token is known',
    'Switched onthe token is active',
    'Expirythe token never expires',
    'Stream namethe token covers the stream name',
    'Sitethe origin matches none of the allowed origins of the token',
    'Address, Country, Address rules over RTMP, Region, Bound addressesnot checked, because the decision was clear',
  ])
  expect(await page.locator('.trace .stop b').textContent()).toBe('Site')
  await page.getByText(`“${HOSTILE}”, publish token ${id}`).waitFor()
  expect(await axe(page)).toEqual([])

  await page.getByRole('link', { name: 'Go to the rule' }).click()
  await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
  const focused = page.locator('[data-rule=sites] input:focus')
  await focused.waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Allow evil.example' }).click()
  await page.locator('.toast', { hasText: 'evil.example is allowed now' }).waitFor()
  const { data } = await dashboard.api('GET', `/api/publish_token/${id}`)
  expect(data).toMatchObject({ allowedOrigins: ['example.com', 'evil.example'] })
})

test('filters stand in the address and narrow the list', async () => {
  const { id, token } = await dashboard.token('publish', { label: 'Filters', streams: [{ streamName: 'filters' }] })
  expect(await attempt('other', token)).toBe(401)
  const off = await dashboard.token('publish', { label: 'Off', streams: [{ streamName: 'filters' }] })
  await dashboard.api('PATCH', '/api/publish_token/disable', { tokenIds: [off.id] })
  expect(await attempt('filters', off.token)).toBe(401)
  await open('/access')
  await shows(['Token switched off', 'Stream name not in the token', 'Site not allowed'])
  await page.getByRole('searchbox').fill('filters')
  await shows(['Token switched off'])
  expect(page.url()).toContain('stream=filters')
  await page.getByRole('searchbox').fill(`token ${id}`)
  await shows(['Stream name not in the token'])
  await page.getByRole('searchbox').fill('127.0.0.1')
  await shows(['Token switched off', 'Stream name not in the token', 'Site not allowed'])
  await page.getByRole('combobox', { name: 'Reason' }).selectOption('Site not allowed')
  await shows(['Site not allowed'])
  await page.reload()
  await shows(['Site not allowed'])
  await page.getByText('Admitted', { exact: true }).click()
  await page.getByText('No decision matches').waitFor()
  await page.getByRole('button', { name: 'Record admissions' }).click()
  await page.getByText('Admissions are recorded, at most 240 a minute').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Only refusals are recorded').waitFor()
  await page.getByRole('link', { name: 'Show all decisions' }).click()
  await shows(['Token switched off', 'Stream name not in the token', 'Site not allowed'])
  await page.getByRole('combobox', { name: 'Time' }).selectOption('Last hour')
  await shows(['Token switched off', 'Stream name not in the token', 'Site not allowed'])

  const reasons = page.locator('.bars li')
  await expect.poll(() => reasons.count()).toBe(3)
  await reasons.getByRole('link', { name: 'Token switched off' }).click()
  await shows(['Token switched off'])
})

test('the dry run asks by the id of a token, and shows a refusal of the question at its field', async () => {
  const { id } = await dashboard.token('publish', { label: 'Ask', streams: [{ streamName: 'ask' }] })
  await open('/access')
  await page.locator('label', { hasText: 'Publish' }).click()
  await field('Stream').locator('input').fill('ask')
  await field('Token').locator('input').fill(String(id))
  await field('Address').locator('input').fill('not an address')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await field('Address').locator('.err').waitFor()
  await field('Address').locator('input').fill('203.0.113.7')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.locator('.verdict.yes', { hasText: 'Yes: admitted' }).waitFor()
  await field('Stream').locator('input').fill('another')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.locator('.verdict', { hasText: 'No: Stream name not in the token' }).waitFor()
  expect((await dashboard.api('GET', `/api/publish_token/${id}`)).data).not.toHaveProperty('lastUsedOn')
  expect(await axe(page)).toEqual([])
})

test('a phone shows the same without scrolling sideways', async () => {
  const phone = await dashboard.open('/access', { width: 390, theme: 'dark' })
  await phone.locator('tbody a.row').first().waitFor()
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390)
})

/** Where the first and the last letter of a text after the name of a stream begin. */
const ORDER = `(() => {
  const [after] = [...document.querySelector('tbody .only-narrow').childNodes].filter(({ data }) => data?.includes('from'))
  const leftOf = (at) => {
    const range = document.createRange()
    range.setStart(after, at)
    range.setEnd(after, at + 1)
    return range.getBoundingClientRect().left
  }
  const at = after.data.indexOf('from')
  return [leftOf(at), leftOf(at + 3)]
})()`

test('a name that turns the direction of its text does not turn the words after it', async () => {
  const name = '\u202Elive'
  const headers = { authorization: 'Bearer unknown', 'content-type': 'application/sdp' }
  expect((await fetch(dashboard.whep(name), { method: 'POST', headers, body: 'v=0' })).status).toBe(401)
  const phone = await dashboard.open(`/access?stream=${encodeURIComponent(name)}`, { width: 390 })
  await phone.locator('tbody .only-narrow').first().waitFor()
  const [first = 0, last = 0] = await phone.evaluate<number[]>(ORDER)
  expect(first).toBeLessThan(last)
})
