import type { Page, Route } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const HEADERS = { 'X-Sluice-Dashboard': '1' }

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const toast = (text: string) => page.locator('.toast', { hasText: text })
const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

/** Holds the answers of this method and path until the returned function is called, and says when the first is there to be held. */
async function hold(method: string, path: string): Promise<{ held: Promise<void>; release: () => void }> {
  const [first, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(path, async (route: Route) => {
    if (route.request().method() !== method) return route.fallback()
    const response = await route.fetch()
    first.resolve()
    await open.promise
    return route.fulfill({ response })
  })
  return { held: first.promise, release: open.resolve }
}

test('an answer that comes late does not bring back a page that the user has left', async () => {
  await open('/tokens/publish/new')
  const { held, release } = await hold('POST', '**/api/publish_token')
  await page.getByLabel('Label').fill('Late')
  await page.getByLabel('Streams').fill('late')
  await button('Create token').click()
  await held
  await page.getByRole('link', { name: 'Recordings', exact: true }).click()
  await title('Recordings').waitFor()
  const answered = page.waitForResponse('**/api/publish_token')
  release()
  await answered
  await page.getByRole('link', { name: 'Tokens', exact: true }).click()
  await page.getByRole('link', { name: 'Late' }).waitFor()
  expect(new URL(page.url()).hash).toBe('#/tokens/publish')
})

test('what is typed while a form is being saved stays, and is saved with the next press', async () => {
  const { id } = await dashboard.token('publish', { label: 'Slow', streams: [{ streamName: 'slow' }] })
  await open(`/tokens/publish/${id}`)
  await title('Slow').waitFor()
  const { held, release } = await hold('PUT', `**/publish_token/${id}`)
  await page.getByLabel('Label').fill('Slower')
  await button('Save').click()
  await held
  await page.getByLabel('Viewers at once').fill('7')
  release()
  await title('Slower').waitFor()
  await toast('Slower').waitFor()
  expect(await page.getByLabel('Viewers at once').inputValue()).toBe('7')
  await button('Save').click()
  const stored = async () => (await dashboard.api('GET', `/api/publish_token/${id}`)).data as object
  await expect.poll(stored).toMatchObject({ label: 'Slower', maxViewers: 7 })
})

test('while a search is being taken back, no page says that there is nothing at all', async () => {
  await dashboard.token('publish', { label: 'There', streams: [{ streamName: 'there' }] })
  await open('/tokens/publish?search=nothing')
  await page.getByRole('heading', { name: 'No token matches' }).waitFor()
  const { held, release } = await hold('GET', '**/publish_token/list*')
  await page.getByRole('link', { name: 'Show all tokens' }).click()
  await held
  await page.locator('section.card[aria-label="Publish tokens"] .bone').first().waitFor()
  expect(await page.getByRole('heading', { name: 'No client can broadcast yet' }).count()).toBe(0)
  release()
  await page.getByRole('link', { name: 'There' }).waitFor()
})

test('two people who add to one list of a token keep what each has added', async () => {
  const { id } = await dashboard.token('publish', { label: 'Shared', streams: [{ streamName: 'one' }] })
  await open(`/tokens/publish/${id}`)
  await title('Shared').waitFor()
  await page.getByLabel('Streams').fill('mine,')
  await dashboard.api('PUT', `/api/publish_token/${id}`, { addTokenStreams: [{ streamName: 'theirs' }] })
  await button('Remove theirs').waitFor()
  await button('Save').click()
  await toast('Shared').waitFor()
  const { data } = await dashboard.api('GET', `/api/publish_token/${id}`)
  const { streams } = data as { streams: { streamName: string }[] }
  expect(streams.map(({ streamName }) => streamName).toSorted()).toEqual(['mine', 'one', 'theirs'])
})

test('a page of a list that fails is asked for again, and not counted as shown', async () => {
  const { data } = await dashboard.api('POST', '/api/webhooks', {
    url: 'https://hooks.example/none',
    isFeedHooks: true,
  })
  const { id } = data as { id: number }
  const rows = (from: number) =>
    Array.from({ length: 50 }, (_, at) => ({
      id: `d${String(from + at).padStart(4, '0')}`,
      eventId: `e${from + at}`,
      type: 'feeds',
      event: 'started',
      state: 'delivered',
      subject: `row ${from + at}`,
      createdOn: '2026-01-01T00:00:00.000Z',
      statusCode: 200,
    }))
  let isBroken = true
  await open('/')
  await page.route('**/deliveries?*', (route) => {
    const cursor = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    if (cursor === 50 && isBroken) return route.fulfill({ status: 503 })
    const pagination = { hasMore: true, cursor: String(cursor + 50) }
    return route.fulfill({ json: { status: 'success', data: rows(cursor), pagination } })
  })
  await page.goto(`${dashboard.home}#/webhooks/${id}`)
  const range = page.locator('.card-foot')
  await range.getByText('1 to 50').waitFor()
  await button('Older').click()
  await page.getByRole('alert').waitFor()
  await range.getByText('1 to 50').waitFor()
  isBroken = false
  await button('Older').click()
  await range.getByText('51 to 100').waitFor()
  await page.getByText('row 50', { exact: true }).waitFor()
})

test('as long as the server refuses to say what is on the air, the pages say that and not that they load', async () => {
  await open('/settings/security')
  for (const path of ['**/api/events', '**/streams/live*'])
    await page.route(path, (route) => route.fulfill({ status: 503 }))
  for (const path of ['/', '/streams']) {
    await page.goto(`${dashboard.home}#${path}`)
    await page.reload()
    await page.getByRole('alert').getByText('The server does not answer.').first().waitFor()
    await expect.poll(() => page.locator('main').getByText('Loading').count()).toBe(0)
  }
})

test('each page of a browser says who has signed in there last', async () => {
  const second = { email: 'ben@example.com', password: 'another sentence', role: 'viewer' }
  const made = await dashboard.context.request.post(`${dashboard.home}api/users`, { headers: HEADERS, data: second })
  expect(made.ok()).toBe(true)
  const context = await dashboard.newContext()
  onTestFinished(() => context.close())
  const signIn = async (email: string, password: string): Promise<Page> => {
    const opened = await context.newPage()
    await opened.goto(dashboard.home)
    await opened.keyboard.press('Control+k')
    await opened.getByLabel('E-mail').fill(email)
    await opened.getByLabel('Password').fill(password)
    await opened.getByRole('button', { name: 'Sign in', exact: true }).click()
    await opened.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    // The search was asked for before there was anything to search.
    expect(await opened.getByRole('dialog').count()).toBe(0)
    return opened
  }
  const older = await signIn(ADMIN.email, ADMIN.password)
  await older.getByRole('link', { name: 'Go live' }).first().waitFor()
  await context.request.delete(`${dashboard.home}api/session`, { headers: HEADERS })
  await signIn(second.email, second.password)
  await older.locator('.who').getByText(second.email).waitFor()
  expect(await older.getByRole('link', { name: 'Go live' }).count()).toBe(0)
})
