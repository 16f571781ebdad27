import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axe, inSentence, useDashboard } from './dashboard.ts'
import { clip } from '../../support/clips.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'

const dashboard = useDashboard()

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const confirm = (verb: string) => dialog().getByRole('button', { name: verb, exact: true }).click()
const toast = (text: string) => page.locator('.toast', { hasText: text })
const field = (label: string) =>
  page.locator('.field', { has: page.locator('label', { hasText: new RegExp(`^${label}(\\s*optional)?\\s*$`) }) })
const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
const flip = (name: string) =>
  page
    .getByRole('switch', { name: new RegExp(`^${name}`) })
    .locator('..')
    .click()

const statusOf = async (id: string): Promise<string> =>
  ((await dashboard.v2('GET', `/channels/${id}`)) as { status: string }).status

/** A channel with one part of each kind, made by the API. */
const channel = (name: string) =>
  dashboard.v2('POST', '/channels', {
    name,
    ingests: [
      { name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: 'ab_default' } }] },
    ],
    distributions: [{ name: 'Web' }],
  }) as Promise<{ id: string; ingests: { id: string; streamKey: string }[]; distributions: { id: string }[] }>

test('a channel is made by the form, with errors at their fields', async () => {
  await open('/channels')
  await page.getByRole('heading', { name: 'No channels' }).waitFor()
  expect(await axe(page)).toEqual([])
  await page.getByRole('link', { name: 'New channel' }).click()
  await title('New channel')
  await field('Name').locator('input').fill(HOSTILE)
  await page.getByText('RTMP, dialled').click()
  await field('Address of the source').locator('input').fill('http://not.rtmp.example/')
  await button('Make channel').click()
  await field('Address of the source').locator('.err').waitFor()
  expect(await field('Name').locator('input').inputValue()).toBe(HOSTILE)
  await page.getByText('RTMP, pushed').click()
  await field('Allowed countries').locator('input').fill('zz,')
  await field('Allowed countries').locator('.err', { hasText: 'ZZ is not a country code' }).waitFor()
  await button('Remove ZZ').click()
  await field('Allowed countries').locator('input').fill('de')
  await field('Allowed sites').locator('input').fill('http://example.com/a,')
  await button('Make channel').click()
  await field('Allowed sites').locator('.err', { hasText: 'http://example.com/a: ' }).waitFor()
  await button('Remove http://example.com/a').click()
  await field('Allowed sites').locator('.err').waitFor({ state: 'detached' })
  await field('Allowed sites').locator('input').fill('example.com')
  await page.getByText('Renditions: ').waitFor()
  expect(await axe(page)).toEqual([])
  await button('Make channel').click()
  await title(HOSTILE)

  const id = /channels\/(\w+)$/.exec(page.url())?.[1] ?? ''
  const [made] = (await dashboard.v2('GET', `/channels/${id}/distributions`)) as { security: unknown }[]
  expect(made?.security).toMatchObject({
    geoBlocking: { enabled: true, mode: 'allow', countries: ['DE'] },
    refererBlocking: { enabled: true, allowedDomains: ['example.com'] },
  })
  await page.getByText('Only DE').waitFor()
  expect(await page.locator('main img').count()).toBe(0)
  expect(await axe(page)).toEqual([])
})

test('a channel is started and stopped from its page and from the list', async () => {
  const { id } = await channel('Stage')
  await open(`/channels/${id}`)
  await button('Start').click()
  await expect.poll(() => statusOf(id)).not.toBe('stopped')
  await button('Stop').waitFor()
  await page.locator('main td', { hasText: 'Running' }).waitFor()
  expect(await axe(page)).toEqual([])
  await page.goto(`${dashboard.home}#/channels?which=running`)
  await button('Stop Stage').waitFor()
  expect(await page.locator('tbody a.row').allTextContents()).toEqual(['Stage'])
  await button('Stop Stage').click()
  await expect.poll(() => statusOf(id)).toBe('stopped')
  await page.getByText('All', { exact: true }).click()
  await page.getByRole('searchbox').fill('stage')
  await expect.poll(() => page.locator('tbody a.row').allTextContents()).toEqual(['Stage'])
  await page.getByRole('searchbox').fill('nothing like it')
  await page.getByText('No channel matches.').waitFor()
  await page.goto(`${dashboard.home}#/channels/${id}`)
  await page.locator('main td', { hasText: 'A user stopped it.' }).waitFor()
})

test('the stream key is covered, shown and renewed, with the address of the server', async () => {
  const { id, ingests } = await channel('Keys')
  const key = ingests[0]?.streamKey ?? ''
  await open(`/channels/${id}`)
  const { data: server } = await dashboard.api('GET', '/api/server')
  const rtmp = String(server.addresses.rtmp).split('/v2/pub')[0]
  await page.locator('.copy code', { hasText: `${rtmp}/live` }).waitFor()
  expect(await page.locator('main').textContent()).not.toContain(key)
  await button('Show Stream key Camera').click()
  await page.locator('.copy code', { hasText: key }).waitFor()
  await button('New key Camera').click()
  await dialog().getByText('A publisher that uses the present key is cut off').waitFor()
  await confirm('New key')
  await toast('New stream key made').waitFor()
  await expect.poll(() => page.locator('.copy code', { hasText: key }).count()).toBe(0)
  const [ingest] = (await dashboard.v2('GET', `/channels/${id}/ingests`)) as { streamKey: string }[]
  expect(ingest?.streamKey).not.toBe(key)
  await page.locator('.copy code', { hasText: ingest?.streamKey ?? '' }).waitFor()
})

test('a distribution is switched off and on, and its rules are saved together', async () => {
  const { id, distributions } = await channel('Rules')
  const read = () =>
    dashboard.v2('GET', `/distributions/${distributions[0]?.id}`) as Promise<{ enabled: boolean; security: unknown }>
  await open(`/channels/${id}`)
  await flip('Viewers may watch')
  await expect.poll(async () => (await read()).enabled).toBe(false)
  await page.getByText('Off', { exact: true }).waitFor()
  await flip('Viewers may watch')
  await expect.poll(async () => (await read()).enabled).toBe(true)

  await button('Security Web').click()
  await flip('Limit by address')
  await dialog().getByText('All but these').click()
  await field('Addresses and blocks').locator('input').fill('not-an-address')
  await confirm('Save')
  await field('Addresses and blocks').locator('.err').waitFor()
  // Once, without the names of the API.
  expect(await dialog().getByText('ipBlocking').count()).toBe(0)
  expect(await axe(page)).toEqual([])
  await button('Remove not-an-address').click()
  await field('Addresses and blocks').locator('input').fill('203.0.113.0/24')
  await flip('Limit by site')
  await field('Sites').locator('input').fill('example.com')
  await confirm('Save')
  await page.getByText('Not 203.0.113.0/24').waitFor()
  await page.getByText('Sites: example.com').waitFor()
  expect((await read()).security).toMatchObject({
    ipBlocking: { enabled: true, mode: 'deny', cidrs: ['203.0.113.0/24'] },
    refererBlocking: { enabled: true, allowedDomains: ['example.com'] },
  })
})

interface Keys {
  readonly security: { readonly tokenRequired: boolean; readonly keys: readonly { id: string; name?: string }[] }
}

interface Claims {
  readonly iat: number
  readonly exp: number
  readonly streaming: unknown
}

test('viewer keys are added, sign a token, are replaced and deleted, and the distribution is opened to all again', async () => {
  const { id, distributions } = await channel('Signed')
  const names = async () => {
    const { security } = (await dashboard.v2('GET', `/distributions/${distributions[0]?.id}`)) as Keys
    return security.tokenRequired
      ? security.keys.map(({ name = '' }) => name).toSorted((one, other) => one.localeCompare(other))
      : 'open'
  }
  const chooseKey = async (key: string, item: string) => {
    await button(`More for ${key}`).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await open(`/channels/${id}`)
  await button('Add a key Web').click()
  const secret = field('Shared secret').locator('input')
  const drawn = await secret.inputValue()
  expect(drawn).toMatch(/^[\w-]{43}$/)
  await dialog().getByLabel('Name').fill(HOSTILE)
  await secret.fill('too short')
  await confirm('Add a key')
  await field('Shared secret').locator('.err', { hasText: '16 characters' }).waitFor()
  await secret.fill(drawn)
  expect(await axe(page)).toEqual([])
  await confirm('Add a key')
  await toast('Key added').waitFor()
  expect(await names()).toEqual([HOSTILE])
  await page.locator('.rows b', { hasText: HOSTILE }).waitFor()
  expect(await page.locator('main').textContent()).not.toContain(drawn)

  await chooseKey(inSentence(HOSTILE), 'Sign a token')
  await dialog().getByLabel('Valid for how many hours').fill('2')
  await dialog().getByLabel('Tracking id').fill('guest-42')
  await dialog().getByText('Narrow it').click()
  await dialog().getByText('Phones').click()
  await field('Countries').locator('input').fill('UK,')
  await confirm('Sign')
  await field('Countries').locator('.err').waitFor()
  await button('Remove UK').click()
  expect(await axe(page)).toEqual([])
  await confirm('Sign')
  await button('Show Token').click()
  const token = (await dialog().locator('.copy code').last().textContent()) ?? ''
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims
  expect(claims.exp - claims.iat).toBe(7200)
  expect(claims.streaming).toEqual({ ch: [id], hw: ['mobile'], tid: 'guest-42' })
  expect(await axe(page)).toEqual([])
  await button('Close').click()

  // The page signs a token for its own player.
  await button('Watch Web').click()
  const player = dialog().locator('sluice-player')
  expect(await player.getAttribute('token')).toMatch(/^ey/)
  await expect.poll(() => page.evaluate(`document.querySelector('sluice-player').state`)).toBe('waiting')
  expect(await axe(page)).toEqual([])
  await button('Close').click()

  await chooseKey(inSentence(HOSTILE), 'Replace')
  await dialog().getByLabel('Name').fill('second')
  await confirm('Add a key')
  await expect.poll(names).toEqual([HOSTILE, 'second'])
  await page.locator('.rows b', { hasText: 'second' }).waitFor()
  expect(await button('Add a key Web').count()).toBe(0)
  await chooseKey(inSentence(HOSTILE), 'Delete key')
  await confirm('Delete key')
  await expect.poll(names).toEqual(['second'])

  await chooseKey('second', 'Replace')
  await dialog().getByLabel('Name').fill('third')
  await dialog().locator('.switch', { hasText: 'Delete the old key at once' }).click()
  await confirm('Add a key')
  await expect.poll(names).toEqual(['third'])
  await page.locator('.rows b', { hasText: 'third' }).waitFor()
  await chooseKey('third', 'Delete key')
  await dialog().getByText('refuses every viewer until').waitFor()
  await confirm('Delete key')
  await page.getByText('Its last key was deleted').waitFor()
  expect(await names()).toEqual([])
  expect(await axe(page)).toEqual([])
  await button('Open to all Web').click()
  await confirm('Open to all')
  await expect.poll(names).toBe('open')
  await page.getByText('No key: open to all').waitFor()
})

test('a scheduler is added after a refusal, and deleted', async () => {
  const { id } = await channel('Timed')
  const read = async () => (await dashboard.v2('GET', '/schedulers')) as { name: string; recurrence: string | null }[]
  await open(`/channels/${id}`)
  await button('Add a scheduler').click()
  await field('Name').locator('input').fill(HOSTILE)
  await field('Time zone').locator('input').fill('Mars/Olympus')
  await confirm('Add a scheduler')
  await field('Time zone').locator('.err').waitFor()
  await field('Time zone').locator('input').fill('Europe/Berlin')
  await field('First day').locator('input').fill('2031-05-05')
  await field('Repeats').locator('select').selectOption('Monday to Friday')
  expect(await axe(page)).toEqual([])
  await confirm('Add a scheduler')
  await page.getByText('20:00 to 21:00, Europe/Berlin').waitFor()
  expect(await read()).toMatchObject([{ name: HOSTILE, recurrence: 'RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR' }])
  await button(`More for ${inSentence(HOSTILE)}`).click()
  await page.getByRole('menuitem', { name: 'Delete scheduler' }).click()
  await confirm('Delete scheduler')
  await page.getByText('No scheduler starts this channel.').waitFor()
  expect(await read()).toEqual([])
})

test('a calendar shows when schedulers start a channel, in both zones, and begins, ends and switches them', async () => {
  const { id } = await channel('Planned')
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const daily = { startTime: '20:15', endTime: '21:00', recurrence: 'RRULE:FREQ=DAILY', timeZone: 'Pacific/Honolulu' }
  const body = { name: HOSTILE, startDate: tomorrow, ...daily, channels: [{ channelId: id }] }
  const { id: schedulerId } = (await dashboard.v2('POST', '/schedulers', body)) as { id: string }
  const read = () =>
    dashboard.v2('GET', `/schedulers/${schedulerId}`) as Promise<{
      status: string
      enabled: boolean
      nextStart: string
    }>
  const zone = await dashboard.context.newPage()
  const clock = await zone.evaluate(
    (at) => {
      const format = { hour: '2-digit', minute: '2-digit' } as const
      return new Intl.DateTimeFormat('en-GB', format).format(new Date(at))
    },
    (await read()).nextStart,
  )
  await zone.close()
  await open(`/channels/${id}?calendar=month`)
  await page.locator('.slot').first().waitFor()
  expect(await page.locator('.calendar > div').count()).toBeGreaterThanOrEqual(28)
  await button('The month after').click()
  await expect.poll(() => page.locator('.calendar > div:not(.outside) .slot').count()).toBeGreaterThanOrEqual(28)
  const slot = page.locator('.slot').nth(10)
  expect(await slot.getAttribute('title')).toMatch(`${clock}–`)
  expect(await slot.getAttribute('title')).toContain(`${inSentence(HOSTILE)} · 20:15–21:00 in Pacific/Honolulu`)
  expect(page.url()).toContain('calendar=month&day=')
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1280)
  expect(await axe(page)).toEqual([])
  await page.getByText('Week', { exact: true }).click()
  await expect.poll(() => page.locator('.calendar > div').count()).toBe(7)
  expect(await page.locator('main img').count()).toBe(0)

  // The same among those of all channels, under the name of the channel.
  await page.goto(`${dashboard.home}#/channels`)
  await page.getByRole('link', { name: 'Calendar' }).click()
  await page.getByText('Month', { exact: true }).click()
  await button('The month after').click()
  const named = page.locator('.slot', { hasText: `Planned: ${HOSTILE}` })
  await named.first().waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1280)
  expect(await axe(page)).toEqual([])
  await page.goto(`${dashboard.home}#/channels/${id}`)
  await title('Planned')

  const act = async (item: string) => {
    await button(`More for ${inSentence(HOSTILE)}`).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await act('Begin now')
  await expect.poll(async () => (await read()).status).toBe('active')
  await page.getByText('Under way', { exact: true }).waitFor()
  await page.locator('.run').first().waitFor()
  await page.getByRole('img', { name: /: ran 0:\d\d:\d\d$/ }).waitFor()
  await act('End now')
  await expect.poll(async () => (await read()).status).toBe('idle')
  await page.getByText('Under way', { exact: true }).waitFor({ state: 'detached' })
  await act('Switch off')
  await expect.poll(async () => (await read()).enabled).toBe(false)
  await page.getByText('Off: what comes due is skipped').waitFor()

  const phone = await dashboard.open(`/channels/${id}?calendar=month&day=2031-05-05`, { width: 390, theme: 'dark' })
  await phone.locator('.slot').first().waitFor()
  expect(await phone.locator('.slot-whole').nth(3).innerText()).toContain('in Pacific/Honolulu')
  expect(await phone.locator('.calendar > .free').first().isVisible()).toBe(false)
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390)
})

test('a channel that runs is deleted only after its name is written', async () => {
  const { id } = await channel('Doomed')
  await dashboard.v2('POST', `/channels/${id}/start`)
  await open('/channels?search=Doomed')
  await button('More for Doomed').click()
  await page.getByRole('menuitem', { name: 'Delete channel' }).click()
  expect(await dialog().getByRole('button', { name: 'Delete channel' }).isDisabled()).toBe(true)
  expect(await axe(page)).toEqual([])
  await dialog().getByRole('textbox').fill('Doomed')
  await confirm('Delete channel')
  await toast('Channel Doomed deleted').waitFor()
  await expect(dashboard.v2('GET', `/channels/${id}`)).rejects.toThrow('404')
  await page.goto(`${dashboard.home}#/channels/${id}`)
  await page.getByRole('alert').waitFor()
})

test('a phone shows the same without scrolling sideways', async () => {
  const { id } = await channel(HOSTILE.repeat(3))
  for (const path of ['/channels', '/channels/new', `/channels/${id}`]) {
    const phone = await dashboard.open(path, { width: 390, theme: 'dark' })
    await phone.locator('main :is(tbody a.row, select option, .flow h3)').first().waitFor({ state: 'attached' })
    expect(await phone.evaluate('document.documentElement.scrollWidth'), path).toBe(390)
    await phone.close()
  }
})

test('a slate is set from a file, shown, refused with a reason, and removed', async () => {
  const { id } = await channel('Slate')
  await open(`/channels/${id}`)
  await title('Slate')
  await page.getByText('Viewers get an error while there is no broadcast.').waitFor()
  const choose = (name: string, mimeType: string, buffer: Buffer) =>
    page.getByLabel('File for the slate').setInputFiles({ name, mimeType, buffer })
  await choose('fake.png', 'image/png', Buffer.from('no image'))
  await page.getByText('The content is none of these').waitFor()
  const png = clip('-f lavfi -i testsrc2=s=320x180 -frames:v 1', 'png')
  await choose('soon.png', 'image/png', png)
  await toast('Slate set').waitFor()
  const image = page.getByRole('img', { name: /^Image, 320 × 180, / })
  await image.waitFor()
  const width = () => image.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth)
  await expect.poll(width).toBe(320)
  expect(await axe(page)).toEqual([])
  await button('Remove').click()
  await confirm('Remove')
  await page.getByText('Viewers get an error while there is no broadcast.').waitFor()
})
