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
  for (const path of ['/', '/streams', '/streams/any']) {
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

/** Notes each state in which the switch of this name is drawn from its next press on. */
async function watch(name: string): Promise<{ press: () => Promise<void>; seen: () => Promise<readonly boolean[]> }> {
  const found = page.getByRole('switch', { name: new RegExp(`^${name}`) })
  await found.waitFor()
  await page.evaluate(`{
    const isNamed = (one) => one.closest('label').textContent.startsWith(${JSON.stringify(name)})
    const input = [...document.querySelectorAll('[role=switch]')].find(isNamed)
    globalThis.seen = new Set()
    const look = () => { seen.add(input.checked); requestAnimationFrame(look) }
    input.addEventListener('click', () => requestAnimationFrame(look), { once: true })
  }`)
  return { press: () => found.click(), seen: () => page.evaluate<readonly boolean[]>('[...seen]') }
}

test('a switch shows what was chosen while its change is under way, and a second press changes nothing', async () => {
  const url = 'rtsp://camera.invalid/main'
  const { id } = await dashboard.token('publish', {
    streams: [{ streamName: 'door' }],
    restream: [{ url: 'rtmp://tube.invalid/live', key: 'key-1' }],
  })
  await dashboard.api('POST', '/api/pulls', { tokenId: id, streamName: 'door', label: 'Door', url, enabled: true })
  const hook = await dashboard.api('POST', '/api/webhooks', { url: 'https://hooks.example/', isFeedHooks: true })
  const events = { name: 'Hook', url: 'https://hooks.example/', events: ['*'], active: true }
  const channelHook = (await dashboard.v2('POST', '/webhooks', events)) as { id: string }
  const channel = (await dashboard.v2('POST', '/channels', { name: 'News', distributions: [{ name: 'Web' }] })) as {
    id: string
  }
  for (const [path, name, method, changed] of [
    [`/tokens/publish/${id}`, 'On Door', 'PUT', '**/api/pulls/*'],
    [`/tokens/publish/${id}`, 'On tube.invalid', 'PUT', '**/publish_token/*'],
    [`/webhooks/${hook.data.id}`, 'Feeds', 'PUT', '**/api/webhooks/*'],
    [`/webhooks/channels/${channelHook.id}`, 'Active', 'PATCH', '**/webhooks/*'],
    [`/channels/${channel.id}`, 'Viewers may watch Web', 'PATCH', '**/distributions/*'],
  ] as const) {
    await open(path)
    const { press, seen } = await watch(name)
    let sent = 0
    page.on('request', (request) => (sent += request.method() === method ? 1 : 0))
    const { held, release } = await hold(method, changed)
    await press()
    await held
    await press()
    release()
    await page.locator('[role=switch][aria-busy]').waitFor({ state: 'detached' })
    expect([name, sent, await seen()]).toEqual([name, 1, [false]])
    await page.close()
  }
})

test('a button whose action is under way says so, and a second press does nothing', async () => {
  await dashboard.v2('POST', '/channels', {
    name: 'Evening',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main' }] }],
  })
  await open('/channels')
  let sent = 0
  page.on('request', (request) => (sent += request.method() === 'POST' ? 1 : 0))
  const { held, release } = await hold('POST', '**/channels/*/start')
  const start = button('Start Evening')
  await start.click()
  await held
  expect(await start.getAttribute('aria-busy')).toBe('true')
  await start.click({ force: true })
  release()
  await button('Stop Evening').waitFor()
  expect([sent, await page.locator('.toast').count()]).toEqual([1, 0])
  await button('Stop Evening').click()
  await button('Start Evening').waitFor()
})

test('a page says that the server does not answer, and so does each further try', async () => {
  await open('/settings/security')
  await title('Settings').waitFor()
  await page.evaluate('AbortSignal.timeout = ((make) => () => make.call(AbortSignal, 300))(AbortSignal.timeout)')
  let isAway = true
  await page.route('**/api/recordings?*', (route) => (isAway ? undefined : route.continue()))
  await page.getByRole('link', { name: 'Recordings', exact: true }).click()
  const says = page.getByRole('alert').getByText('The server does not answer.')
  await says.waitFor()
  const again = page.getByRole('button', { name: 'Try again' })
  const asked = page.waitForRequest('**/api/recordings?*')
  await again.click()
  await asked
  await page.locator('main button:not([aria-busy])', { hasText: 'Try again' }).waitFor()
  expect(await says.count()).toBe(1)
  isAway = false
  await again.click()
  await page.getByRole('heading', { name: 'No recordings' }).waitFor()
})

test('a page that the browser lets copy nothing says so', async () => {
  const { id } = await dashboard.token('publish', { label: 'Copied', streams: [{ streamName: 'copied' }] })
  await open(`/tokens/publish/${id}`)
  await title('Copied').waitFor()
  await page.evaluate(`{
    navigator.clipboard.writeText = () => Promise.reject(new Error('no'))
    document.execCommand = () => false
  }`)
  await page
    .getByRole('button', { name: /^Copy / })
    .first()
    .click()
  await toast('The browser does not let this page copy.').waitFor()
  expect(await page.getByRole('button', { name: /^Copied / }).count()).toBe(0)
})

test('what is typed into the defaults of the account stays when another admin saves them, and neither undoes the other', async () => {
  const stored = async () => (await dashboard.api('GET', '/api/v3/account/security')).data as object
  await dashboard.api('PUT', '/api/v3/account/security', { allowedCountries: ['DE'], deniedCountries: [] })
  await open('/settings/defaults')
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Countries' }) })
  await button('Remove DE').waitFor()
  await card.getByRole('textbox').fill('fr,')
  await card.getByRole('textbox').fill('at')
  await dashboard.api('PUT', '/api/v3/account/security', { allowedCountries: ['DE', 'CH'], deniedCountries: [] })
  await button('Remove CH').waitFor()
  expect(await card.getByRole('textbox').inputValue()).toBe('at')
  const { held, release } = await hold('PUT', '**/account/security')
  await card.getByRole('button', { name: 'Save' }).click()
  await held
  await card.getByRole('textbox').fill('it')
  release()
  await toast('Saved').waitFor()
  expect(await card.getByRole('textbox').inputValue()).toBe('it')
  expect(await stored()).toEqual({ allowedCountries: ['DE', 'CH', 'FR', 'AT'], deniedCountries: [] })
})
