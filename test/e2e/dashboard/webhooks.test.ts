import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { axe, type Dashboard, openDashboard } from './dashboard.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'
const SOON = { timeout: 30_000, interval: 100 }

let dashboard: Dashboard
let receiver: Receiver
beforeAll(async () => {
  receiver = await receive()
  dashboard = await openDashboard({ SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' })
})
afterAll(async () => {
  receiver.close()
  await dashboard.close()
})

interface Receiver {
  readonly url: string
  /** The bodies so far. */
  readonly received: string[]
  /** What it answers from now on. */
  answer: { status: number; body: string }
  close(): void
}

/** A server of an integrator, which answers what the test wants. */
async function receive(): Promise<Receiver> {
  const received: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push(Buffer.concat(chunks).toString())
      response.writeHead(one.answer.status, { 'content-type': 'text/html' }).end(one.answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  const one: Receiver = { url, received, answer: { status: 200, body: 'ok' }, close: () => void server.close() }
  return one
}

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
  await expect.poll(() => field.locator('.err').textContent(), SOON).toContain('must begin with')
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
  await expect.poll(() => record(id), SOON).toMatchObject({ isViewerConnectionHooks: true })
  await flip('Recordings')
  await expect.poll(() => record(id), SOON).toMatchObject({ isMediaHooks: false, isViewerConnectionHooks: true })
  await expect.poll(() => toggle('Recordings').isChecked(), SOON).toBe(false)

  const filter = page.getByLabel('Only streams that match')
  await filter.fill('(')
  await button('Save').click()
  await page.locator('.field', { has: filter }).locator('.err').waitFor()
  await filter.fill('studio-[0-9]+')
  await button('Save').click()
  await expect.poll(() => record(id), SOON).toMatchObject({ filter: 'studio-[0-9]+' })
  await filter.fill('')
  await button('Save').click()
  await expect.poll(() => record(id), SOON).not.toHaveProperty('filter')

  const { secret } = await record(id)
  expect(await page.locator('main').textContent()).not.toContain(secret)
  await button('Show Secret').click()
  await page.locator('.copy code', { hasText: secret }).waitFor()
  await choose('Renew the secret')
  await confirm('Renew the secret')
  await expect.poll(async () => (await record(id)).secret, SOON).not.toBe(secret)
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
  const row = page.locator('tbody tr').last()
  await row.getByRole('button', { name: /^feeds/ }).click()
  const answer = page.locator('.block pre')
  await expect.poll(() => answer.textContent(), SOON).toBe(`500\n\n${HOSTILE}<script>alert(2)</script>`)
  expect(await page.locator('main img, main script').count()).toBe(0)
  expect(await axe(page)).toEqual([])
  expect(receiver.received.length - before).toBe(1)

  receiver.answer = { status: 204, body: '' }
  await row.getByRole('button', { name: /^Send feeds .+ again$/ }).click()
  await toast('Sent again').waitFor()
  await page.locator('tbody tr', { hasText: '204' }).waitFor()
  const [first, second] = receiver.received.slice(before)
  expect(second).toBe(first)
  await page
    .locator('tbody tr', { hasText: '204' })
    .getByRole('button', { name: /^feeds/ })
    .click()
  await page.getByText('Redelivery of').waitFor()
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
  await expect.poll(() => page.getByRole('link', { name: 'gone.example.com' }).count(), SOON).toBe(0)
  expect(await axe(page)).toEqual([])
})

test('a change that is refused is said, and the switch goes back', async () => {
  const { id } = await made('https://refused.example.com/')
  await open(`/webhooks/${id}`)
  await toggle('Feeds').waitFor()
  expect((await dashboard.api('DELETE', `/api/webhooks/${id}`)).status).toBe(200)
  await flip('Viewers')
  await page.locator('.toast').waitFor()
  await expect.poll(() => page.getByRole('link', { name: 'refused.example.com' }).count(), SOON).toBe(0)
})

test('a phone shows the same without scrolling sideways', async () => {
  const phone = await dashboard.open('/webhooks', { width: 390, theme: 'dark' })
  await phone.getByRole('heading', { name: 'Deliveries' }).waitFor()
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390)
  await phone.close()
})

test('no page broke its policy or its script', () => {
  expect(dashboard.complaints).toEqual([])
})
