import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN, axe, inSentence, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'
const HEADERS = { 'X-Sluice-Dashboard': '1' }

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const card = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) })
const confirm = (verb: string) => dialog().getByRole('button', { name: verb, exact: true }).click()

async function signInAs(
  user: { email: string; password: string },
  context?: BrowserContext,
  home = dashboard.home,
): Promise<{ context: BrowserContext; page: Page }> {
  const used = context ?? (await dashboard.newContext())
  if (!context) onTestFinished(() => used.close())
  const opened = await used.newPage()
  await opened.goto(`${home}#/settings/security`)
  await opened.getByLabel('E-mail').fill(user.email)
  await opened.getByLabel('Password').fill(user.password)
  await opened.getByRole('button', { name: 'Sign in', exact: true }).click()
  await opened.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  return { context: used, page: opened }
}

const asks = async (path: string, authorization: string, method = 'GET', body?: object): Promise<number> => {
  const headers = { authorization, ...(body ? { 'content-type': 'application/json' } : {}) }
  return (
    await fetch(dashboard.server.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  ).status
}

test('a secret is made, refreshed and deleted, and its value is shown once', async () => {
  await open('/settings/security')
  const secrets = card('API secrets')
  const shown = secrets.locator('.copy code')
  await button('New secret').click()
  await dialog().getByLabel('Name').fill(HOSTILE)
  await confirm('New secret')
  await secrets.getByText('Copy “').waitFor()
  const first = (await shown.textContent()) ?? ''
  expect(await asks('/api/publish_token/list', `Bearer ${first}`)).toBe(200)
  expect(await secrets.locator('tbody b').allTextContents()).toContain(HOSTILE)
  expect(await page.locator('main img').count()).toBe(0)
  expect(await axe(page)).toEqual([])

  await button(`Refresh ${HOSTILE}`).click()
  await confirm('Refresh')
  await expect.poll(() => shown.textContent()).not.toBe(first)
  const second = (await shown.textContent()) ?? ''
  expect(await asks('/api/publish_token/list', `Bearer ${first}`)).toBe(401)
  expect(await asks('/api/publish_token/list', `Bearer ${second}`)).toBe(200)

  const answers = heard(page, '/api/secrets')
  await page.reload()
  await button(`Refresh ${HOSTILE}`).waitFor()
  expect(await shown.count()).toBe(0)
  await expect.poll(() => answers.join()).toContain(second.slice(-4))
  expect(answers.join()).not.toContain(second)

  await button(`Delete ${inSentence(HOSTILE)}`).click()
  await confirm('Delete')
  await page.locator('.toast', { hasText: 'deleted' }).waitFor()
  expect(await asks('/api/publish_token/list', `Bearer ${second}`)).toBe(401)
  await expect.poll(() => secrets.locator('tbody b').allTextContents()).not.toContain(HOSTILE)
})

/** The bodies of the answers whose address contains `part`. */
function heard(listened: Page, part: string): string[] {
  const answers: string[] = []
  listened.on('response', (response) => {
    if (response.url().includes(part) && !response.url().endsWith('/events'))
      void response.text().then(
        (text) => answers.push(text),
        () => undefined,
      )
  })
  return answers
}

test('deleting one secret leaves the value of another on the page', async () => {
  await open('/settings/security')
  for (const name of ['Old', 'New']) {
    await button('New secret').click()
    await dialog().getByLabel('Name').fill(name)
    await confirm('New secret')
    await page.getByText(`Copy “${name}” now.`).waitFor()
  }
  await button('Delete Old').click()
  await confirm('Delete')
  await page.locator('.toast', { hasText: 'Old deleted' }).waitFor()
  await page.getByText('Copy “New” now.').waitFor()
})

test('a credential that may read reads, changes nothing, and is deleted', async () => {
  await open('/settings/security')
  await button('New credential').click()
  await dialog().getByLabel('Name').fill('Reader')
  await dialog().getByText('may read', { exact: true }).click()
  await confirm('New credential')
  const credentials = card('Credentials of the channel API')
  await credentials.getByText('Copy “Reader” now.').waitFor()
  const [key = '', secret = ''] = await credentials.locator('.copy code').allTextContents()
  const basic = `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}`
  expect(await asks('/v2/channels', basic)).toBe(200)
  expect(await asks('/v2/channels', basic, 'POST', { name: 'No' })).toBe(403)
  expect(await axe(page)).toEqual([])
  await page.getByRole('button', { name: 'Delete Reader, ' }).click()
  await confirm('Delete')
  await credentials.getByText('there is no credential').waitFor()
  expect(await credentials.locator('.copy code').count()).toBe(0)
  expect(await asks('/v2/channels', basic)).toBe(401)
})

const VIEWER = { email: 'vera@example.com', password: 'only looks around' } as const

test('a viewer is made and sees neither a secret nor a control that changes something', async () => {
  await open('/settings/people')
  await button('New user').click()
  await dialog().getByLabel('E-mail').fill(VIEWER.email)
  await dialog().getByLabel('Password').fill('short')
  await confirm('New user')
  await dialog().locator('.field', { hasText: 'Password' }).locator('.err').waitFor()
  await dialog().getByLabel('Password').fill(VIEWER.password)
  await confirm('New user')
  await page.locator('tbody b', { hasText: VIEWER.email }).waitFor()
  expect(await axe(page)).toEqual([])

  const { token } = await dashboard.token('publish', { label: HOSTILE, streams: [{ streamName: 'show' }] })
  const { data: webhook } = await dashboard.api('POST', '/api/webhooks', { url: 'https://hooks.example.com/in' })
  const url = 'https://hooks.example.com/a-key-in-the-path'
  const ofChannels = await dashboard.v2('POST', '/webhooks', { name: 'Ops', url, events: ['*'] })
  const { secret } = await dashboard.v2('GET', `/webhooks/${ofChannels.id}/secret`)
  const channel = await dashboard.v2('POST', '/channels', {
    name: 'Shown',
    ingests: [{ name: 'Source', type: 'rtmp-push', region: 'local' }],
    distributions: [{ name: 'Web' }],
  })
  const [ingest] = await dashboard.v2('GET', `/channels/${channel.id}/ingests`)

  const viewer = await signInAs(VIEWER)
  const answers = heard(viewer.page, '/dashboard/api/')
  await viewer.page.getByText('Only admins see and change secrets').waitFor()
  const controls = async (path: string, landmark: string): Promise<string[]> => {
    await viewer.page.goto(`${dashboard.home}#${path}`)
    await viewer.page.getByText(landmark, { exact: true }).first().waitFor()
    const all = await viewer.page.locator('main :is(button, .btn, input[type=checkbox])').all()
    const names = await Promise.all(all.map(async (one) => ((await one.isDisabled()) ? '' : one.ariaSnapshot())))
    return names.filter((name) => name !== '')
  }
  expect(await controls('/settings/people', VIEWER.email)).toEqual([])
  expect(await controls('/channels', 'Shown')).toEqual([])
  expect(await controls(`/channels/${channel.id}`, 'Ingests')).toEqual([
    expect.stringContaining('Copy RTMP server'),
    expect.stringContaining('Copy HLS'),
    expect.stringContaining('Watch Web'),
  ])
  expect(await controls(`/webhooks/${webhook.id}`, 'https://hooks.example.com/')).toEqual([
    expect.stringContaining('Copy URL'),
  ])
  expect(await axe(viewer.page)).toEqual([])
  expect(await controls('/webhooks/channels', 'Ops')).toEqual([expect.stringContaining('Copy URL')])
  expect(await controls('/tokens/publish', HOSTILE)).not.toContainEqual(expect.stringMatching(/Switch|Delete /))
  expect(await controls('/recordings', 'No recordings')).toEqual([])
  expect(await controls('/settings/audit', 'user.create')).not.toContainEqual(expect.stringMatching(/Delete|New/))
  await expect.poll(() => answers.length).toBeGreaterThan(7)
  for (const hidden of [token, webhook.secret, secret, 'a-key-in-the-path', ingest.streamKey, dashboard.secret]) {
    expect(hidden).toMatch(/.{16}/)
    expect(answers.join()).not.toContain(hidden)
  }
})

test('a role changes at once, and the last admin stays an admin', async () => {
  await open('/settings/people')
  const row = (email: string) => page.locator('tbody tr', { hasText: email })
  const roleOf = (email: string) => row(email).getByRole('radio', { checked: true }).locator('..').textContent()
  await row(ADMIN.email).getByText('Viewer', { exact: true }).click()
  await page.getByText('The last admin cannot').waitFor()
  await expect.poll(() => roleOf(ADMIN.email)).toBe('Admin')
  expect(await axe(page)).toEqual([])

  await row(VIEWER.email).getByText('Admin', { exact: true }).click()
  await expect.poll(async () => (await users()).find(({ email }) => email === VIEWER.email)?.role).toBe('admin')
  await expect.poll(() => page.getByText('The last admin cannot').count()).toBe(0)
  const other = await signInAs(VIEWER)
  await other.page.getByRole('button', { name: 'New secret' }).waitFor()

  // Who gives up the role loses the controls at once.
  await other.page.getByRole('link', { name: 'People' }).click()
  const own = other.page.locator('tbody tr', { hasText: VIEWER.email })
  await own.getByText('Viewer', { exact: true }).click()
  await expect.poll(() => other.page.getByRole('button', { name: 'New user' }).count()).toBe(0)
})

async function users(): Promise<{ email: string; role: string }[]> {
  const response = await dashboard.context.request.get(`${dashboard.home}api/users`)
  return ((await response.json()) as { data: { email: string; role: string }[] }).data
}

test('the audit log names the user, and shows a change before and after', async () => {
  await open('/settings/audit')
  await page.getByLabel('Action').fill('user.update')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
  const rows = page.locator('tbody tr')
  expect(await rows.last().textContent()).toContain(ADMIN.email)
  expect(await rows.first().textContent()).toContain(VIEWER.email)
  await rows.last().getByRole('button', { name: 'user.update' }).click()
  const [before = '', after = ''] = await page.locator('.block pre').allTextContents()
  expect(JSON.parse(before)).toMatchObject({ role: 'viewer' })
  expect(JSON.parse(after)).toMatchObject({ role: 'admin' })
  expect(page.url()).toContain('action=user.update')
  expect(await axe(page)).toEqual([])

  const saving = page.waitForEvent('download')
  await button('CSV').click()
  expect((await saving).suggestedFilename()).toBe('sluice-audit.csv')
  await page.getByLabel('Actor').fill('no such actor')
  await page.keyboard.press('Enter')
  await page.locator('main [role=alert]').first().waitFor()
  await page.getByLabel('Actor').fill('cli')
  await page.keyboard.press('Enter')
  await page.getByText('No change matches.').waitFor()
  await page.goto(`${dashboard.home}#/settings/audit?action=user.create`)
  await expect.poll(() => page.getByLabel('Actor').inputValue()).toBe('')
})

test('of hundreds of secrets and webhooks a page is shown, and a search finds the others; what a row opens is in view', async () => {
  const { request } = dashboard.context
  const make = (operation: string, data: object) =>
    request.post(`${dashboard.home}api/${operation}`, { headers: HEADERS, data })
  const numbers = Array.from({ length: 120 }, (_, number) => number)
  await Promise.all(numbers.map((number) => make('secrets', { name: `many-${number}.` })))
  await Promise.all(numbers.map((number) => make('webhooks', { url: `https://hooks.example.com/many-${number}` })))
  await open('/settings/security')
  const secrets = card('API secrets')
  await expect.poll(() => secrets.locator('tbody tr').count()).toBe(50)
  await secrets.getByRole('button', { name: 'Next' }).click()
  await expect.poll(() => secrets.locator('.card-foot').textContent()).toContain('51 to 100 of')
  await secrets.getByRole('searchbox', { name: 'Search' }).fill('MANY-11')
  await expect.poll(() => secrets.locator('tbody tr').count()).toBe(11)
  const [last] = (await dashboard.api('GET', '/api/webhooks/list?itemCount=1&isDescending=true')).data as {
    id: number
  }[]
  await page.goto(`${dashboard.home}#/webhooks/${last?.id}`)
  await page.locator('.pick .now a', { hasText: 'hooks.example.com/many-' }).waitFor()
  await page.goto(`${dashboard.home}#/settings/audit`)
  await page.locator('tbody button').first().click()
  await page.getByRole('region', { name: 'webhook.create' }).waitFor()
  const top = () => page.evaluate<number>("document.querySelector('.opened').getBoundingClientRect().top")
  await expect.poll(top).toBeLessThan(900)
  expect(await axe(page)).toEqual([])
})

test('what was typed arrives after the session has ended and the user has signed in again', async () => {
  await open('/settings/security')
  await button('New secret').click()
  await dialog().getByLabel('Name').fill('Typed before')
  const statuses: number[] = []
  // The session ends while the form is under way: before, the page could have noticed and be asking already.
  await page.route('**/api/secrets', async (route) => {
    if (route.request().method() === 'POST' && statuses.length === 0) {
      const ended = await dashboard.context.request.delete(`${dashboard.home}api/session`, { headers: HEADERS })
      statuses.push(ended.status())
    }
    await route.continue()
  })
  await confirm('New secret')
  const again = page.getByRole('dialog', { name: 'Sign in' })
  await again.waitFor()
  expect(statuses).toEqual([200])
  expect(await axe(page)).toEqual([])
  // Nothing would bring it back, and the call below it would wait for ever.
  for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
  await again.getByLabel('Password').fill('not the password')
  await again.getByRole('button', { name: 'Sign in', exact: true }).click()
  await again.locator('.err').waitFor()
  await again.getByLabel('Password').fill(ADMIN.password)
  await again.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('Copy “Typed before” now.').waitFor()
  expect(await dialog().count()).toBe(0)
  const response = await dashboard.context.request.get(`${dashboard.home}api/secrets`)
  expect(((await response.json()) as { data: { name: string }[] }).data.map(({ name }) => name)).toContain(
    'Typed before',
  )
})

test('a passkey is added, signs in alone, also in an older browser, and is deleted', async () => {
  const context = await dashboard.newContext()
  onTestFinished(() => context.close())
  // Browsers keep passkeys for names, not for addresses.
  const home = dashboard.home.replace('127.0.0.1', 'localhost')
  page = (await signInAs(ADMIN, context, home)).page
  const devices = await context.newCDPSession(page)
  await devices.send('WebAuthn.enable')
  await devices.send('WebAuthn.addVirtualAuthenticator', { options: PHONE })
  const passkeys = card('Your passkeys')
  await passkeys.getByText('No passkey yet.').waitFor()
  await button('Add a passkey').click()
  await dialog().getByLabel('Name').fill(HOSTILE)
  await dialog().getByLabel('Present password').fill(ADMIN.password)
  await confirm('Add a passkey')
  await passkeys.getByText('for localhost · Last used: not yet').waitFor()
  expect(await passkeys.locator('li b').allTextContents()).toEqual([HOSTILE])
  expect(await axe(page)).toEqual([])

  await signOut()
  expect(await axe(page)).toEqual([])
  await button('Sign in with a passkey').click()
  await passkeys.getByText(/Last used: \d/).waitFor()

  // The same without what browsers have had for a short time only.
  await page.addInitScript(() => {
    for (const name of ['parseCreationOptionsFromJSON', 'parseRequestOptionsFromJSON'])
      Reflect.deleteProperty((globalThis as unknown as InPage).PublicKeyCredential, name)
    Reflect.deleteProperty((globalThis as unknown as InPage).PublicKeyCredential.prototype, 'toJSON')
  })
  await page.reload()
  await button('Add a passkey').click()
  await dialog().getByLabel('Name').fill('Again')
  await dialog().getByText('Or leave it empty and confirm with a passkey').waitFor()
  await confirm('Add a passkey')
  await dialog().getByText('This device has a passkey of yours already.').waitFor()
  await page.keyboard.press('Escape')
  await signOut()
  await button('Sign in with a passkey').click()

  await button(`Delete ${inSentence(HOSTILE)}`).click()
  await confirm('Delete')
  await passkeys.getByText('No passkey yet.').waitFor()
  expect(((await (await context.request.get(`${home}api/passkeys`)).json()) as { data: unknown }).data).toEqual([])
  await signOut()
  await button('Sign in with a passkey').click()
  await page.getByText('this passkey does not open the dashboard').waitFor()
})

/** What a phone does with a passkey, with a person who always agrees. */
const PHONE = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const

interface InPage {
  readonly PublicKeyCredential: { readonly prototype: object }
}

async function signOut(): Promise<void> {
  await page.locator('.who').getByRole('button').click()
  await page.getByText('Sign out', { exact: true }).click()
  await button('Sign in with a passkey').waitFor()
}

test('a page without https, and one at an address, says that it has no passkeys', async () => {
  // The browser complains about a page without https by itself, so this context is not watched.
  const context = await dashboard.browser.newContext()
  onTestFinished(() => context.close())
  page = await context.newPage()
  await page.goto(dashboard.home.replace('127.0.0.1', 'tv.test'))
  await page.getByText('open the dashboard over https, or at localhost').waitFor()
  expect(await button('Sign in with a passkey').count()).toBe(0)
  await open('/settings/security')
  await card('Your passkeys').getByText('Browsers keep passkeys for host names and not for IP addresses').waitFor()
  expect(await button('Add a passkey').count()).toBe(0)
})

test('signing out everywhere ends each session of the user, and of no other', async () => {
  const [one, other] = [await signInAs(VIEWER), await signInAs(VIEWER)]
  await other.page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await other.page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
  await other.page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  for (const { context } of [one, other])
    expect((await context.request.get(`${dashboard.home}api/session`)).status()).toBe(401)
  expect((await dashboard.context.request.get(`${dashboard.home}api/session`)).status()).toBe(200)
  expect(await axe(other.page)).toEqual([])
})
