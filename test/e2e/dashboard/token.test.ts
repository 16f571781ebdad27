import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
  await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write'])
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const toast = (text: string) => page.locator('.toast', { hasText: text })
const field = (label: string) =>
  page.locator('.field', {
    has: page.locator('label, .label', { hasText: new RegExp(`^${label}(\\s*optional)?\\s*$`) }),
  })
const errorOf = (label: string) => field(label).locator('.err')
const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()')

async function add(label: string, ...entries: string[]): Promise<void> {
  for (const entry of entries) {
    await field(label).locator('input').fill(entry)
    await field(label).locator('input').press('Enter')
  }
}

interface Made {
  readonly id: number
  readonly token: string
}

async function record(kind: 'publish' | 'subscribe', id: number): Promise<Record<string, unknown>> {
  const { data } = await dashboard.api('GET', `/api/${kind}_token/${id}`)
  return data as Record<string, unknown>
}

const idOf = (): number => Number(/\/(\d+)(\?|$)/.exec(page.url())?.[1])

test('a publish token is made with every rule, through the page alone', async () => {
  await open('/tokens/publish/new')
  await field('Label').locator('input').fill('Press pool')
  await add('Streams', '/press-(/')
  expect(await errorOf('Streams').textContent()).toContain('without a closing one, at character 7')
  await page.getByText('1 field to correct').waitFor()
  await page.getByRole('button', { name: 'Remove press-(' }).click()
  await field('Streams').locator('input').fill('press, press two,')
  await add('Streams', '/press-[0-9]{1,3}/')
  await page.getByText('1 week').click()
  await page.getByText('Viewers need a token').click()
  await page.getByText('Narrow it: sites, addresses, countries').click()
  await field('Allowed sites').locator('input').fill('example.com,*.example.com,')
  await add('Allowed addresses', '198.51.100.300')
  expect(await errorOf('Allowed addresses').textContent()).toContain('300 is above 255')
  await page.getByRole('button', { name: 'Remove 198.51.100.300' }).click()
  await add('Allowed addresses', '198.51.100.0/24', '203.0.113.7')
  await add('Countries', 'de', 'AT')
  await field('Bind to the first addresses').locator('input').fill('2')
  await page.locator('summary', { hasText: 'More' }).click()
  await page.getByText('Record', { exact: true }).click()
  await page.getByText('Thumbnails', { exact: true }).click()
  await page.getByText('End sessions on change').click()
  await page.getByText('End sessions at the expiry').click()
  await field('Priority').locator('input').fill('-2')
  await page.getByText('Keep codecs over HLS').click()
  await add('Smaller renditions', '480p:1200')
  await page.getByText('A client with this token may broadcast as').waitFor()
  expect(await page.locator('aside pre').textContent()).toContain("--regex 'press-[0-9]{1,3}'")
  expect(await page.locator('aside pre').textContent()).toContain('--end-at-expiry')
  expect(await axe(page)).toEqual([])
  await button('Create token').click()
  await page.getByRole('heading', { level: 1, name: 'Press pool' }).waitFor()
  const made = await record('publish', idOf())
  expect(made).toMatchObject({
    label: 'Press pool',
    streams: [
      { streamName: 'press', isRegex: false },
      { streamName: 'press two', isRegex: false },
      { streamName: 'press-[0-9]{1,3}', isRegex: true },
    ],
    allowedOrigins: ['example.com', '*.example.com'],
    allowedIpAddresses: ['198.51.100.0/24', '203.0.113.7'],
    allowedCountries: ['DE', 'AT'],
    bindIpsOnUsage: 2,
    subscribeRequiresAuth: true,
    record: true,
    enableThumbnails: true,
    endSessionsOnUpdate: false,
    endAtExpiry: true,
    priority: -2,
    hlsCodecs: 'source',
    hlsRenditions: [{ height: 480, bitrate: 1_200_000 }],
  })
  const week = Date.parse(String(made['expiresOn'])) - Date.parse(String(made['addedOn']))
  expect(week).toBe(604_800_000)
  expect(await axe(page)).toEqual([])
})

const focused = (): Promise<string> => page.evaluate('document.activeElement.closest(".field")?.textContent ?? ""')

test('a form says in plain words what is wrong before it is sent, and takes it back when it is right', async () => {
  await open('/tokens/publish/new')
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`))
  await button('Create token').click()
  expect(await errorOf('Label').textContent()).toBe('Give it a label.')
  expect(await errorOf('Streams').textContent()).toBe('Add the name of a stream.')
  expect(await focused()).toContain('Label')
  const label = field('Label').locator('input')
  expect(await label.getAttribute('aria-invalid')).toBe('true')
  expect(await axe(page)).toEqual([])

  await page.keyboard.type('Show')
  await errorOf('Label').waitFor({ state: 'detached' })
  expect(await label.getAttribute('aria-invalid')).toBeNull()
  // A wrong pattern is not hidden by what was said of the empty list.
  await add('Streams', '/(a+/')
  expect(await errorOf('Streams').textContent()).toContain('without a closing one')
  await label.focus()
  await button('Create token').click()
  expect(await focused()).toContain('Streams')
  await page.getByText('Narrow it: sites, addresses, countries').click()
  await add('Countries', 'ZZ')
  await page.getByText('Narrow it: sites, addresses, countries').click()
  await page.getByRole('button', { name: 'Remove (a+' }).click()
  await add('Streams', 'show')
  await errorOf('Streams').waitFor({ state: 'detached' })
  // Also a field that is folded away.
  await button('Create token').click()
  expect(await focused()).toContain('ZZ is not a country code')
  expect(sent.filter((one) => /^POST .*publish_token/.test(one))).toEqual([])

  await page.getByRole('button', { name: 'Remove ZZ' }).click()
  await button('Create token').click()
  await page.getByRole('heading', { level: 1, name: 'Show' }).waitFor()
})

test('what the server refuses stands at its field, and nothing that was typed is lost', async () => {
  await open('/tokens/publish/new')
  await add('Streams', 'show')
  // Blanks are a label to a browser.
  await field('Label').locator('input').fill('  ')
  await button('Create token').click()
  await errorOf('Label').waitFor()
  expect(await field('Label').locator('input').getAttribute('aria-invalid')).toBe('true')
  await expect.poll(focused).toContain('Label')
  expect(await field('Streams').locator('.chips > span').count()).toBe(1)
  await field('Label').locator('input').fill('Show')
  await errorOf('Label').waitFor({ state: 'detached' })
  await button('Create token').click()
  await page.getByRole('heading', { level: 1, name: 'Show' }).waitFor()
})

test('the value is covered until it is asked for, and each address can be copied', async () => {
  const { id, token } = (await dashboard.token('publish', {
    label: 'Addresses',
    streams: [{ streamName: 'main stage' }],
  })) as Made
  await open(`/tokens/publish/${id}`)
  await page.getByRole('heading', { name: 'Broadcast with it' }).waitFor()
  expect(await page.locator('main').textContent()).not.toContain(token)
  await page.getByRole('button', { name: 'Copy Server' }).click()
  await expect.poll(clipboard).toMatch(/\/api\/whip\/main%20stage$/)
  await page.getByRole('button', { name: 'Copy Bearer token' }).click()
  await expect.poll(clipboard).toBe(token)
  await page.getByRole('button', { name: 'Show Bearer token' }).click()
  await page.getByText(token).waitFor()

  await page.getByText('OBS, RTMP').click()
  await page.getByRole('button', { name: 'Copy Stream key' }).click()
  await expect.poll(clipboard).toBe(`main%20stage?token=${token}`)
  await page.getByText('Code', { exact: true }).click()
  expect(await page.getByLabel('ffmpeg over RTMP', { exact: true }).textContent()).toContain('?token=$TOKEN"')
  await page.getByText('Show the value in the code').click()
  await page.getByRole('button', { name: 'Copy ffmpeg over RTMP' }).click()
  await expect.poll(clipboard).toContain(`?token=${token}"`)
  await page.getByRole('button', { name: 'Copy WHEP' }).click()
  await expect.poll(clipboard).toMatch(/\/api\/whep\/[a-z0-9]+\/main%20stage$/)
  await page.getByRole('button', { name: 'Copy HLS' }).click()
  await expect.poll(clipboard).toMatch(/\/hls\/[a-z0-9]+\/main%20stage\/index\.m3u8$/)
  await page.getByRole('button', { name: 'Copy Embed in a page' }).click()
  await expect.poll(clipboard).toContain('<sluice-player stream="')
})

test('two people change different fields, and both changes hold', async () => {
  const { id } = await dashboard.token('publish', {
    label: 'Studio',
    streams: [{ streamName: 'a' }, { streamName: 'b' }],
    allowedCountries: ['DE'],
  })
  await open(`/tokens/publish/${id}`)
  await field('Label').locator('input').fill('Studio 2')
  await page.getByRole('button', { name: 'Remove a', exact: true }).click()
  await add('Streams', '/c.*/')
  await page.getByText('All but these').click()
  await dashboard.api('PUT', `/api/v2/publish_token/${id}`, { record: true, multisource: false })
  await button('Save').click()
  await toast('Studio 2: saved').waitFor()
  expect(await record('publish', id)).toMatchObject({
    label: 'Studio 2',
    streams: [
      { streamName: 'b', isRegex: false },
      { streamName: 'c.*', isRegex: true },
    ],
    allowedCountries: [],
    deniedCountries: ['DE'],
    record: true,
    multisource: false,
  })
  await field('Label').locator('input').fill('Something else')
  await button('Discard').click()
  expect(await field('Label').locator('input').inputValue()).toBe('Studio 2')
})

test('a token is switched off and on, gets a new value, and is deleted', async () => {
  const { id, token } = (await dashboard.token('publish', { label: 'Life', streams: [{ streamName: 'x' }] })) as Made
  await open(`/tokens/publish/${id}`)
  await button('Switch off').click()
  await toast('Life: switched off').waitFor()
  expect(await record('publish', id)).toMatchObject({ isActive: false })
  await button('Switch on').click()
  await expect.poll(async () => (await record('publish', id))['isActive']).toBe(true)
  await button('New value').click()
  await page.getByRole('dialog').getByRole('button', { name: 'New value' }).click()
  await toast('New value').waitFor()
  const { token: renewed } = await record('publish', id)
  expect(renewed).not.toBe(token)
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: /^Cop(y|ied) Bearer token$/ }).click()
      return clipboard()
    })
    .toBe(renewed)
  await page.getByRole('button', { name: 'More for Life' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
  expect((await dashboard.api('GET', `/api/publish_token/${id}`)).status).toBe(404)
  await page.goto(`${dashboard.home}#/tokens/publish/${id}`)
  await page.getByRole('heading', { level: 1, name: 'There is no such token' }).waitFor()
})

test('its live session is shown and ended, and the bound address forgotten', async () => {
  const { id, token } = (await dashboard.token('publish', {
    label: 'On air',
    streams: [{ streamName: 'air' }],
    bindIpsOnUsage: 1,
  })) as Made
  const publisher = await dashboard.peer()
  onTestFinished(() => publisher.close())
  expect(await publisher.publish({ url: dashboard.whip('air'), token })).toBe('ok')
  await open(`/tokens/publish/${id}`)
  await page.getByText('Live as air').waitFor()
  await page.getByText('Bound: 127.0.0.1.').waitFor()
  expect(await axe(page)).toEqual([])
  await button('End this broadcast air').click()
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
  await page.getByText('No session uses it now.').waitFor()
  expect((await dashboard.api('GET', `/api/sessions?tokenId=${id}`)).data).toEqual([])
  await button('Forget them').click()
  await page.getByText('No address is bound yet.').waitFor()
  expect((await dashboard.api('GET', `/api/publish_token/${id}/bound_ips`)).data).toEqual([])
})

test('a refused site is allowed from the page of the token, and taken back by Undo', async () => {
  const { id, token } = (await dashboard.token('publish', {
    label: 'Sites',
    streams: [{ streamName: 'sites' }],
    allowedOrigins: ['example.com'],
  })) as Made
  await refusedFrom('https://blog.partner.example', token)
  await open(`/tokens/publish/${id}`)
  await page.getByRole('button', { name: 'Allow blog.partner.example' }).click()
  await toast('blog.partner.example is allowed now').hover()
  expect(await record('publish', id)).toMatchObject({ allowedOrigins: ['example.com', 'blog.partner.example'] })
  await toast('blog.partner.example').getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => record('publish', id)).toMatchObject({ allowedOrigins: ['example.com'] })
  await page.getByRole('link', { name: 'Site not allowed' }).first().click()
  await page.getByText('No: Site not allowed').waitFor()
})

test('a refusal is repaired in one click: switched off, another stream, one address too many, expired', async () => {
  const { id, token } = (await dashboard.token('publish', {
    label: 'Repaired',
    streams: [{ streamName: 'first' }],
  })) as Made
  await dashboard.api('PATCH', '/api/publish_token/disable', { tokenIds: [id] })
  await refusedFrom('https://a.example', token)
  await open(`/tokens/publish/${id}`)
  await button('Switch Repaired on').click()
  await toast('Repaired is on now').waitFor()
  expect(await record('publish', id)).toMatchObject({ isActive: true })
  await refusedFrom('https://a.example', token)
  await button('Allow sites').click()
  await toast('sites is allowed now').getByRole('button', { name: 'Undo' }).click()
  await expect.poll(async () => (await record('publish', id)).streams).toMatchObject([{ streamName: 'first' }])
  await button('Allow sites').waitFor()
  expect(await axe(page)).toEqual([])

  const short = (await dashboard.token('publish', { streams: [{ streamName: 'sites' }], expires: 1 })) as Made
  const check = { action: 'publish', protocol: 'whip', streamName: 'sites', token: short.token, ip: '127.0.0.1' }
  const code = async () => ((await dashboard.api('POST', '/api/access/check', check)).data as { code?: string }).code
  await expect.poll(code).toBe('token_expired')
  await refusedFrom('https://a.example', short.token)
  await page.goto(`${dashboard.home}#/tokens/publish/${short.id}`)
  await page.locator('li a.btn', { hasText: 'New publish token' }).first().click()
  await page.waitForURL(({ hash }) => hash === '#/tokens/publish/new')
})

async function refusedFrom(origin: string, token: string): Promise<void> {
  const response = await fetch(dashboard.whip('sites'), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, origin, 'content-type': 'application/sdp' },
    body: 'v=0',
  })
  expect(response.status).toBe(401)
}

test('a subscribe token is made, signs a short token that admits, and revokes it', async () => {
  await dashboard.token('publish', {
    label: 'Secured',
    streams: [{ streamName: 'secured' }],
    subscribeRequiresAuth: true,
  })
  await open('/tokens/subscribe/new?stream=secured')
  await field('Label').locator('input').fill('Members')
  await field('Tracking id').locator('input').fill('site 7')
  await button('Create token').click()
  await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
  const id = idOf()
  expect(await record('subscribe', id)).toMatchObject({ tracking: { trackingId: 'site 7' } })

  const card = page.locator('section', { has: page.getByRole('heading', { name: 'Self-signed token' }) })
  await card.getByText('Narrow it: site, address, id').click()
  await card.locator('.field', { hasText: 'revoke this one token' }).first().locator('input').fill('guest-1')
  await card.getByRole('button', { name: 'Sign', exact: true }).click()
  await card.getByRole('button', { name: 'Copy Signed token' }).click()
  await expect.poll(clipboard).toMatch(/^ey/)
  const signed = await clipboard()
  expect(await decision(signed)).toMatchObject({ allowed: true })
  await card.getByText('Revoke signed tokens').click()
  await card.getByRole('button', { name: 'Revoke this one' }).click()
  await toast('Revoked').waitFor()
  expect(await decision(signed)).toMatchObject({ allowed: false, code: 'token_revoked' })
  expect(await axe(page)).toEqual([])
})

async function decision(token: string): Promise<unknown> {
  const body = { action: 'view', protocol: 'whep', streamName: 'secured', ip: '203.0.113.7', token }
  return (await dashboard.api('POST', '/api/access/check', body)).data
}

const VIEWER = { email: 'vera@example.com', password: 'only looks around' } as const

test('a viewer reads the rules, and gets neither the value nor a control that changes something', async () => {
  const { id, token } = (await dashboard.token('publish', { label: 'Look', streams: [{ streamName: 'look' }] })) as Made
  const headers = { 'X-Sluice-Dashboard': '1' }
  const users = `${dashboard.home}api/users`
  await dashboard.context.request.post(users, { headers, data: { ...VIEWER, role: 'viewer' } })
  const context = await dashboard.newContext()
  onTestFinished(() => context.close())
  const session = await context.request.post(`${dashboard.home}api/session`, { headers, data: VIEWER })
  expect(session.status()).toBe(200)
  page = await context.newPage()
  const answers: string[] = []
  page.on('response', (response) => {
    if (!response.url().endsWith(`/publish_token/${id}`)) return
    // The body of an answer is gone when the page has gone on before it was read.
    void response.text().then(
      (text) => answers.push(text),
      () => undefined,
    )
  })
  await page.goto(`${dashboard.home}#/tokens/publish/${id}`)
  await page.getByText('A client with this token may broadcast as look, from anywhere.').waitFor()
  expect(await page.locator('main button').allTextContents()).not.toContain('Save')
  for (const name of ['New value', 'Switch off', 'More for Look', 'Save']) expect(await button(name).count()).toBe(0)
  // Once, and again for each edit by others meanwhile.
  expect(answers).not.toEqual([])
  expect(answers.join()).not.toContain(token)
  expect(await axe(page)).toEqual([])
  await page.goto(`${dashboard.home}#/tokens/publish?search=Look`)
  await page.getByRole('link', { name: 'Look' }).waitFor()
  expect(await page.getByRole('checkbox').count()).toBe(0)
  expect(await page.getByRole('link', { name: 'New publish token' }).count()).toBe(0)
})
