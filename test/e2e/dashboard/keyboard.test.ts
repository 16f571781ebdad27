import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

/** As a screen reader says it, without what is only shown. */
const FOCUSED = `(() => {
  const { activeElement: one } = document
  const label = one.closest('label') ?? one.labels?.[0]
  return (one.getAttribute('aria-label') ?? label?.textContent ?? one.textContent ?? '').trim()
})()`

/** More than any page has in a row. */
const STEPS_MAX = 80

/** Presses Tab until the focus is on what has this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = []
  for (let step = 0; step < STEPS_MAX; step++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(FOCUSED)
    if (focused === name) return
    passed.push(focused)
  }
  throw new Error(`${name} is not reached; passed: ${passed.join(', ')}`)
}

async function press(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press(key)
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const tokens = async () => (await dashboard.api('GET', '/api/publish_token/list')).data as { isActive: boolean }[]
const onTheAir = async () => ((await dashboard.api('GET', '/api/streams/live')).data as unknown[]).length

test('with the keyboard alone one signs in, makes a token, goes live with it and takes it away', async () => {
  const context = await dashboard.newContext()
  const page = await context.newPage()
  await page.goto(dashboard.home)
  await heading(page, 'Sign in')
  // The cursor is in the first field.
  await page.keyboard.type(ADMIN.email)
  await tabTo(page, 'Password')
  await page.keyboard.type(ADMIN.password)
  await page.keyboard.press('Enter')
  await heading(page, 'Overview')

  const listed = Promise.withResolvers<void>()
  await page.route('**/api/publish_token/list*', (route) => listed.promise.then(() => route.continue()))
  await press(page, 'Tokens')
  await heading(page, 'Tokens')
  // Another page begins at its top, not where the link was.
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
  await tabTo(page, 'New publish token')
  // The list is empty, and has the same link in its middle.
  listed.resolve()
  await page.getByRole('heading', { name: 'No client can broadcast yet' }).waitFor()
  await page.keyboard.press('Enter')
  await heading(page, 'New publish token')
  await page.unroute('**/api/publish_token/list*')
  await tabTo(page, 'Label')
  await page.keyboard.type('By keyboard')
  await tabTo(page, 'Streams')
  await page.keyboard.type('typed')
  await page.keyboard.press('Enter')
  await press(page, 'Create token')
  await expect.poll(async () => (await tokens()).length).toBe(1)
  await heading(page, 'By keyboard')

  await page.keyboard.press('Control+k')
  await page.keyboard.type('Go live')
  await page.keyboard.press('Enter')
  await heading(page, 'Go live')
  await page.getByRole('button', { name: 'Go live as typed' }).waitFor()
  await tabTo(page, 'Test')
  await page.keyboard.press('Space')
  await expect.poll(() => page.getByRole('button', { name: 'Go live as typed' }).isEnabled()).toBe(true)
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await press(page, 'Go live as typed')
  await expect.poll(onTheAir).toBe(1)

  await page.goto(`${dashboard.home}#/tokens/publish`)
  await heading(page, 'Tokens')
  await press(page, 'By keyboard')
  await heading(page, 'By keyboard')
  await press(page, 'Switch off')
  await expect.poll(async () => (await tokens())[0]?.isActive).toBe(false)
  // The button of the message is far behind, and is there for seconds alone, unless it is pointed at.
  await page.getByRole('button', { name: 'Undo' }).hover()
  await page.keyboard.press('Control+z')
  await expect.poll(async () => (await tokens())[0]?.isActive).toBe(true)
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'hidden' })
  await press(page, 'Switch off')
  await expect.poll(async () => (await tokens())[0]?.isActive).toBe(false)
  await press(page, 'More for By keyboard')
  const askToDelete = async (): Promise<void> => {
    await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
  }
  await askToDelete()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  // The focus is back at the button of the menu, whose item is gone.
  await page.keyboard.press('Enter')
  await askToDelete()
  await press(page, 'Delete')
  await expect.poll(tokens).toEqual([])
  await expect.poll(onTheAir).toBe(0)
  await heading(page, 'Tokens')
  await context.close()
})

const CHOSEN_IS_IN_VIEW = `(() => {
  const boxOf = (selector) => document.querySelector(selector).getBoundingClientRect()
  const [chosen, list] = [boxOf('[role=option][aria-selected=true]'), boxOf('.hits')]
  return chosen.top >= list.top - 1 && chosen.bottom <= list.bottom + 1
})()`

test('the search keeps what the arrows choose in view, and closes at the first Escape', async () => {
  const page = await dashboard.open('/')
  await page.setViewportSize({ width: 1280, height: 400 })
  await heading(page, 'Overview')
  await page.keyboard.press('Control+K')
  const field = page.getByRole('combobox')
  await field.waitFor()
  await page.keyboard.press('ArrowUp')
  await page.getByRole('option', { selected: true }).and(page.getByRole('option').last()).waitFor()
  await expect.poll(() => page.evaluate(CHOSEN_IS_IN_VIEW)).toBe(true)
  await page.keyboard.type('tok')
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
})

test('the focus goes on where a row ends by its own button, and stays at a button whose action is under way', async () => {
  const made = ['First', 'Second', 'Third'].map((name) =>
    dashboard.context.request.post(`${dashboard.home}api/secrets`, {
      headers: { 'X-Sluice-Dashboard': '1' },
      data: { name },
    }),
  )
  await Promise.all(made)
  const page = await dashboard.open('/settings/security')
  const bins = page.locator('section:has(h2:text-is("API secrets"))').getByRole('button', { name: /^Delete / })
  await expect.poll(() => bins.count()).toBe(4)
  const names = await Promise.all((await bins.all()).map((bin) => bin.getAttribute('aria-label')))
  const focused = () => page.evaluate<string>(FOCUSED)
  const remove = async (): Promise<void> => {
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await press(page, 'Delete')
  }
  await bins.nth(2).focus()
  await remove()
  await expect.poll(focused).toBe(names[3])
  // The last row has none below it.
  await remove()
  await expect.poll(focused).toBe(names[1])

  await page.goto(`${dashboard.home}#/settings/server`)
  await heading(page, 'Settings')
  const doctor = page.locator('section:has(h2:text-is("Doctor"))')
  // A part is there, and not shown, until those above it have been loaded.
  await doctor.locator('.card-head button').waitFor()
  const checked = Promise.withResolvers<void>()
  await page.route(/\/server\/doctor/, (route) => checked.promise.then(() => route.continue()))
  await doctor.locator('.card-head button').press('Enter')
  await doctor.locator('button[aria-busy]').waitFor()
  checked.resolve()
  await doctor.locator('button[aria-busy]').waitFor({ state: 'detached' })
  expect(await doctor.locator('.card-head button:focus').count()).toBe(1)
})

test('an address is copied on a page without https, to which browsers give no clipboard', async () => {
  const { id } = await dashboard.token('publish', { label: 'In the house', streams: [{ streamName: 'lan' }] })
  const home = dashboard.home.replace(new URL(dashboard.home).hostname, 'sluice.test')
  // The browser complains about a page without https by itself, so this context is not watched.
  const context = await dashboard.browser.newContext({ locale: 'en-GB' })
  onTestFinished(() => context.close())
  const near = await context.newPage()
  await near.clock.install()
  await near.goto(home)
  expect(await near.evaluate('[isSecureContext, typeof navigator.clipboard]')).toEqual([false, 'undefined'])
  await near.getByLabel('E-mail').fill(ADMIN.email)
  await near.getByLabel('Password').fill(ADMIN.password)
  await near.keyboard.press('Enter')
  await near.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await near.goto(`${home}#/tokens/publish/${id}`)
  await near.getByRole('button', { name: 'Copy Server' }).waitFor()
  // It says so for two seconds.
  await near.clock.pauseAt(Date.now() + 60_000)
  await near.getByRole('button', { name: 'Copy Server' }).click()
  await near.getByRole('button', { name: 'Copied Server' }).waitFor()
  // The focus is where it was.
  expect(await near.evaluate('document.activeElement.ariaLabel')).toBe('Copied Server')
  await near.getByLabel('Label').fill('')
  await near.getByLabel('Label').press('Control+v')
  expect(await near.getByLabel('Label').inputValue()).toMatch(/\/api\/whip\/lan$/)
})
