import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'
import { receive, type Receiver } from './receiver.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'

const dashboard = useDashboard({ SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' })
let receiver: Receiver
beforeAll(async () => {
  receiver = await receive()
})
afterAll(() => receiver.close())

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
  onTestFinished(() => page.close())
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const confirm = (verb: string) => dialog().getByRole('button', { name: verb, exact: true }).click()
const toast = (text: string) => page.locator('.toast', { hasText: text })
const toggle = (name: string) => page.getByRole('switch', { name: new RegExp(`^${name}`) })
const flip = (name: string) => toggle(name).locator('..').click()

async function choose(item: string): Promise<void> {
  await page.getByRole('button', { name: /^More for/ }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

interface Record {
  readonly id: number
  readonly url: string
  readonly secret: string
}
const records = async () => (await dashboard.api('GET', '/api/webhooks/list')).data as Record[]
const record = async (id: number): Promise<Record> => (await dashboard.api('GET', `/api/webhooks/${id}`)).data as Record

async function made(url: string, more: object = {}): Promise<Record> {
  const { status, data } = await dashboard.api('POST', '/api/webhooks', { url, isFeedHooks: true, ...more })
  expect(status).toBe(200)
  return data as Record
}

test('a webhook is made after a refusal at its field; its switches, filter and secret change', async () => {
  await open('/webhooks')
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor()
  expect(await axe(page)).toEqual([])
  await button('New webhook').click()
  await dialog().getByLabel('URL').fill('ftp://hooks.example.com/')
  await confirm('New webhook')
  const field = dialog().locator('.field', { hasText: 'URL' })
  await expect.poll(() => field.locator('.err').textContent()).toContain('must begin with')
  expect(await dialog().getByLabel('URL').getAttribute('aria-invalid')).toBe('true')
  expect(await axe(page)).toEqual([])
  await dialog()
    .getByLabel('URL')
    .fill(`${receiver.url}?name=${encodeURIComponent(HOSTILE)}`)
  await dialog().getByText('Recordings', { exact: true }).click()
  await confirm('New webhook')
  await page.getByText('Nothing was sent yet.').waitFor()
  const id = Number(/webhooks\/(\d+)/.exec(page.url())?.[1])
  expect(await record(id)).toMatchObject({ isFeedHooks: true, isMediaHooks: true, isViewerConnectionHooks: false })

  await flip('Viewers')
  await expect.poll(() => record(id)).toMatchObject({ isViewerConnectionHooks: true })
  await flip('Recordings')
  await expect.poll(() => record(id)).toMatchObject({ isMediaHooks: false, isViewerConnectionHooks: true })
  await expect.poll(() => toggle('Recordings').isChecked()).toBe(false)

  const filter = page.getByLabel('Only streams that match')
  await filter.fill('(')
  await button('Save').click()
  await page.locator('.field', { has: filter }).locator('.err').waitFor()
  await filter.fill('studio-[0-9]+')
  await button('Save').click()
  await expect.poll(() => record(id)).toMatchObject({ filter: 'studio-[0-9]+' })
  await filter.fill('')
  await button('Save').click()
  await expect.poll(() => record(id)).not.toHaveProperty('filter')

  const { secret } = await record(id)
  expect(await page.locator('main').textContent()).not.toContain(secret)
  await button('Show Secret').click()
  await page.locator('.copy code', { hasText: secret }).waitFor()
  await choose('Renew the secret')
  await confirm('Renew the secret')
  await expect.poll(async () => (await record(id)).secret).not.toBe(secret)
  await page.locator('.copy code', { hasText: (await record(id)).secret }).waitFor()
  expect(await axe(page)).toEqual([])
})

test('a test reaches the receiver of this webhook alone, and its hostile answer is shown as text', async () => {
  const before = receiver.received.length
  await made(`${receiver.url}other`)
  const { id } = await made(receiver.url)
  receiver.answer = { status: 500, body: `${HOSTILE}<script>alert(2)</script>` }
  await open(`/webhooks/${id}`)
  await choose('Send a test: Feeds')
  await toast('Test sent').waitFor()
  await page.locator('tbody tr', { hasText: '500' }).first().waitFor()
  const mark = page.locator('.pick .now', { has: page.locator('svg.t-warn') })
  await mark.getByText('The last delivery failed · Feeds').waitFor()
  // Another webhook has the same host.
  expect(await mark.getByRole('link').textContent()).toBe(`${new URL(receiver.url).host}/`)
  await page.getByRole('heading', { level: 2, name: `${new URL(receiver.url).host}/`, exact: true }).waitFor()
  const row = page.locator('tbody tr').last()
  await row.getByRole('button', { name: /^feeds/ }).click()
  const answer = page.getByLabel('Answered')
  await expect.poll(() => answer.textContent()).toBe(`500\n\n${HOSTILE}<script>alert(2)</script>`)
  const [arrived = ''] = receiver.received.slice(before)
  expect(JSON.parse((await page.getByLabel('Body', { exact: true }).textContent()) ?? '')).toEqual(JSON.parse(arrived))
  expect(await page.getByLabel('Headers').textContent()).toContain('content-type: application/json')
  await page.getByText(`${Buffer.byteLength(arrived)} bytes.`).waitFor()
  expect(await page.locator('main img, main script').count()).toBe(0)
  expect(await axe(page)).toEqual([])
  expect(receiver.received.length - before).toBe(1)

  receiver.answer = { status: 204, body: '' }
  await row.getByRole('button', { name: /^Send feeds .+ again, / }).click()
  await toast('Sent again').waitFor()
  await page.locator('tbody tr', { hasText: '204' }).waitFor()
  await mark.waitFor({ state: 'detached' })
  const [first, second] = receiver.received.slice(before)
  expect(second).toBe(first)
  await page
    .locator('tbody tr', { hasText: '204' })
    .getByRole('button', { name: /^feeds/ })
    .click()
  await page.getByText('Redelivery of').waitFor()
  const attempts = page.locator('.attempts li')
  expect(await attempts.allTextContents()).toEqual([
    expect.stringContaining('204Sent again by a person'),
    expect.stringContaining('500First time'),
  ])
  await attempts.last().getByRole('button').click()
  await page.reload()
  await expect.poll(() => answer.textContent()).toContain('500')
})

test('deliveries are filtered, and those that did not arrive are sent again together after a question', async () => {
  const before = receiver.received.length
  const { id } = await made(receiver.url)
  const states = async (query = '') =>
    ((await dashboard.api('GET', `/api/webhooks/${id}/deliveries${query}`)).data as { state: string }[]).map(
      ({ state }) => state,
    )
  receiver.answer = { status: 500, body: '' }
  for (const type of ['Feeds', 'Feeds', 'Media']) await dashboard.api('POST', `/api/webhooks/${id}/test/${type}`, {})
  await expect.poll(() => states('?state=failed')).toHaveLength(3)
  receiver.answer = { status: 204, body: '' }
  await open(`/webhooks/${id}?state=delivered`)
  const rows = page.locator('tbody tr')
  await page.getByText('No delivery matches.').waitFor()
  expect(await button('Send all again').count()).toBe(0)
  await page.getByLabel('State').selectOption('No answer')
  await expect.poll(() => rows.count()).toBe(3)
  await page.getByLabel('Event', { exact: true }).selectOption('Feeds')
  await page.getByLabel('Time').selectOption('Last hour')
  await expect.poll(() => rows.count()).toBe(2)
  expect(page.url()).toContain('state=failed&type=feeds&range=hour')
  await button('Send all again').click()
  await dialog().getByText('Only: Feeds, Last hour.').waitFor()
  expect(await axe(page)).toEqual([])
  await button('Cancel').click()
  expect(receiver.received.length - before).toBe(3)
  await button('Send all again').click()
  await confirm('Send all again')
  await toast('2 deliveries are sent again').waitFor()
  await expect.poll(() => states('?state=delivered')).toHaveLength(2)
  expect(receiver.received.length - before).toBe(5)

  await page.getByLabel('State').selectOption('Delivered')
  await expect.poll(() => rows.count()).toBe(2)
  await page.getByLabel('State').selectOption('Any state')
  await page.getByLabel('Event', { exact: true }).selectOption('Any event')
  await button('Send all again').click()
  await confirm('Send all again')
  await toast('1 delivery is sent again').waitFor()
  await expect.poll(() => states('?state=delivered')).toHaveLength(3)
})

test('a webhook is deleted after a question, and another one is shown', async () => {
  const { id } = await made('https://gone.example.com/hook')
  await open(`/webhooks/${id}`)
  await page.getByRole('heading', { name: 'gone.example.com' }).waitFor()
  await choose('Delete webhook')
  await dialog().getByText('Its deliveries are deleted with it.').waitFor()
  await page.keyboard.press('Escape')
  expect((await dashboard.api('GET', `/api/webhooks/${id}`)).status).toBe(200)
  await choose('Delete webhook')
  await confirm('Delete webhook')
  await toast('Webhook to gone.example.com deleted').waitFor()
  expect((await dashboard.api('GET', `/api/webhooks/${id}`)).status).toBe(404)
  await expect.poll(() => page.getByRole('link', { name: 'gone.example.com' }).count()).toBe(0)
  expect(await axe(page)).toEqual([])
})

test('a phone shows the list or the chosen webhook, and says when that is gone', async () => {
  const { id } = await made('https://phone.example.com/hook')
  page = await dashboard.open('/webhooks', { width: 360 })
  onTestFinished(() => page.close())
  const title = page.getByRole('heading', { name: 'phone.example.com' })
  await page.getByRole('link', { name: 'phone.example.com' }).click()
  await title.waitFor()
  expect(await page.locator('.pick').first().isVisible()).toBe(false)
  await page.getByRole('link', { name: 'All webhooks' }).click()
  await page.getByRole('link', { name: 'phone.example.com' }).waitFor()
  expect(await page.getByRole('switch').count()).toBe(0)
  await dashboard.api('DELETE', `/api/webhooks/${id}`)
  await page.goto(`${dashboard.home}#/webhooks/${id}`)
  await page.getByText('This webhook is not in the list.').waitFor()
  expect(await axe(page)).toEqual([])
})

test('a change that is refused is said, and the switch goes back', async () => {
  const { id } = await made('https://refused.example.com/')
  await open(`/webhooks/${id}`)
  await toggle('Feeds').waitFor()
  // Another user deletes it between the click and the change; earlier, the page would hear of it and show it no more.
  const address = new RegExp(`/webhooks/${id}$`)
  await page.route(address, async (route) => {
    if (route.request().method() !== 'GET')
      expect((await dashboard.api('DELETE', `/api/webhooks/${id}`)).status).toBe(200)
    await route.continue()
  })
  await flip('Viewers')
  await page.locator('.toast').waitFor()
  await page.unroute(address)
  await expect.poll(() => page.getByRole('link', { name: 'refused.example.com' }).count()).toBe(0)
})

interface ChannelRecord {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  readonly active: boolean
}
const channelRecords = (): Promise<ChannelRecord[]> => dashboard.v2('GET', '/webhooks')
const check = (event: string) =>
  dialog()
    .locator('.check', { hasText: new RegExp(`^${event}$`) })
    .click()

test('a webhook of channels is made after refusals at their fields, and edited', async () => {
  await open('/webhooks/channels')
  await page.getByRole('heading', { name: 'No webhook of channels yet' }).waitFor()
  expect(await axe(page)).toEqual([])
  await button('New webhook').click()
  await dialog().getByLabel('Name').fill(HOSTILE)
  await dialog().getByLabel('URL').fill('ftp://hooks.example.com/')
  await confirm('New webhook')
  await dialog().locator('.field', { hasText: 'URL' }).locator('.err').waitFor()
  await dialog().getByLabel('URL').fill(receiver.url)
  await dialog().getByText('Schedulers').click()
  await check('scheduler.active')
  expect(await axe(page)).toEqual([])
  await confirm('New webhook')
  await page.getByRole('heading', { level: 2, name: HOSTILE }).waitFor()
  const events = ['engine.playing', 'engine.stopped', 'engine.error', 'scheduler.active']
  expect(await channelRecords()).toMatchObject([{ name: HOSTILE, url: receiver.url, active: true, events }])
  expect(await page.locator('main img').count()).toBe(0)

  await choose('Edit')
  await dialog().getByLabel('Name').fill('Ops')
  await dialog().getByText('Engines').click()
  await check('engine.stopped')
  await confirm('Save')
  await page.getByRole('heading', { level: 2, name: 'Ops' }).waitFor()
  const left = events.filter((event) => event !== 'engine.stopped')
  expect(await channelRecords()).toMatchObject([{ name: 'Ops', events: left, active: true }])
  await choose('Edit')
  await dialog().locator('.switch', { hasText: 'All events' }).click()
  await confirm('Save')
  await expect.poll(async () => (await channelRecords())[0]?.events).toEqual(['*'])
  expect(await axe(page)).toEqual([])
})

const secretOf = async (id: string): Promise<string> =>
  ((await dashboard.v2('GET', `/webhooks/${id}/secret`)) as { secret: string }).secret

test('the secret of a webhook of channels comes to the page when it is asked for, and is renewed', async () => {
  const { id } = await dashboard.v2('POST', '/webhooks', { name: 'Secretive', url: receiver.url, events: ['*'] })
  const first = await secretOf(id)
  const answers: string[] = []
  await open(`/webhooks/channels/${id}`)
  page.on(
    'response',
    (response) =>
      void response.text().then(
        (text) => answers.push(text),
        () => undefined,
      ),
  )
  await page.reload()
  await page.getByRole('heading', { level: 2, name: 'Secretive' }).waitFor()
  await page.getByText('No attempt in this time.').waitFor()
  expect(answers.join()).not.toContain(first)
  await button('Show Secret').click()
  await page.locator('.copy code', { hasText: first }).waitFor()
  await button('Hide Secret').click()
  await expect.poll(() => page.locator('main').textContent()).not.toContain(first)
  await button('Show Secret').click()
  await choose('Renew the secret')
  await confirm('Renew the secret')
  await toast('Secret renewed').waitFor()
  expect(await page.locator('main').textContent()).not.toContain(first)
  const second = await secretOf(id)
  expect(second).not.toBe(first)
  await button('Show Secret').click()
  await page.locator('.copy code', { hasText: second }).waitFor()
})

test('a webhook of channels is tested, its log shows what was sent, and sends it again', async () => {
  const { id } = await dashboard.v2('POST', '/webhooks', { name: 'Tested', url: receiver.url, events: ['*'] })
  receiver.answer = { status: 503, body: '' }
  const before = receiver.received.length
  const tests = () => receiver.received.slice(before).filter((body) => body.includes('"test":true'))
  await open(`/webhooks/channels/${id}`)
  await choose('Send a test')
  await dialog().getByLabel('Event').selectOption('engine.error')
  expect(await axe(page)).toEqual([])
  await dialog().getByRole('button', { name: 'Send a test' }).click()
  await page.locator('tbody tr', { hasText: '503' }).waitFor()
  await page.getByRole('button', { name: /^engine\.error/ }).click()
  await expect.poll(() => page.getByLabel('Body', { exact: true }).textContent()).toContain('"test": true')
  expect(await axe(page)).toEqual([])

  receiver.answer = { status: 204, body: '' }
  await page.getByRole('button', { name: /^Send engine\.error again, / }).click()
  await page.locator('tbody tr', { hasText: '204' }).waitFor()
  expect(await page.locator('.attempts li').allTextContents()).toEqual([
    expect.stringContaining('204Sent again by a person'),
    expect.stringContaining('503Attempt 1'),
  ])
  await page.getByText('1 of the latest 2 attempts were delivered').waitFor()
  const [first, second, ...others] = tests()
  expect(second).toBe(first)
  expect(others).toEqual([])
  await page.getByLabel('Time').selectOption('Last hour')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
})

test('a webhook of channels is switched on and off, and deleted while it is active', async () => {
  const { id } = await dashboard.v2('POST', '/webhooks', {
    name: 'Doomed',
    url: receiver.url,
    events: ['ingest.created'],
  })
  const isActive = async () => (await channelRecords()).find((one) => one.id === id)?.active
  await open(`/webhooks/channels/${id}`)
  await flip('Active')
  await expect.poll(isActive).toBe(true)
  await page
    .locator('.pick li', { hasText: 'Doomed' })
    .getByText('Off', { exact: false })
    .waitFor({ state: 'detached' })
  await flip('Active')
  await expect.poll(isActive).toBe(false)
  await page.locator('.pick li', { hasText: 'Doomed' }).getByText('Off · 1 event').waitFor()
  await flip('Active')
  await expect.poll(isActive).toBe(true)
  await choose('Delete webhook')
  await dialog().getByText('Sluice switches it off first').waitFor()
  await confirm('Delete webhook')
  await toast('Webhook Doomed deleted').waitFor()
  expect(await isActive()).toBe(undefined)
  await expect.poll(() => page.getByRole('link', { name: 'Doomed' }).count()).toBe(0)
})

test('a phone shows the same without scrolling sideways', async () => {
  const [[first], [ofChannels]] = await Promise.all([records(), channelRecords()])
  for (const [path, heading] of [
    [`/webhooks/${first?.id}`, 'Deliveries'],
    [`/webhooks/channels/${ofChannels?.id}`, 'Log'],
  ] as const) {
    const phone = await dashboard.open(path, { width: 390, theme: 'dark' })
    await phone.getByRole('heading', { name: heading, exact: true }).waitFor()
    expect(await phone.evaluate('document.documentElement.scrollWidth'), path).toBe(390)
    await phone.close()
  }
})
