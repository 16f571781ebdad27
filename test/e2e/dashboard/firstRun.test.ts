import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ADMIN, axe, openUnclaimed, useDashboard } from './dashboard.ts'

const dashboard = useDashboard({}, openUnclaimed)

const heading = (page: Page, text: string) => page.waitForSelector(`h1:text-is("${text}")`)

/** A page at the begin of step 2. */
async function fresh(): Promise<Page> {
  const page = await dashboard.open('/')
  await page.evaluate(`localStorage.removeItem('sluice-first-run')`)
  await page.goto(`${dashboard.home}?fresh#/first-run`)
  await heading(page, 'Name your first stream')
  return page
}

test('before there is a user the page says where the link is', async () => {
  const page = await dashboard.context.newPage()
  await page.goto(dashboard.home)
  await page.waitForSelector('text=There is no user yet')
  await page.waitForSelector('code:text-is("sluice user link")')
  expect(await axe(page)).toEqual([])
  await page.close()
})

test('the link leads to a user, a stream on the air and its first viewer', async () => {
  const page = await dashboard.context.newPage()
  await page.goto(await dashboard.userLink())
  await heading(page, 'Welcome. Who are you?')
  expect(await axe(page)).toEqual([])
  // The cursor is in the first field.
  await page.keyboard.type(ADMIN.email)
  await page.locator('input[type=password]').pressSequentially('short')
  await page.click('text=Continue')
  expect(await page.textContent('.field .err')).toBe('Use 10 characters or more.')
  await page.fill('input[type=password]', ADMIN.password)
  await page.click('text=Continue')

  await heading(page, 'Name your first stream')
  expect(await axe(page)).toEqual([])
  await page.fill('text=Stream name', '')
  await page.click('text=Make the stream')
  expect(await page.textContent('.field .err')).toBe('Give the stream a name.')
  await page.fill('text=Stream name', 'morning-talk')
  await page.click('text=Only people with a token')
  await page.click('text=Make the stream')

  await heading(page, 'Go on air')
  expect(await axe(page)).toEqual([])
  const { data: made } = await dashboard.api('GET', '/api/publish_token/list')
  expect(made).toMatchObject([{ streams: [{ streamName: 'morning-talk' }], subscribeRequiresAuth: true }])

  // Who leaves comes back to the same step.
  const again = await dashboard.open('/first-run')
  await heading(again, 'Go on air')
  await again.close()

  // The test pattern is there without a choice, because it asks for no permission.
  await page.waitForSelector('video')
  await page.click('button:has-text("Go live")')
  await heading(page, 'You are live')
  expect(await axe(page)).toEqual([])

  const link = new URL((await page.textContent('.copy code')) ?? '')
  expect(link.pathname).toBe(`/watch/${dashboard.accountId}/morning-talk`)
  // A phone does not reach this machine by a loopback address.
  await page.waitForSelector('text=This address works on this computer only')
  const viewer = await dashboard.peer()
  const token = link.searchParams.get('token') ?? ''
  expect(await viewer.watch({ url: dashboard.whep('morning-talk'), token })).toBe('ok')
  await heading(page, 'You are live, and your first viewer watches')
  expect(await page.textContent('.pairs')).toContain('1 viewer, WHEP')

  await page.click('text=To the overview')
  await page.waitForURL(({ hash }) => hash === '#/')
  // The broadcast goes on while the user looks at other pages.
  const { data: sessions } = await dashboard.api('GET', '/api/sessions?action=publish')
  expect(sessions).toHaveLength(1)
})

test('a stream from a publisher is noticed, with the addresses that the page shows', async () => {
  const page = await fresh()
  await page.fill('text=Stream name', 'from-obs')
  await page.click('text=Make the stream')
  await heading(page, 'Go on air')
  await page.click('.copy >> button:has-text("Show")')
  const [server = '', token = ''] = await page.locator('.copy code').allTextContents()
  expect(server).toBe(`${new URL(dashboard.home).origin}/api/whip/from-obs`)
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: server, token, scale: 0.25 })).toBe('ok')
  await heading(page, 'You are live')
  await publisher.stop()
  await heading(page, 'Send the link')
})

test('on a phone each step begins at its top, and the control of the theme offers the other one', async () => {
  const page = await fresh()
  await page.setViewportSize({ width: 360, height: 500 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.click('text=Make the stream')
  await heading(page, 'Go on air')
  expect(await page.evaluate('scrollY')).toBe(0)
  await page.click('text=Light theme')
  expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('light')
  await page.click('text=Dark theme')
  await page.evaluate("localStorage.removeItem('sluice-theme')")
  await page.close()
})

test('every step can be skipped; the link has a QR code if phones reach the server', async () => {
  const page = await fresh()
  await page.route('**/api/server', async (route) => {
    const response = await route.fetch()
    const { data } = (await response.json()) as { data: { addresses: object } }
    const addresses = { ...data.addresses, base: 'https://tv.example.com' }
    await route.fulfill({ response, json: { status: 'success', data: { ...data, addresses } } })
  })
  await page.reload()
  await page.click('a:has-text("Skip all")')
  await page.waitForURL(({ hash }) => hash === '#/')
  await page.goto(`${dashboard.home}#/first-run`)
  await page.click('text=Make the stream')
  await page.click('text=Skip this step')
  await heading(page, 'Send the link')
  await page.getByRole('img', { name: 'QR code of the link' }).waitFor()
  expect(await axe(page)).toEqual([])
})
