import { expect, test } from 'vitest'
import { launch } from '../browser.ts'
import { ADMIN, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

test('on paper a page has no navigation, which would lie on each sheet, and dark text, whatever the theme', async () => {
  const page = await dashboard.open('/analytics')
  await page.getByRole('heading', { level: 1, name: 'Analytics' }).waitFor()
  await page.evaluate(`document.documentElement.dataset.theme = 'dark'`)
  const light = 'rgb(232, 238, 236)'
  const colour = () => page.evaluate('getComputedStyle(document.body).color')
  expect(await colour()).toBe(light)
  await page.emulateMedia({ media: 'print' })
  for (const width of [1280, 700]) {
    await page.setViewportSize({ width, height: 900 })
    expect(await page.locator(':is(.side, .topbar, .tabbar):visible').count()).toBe(0)
  }
  expect(await colour()).not.toBe(light)
  await page.emulateMedia({ media: 'screen' })
})

test('in the colours of the person a switch says whether it is on, and a choice which it is', async () => {
  const page = await dashboard.open('/tokens/publish/new')
  await page.emulateMedia({ forcedColors: 'active' })
  const styleOf = (selector: string, name: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}'))['${name}']`)
  await page.getByRole('switch').first().waitFor()
  // Drawn by the browser, which knows these colours.
  expect(await styleOf('.switch input', 'appearance')).toBe('auto')
  expect(await styleOf('.seg label:has(:checked)', 'outlineStyle')).toBe('solid')
  expect(await styleOf('.seg label:not(:has(:checked))', 'outlineStyle')).toBe('none')
  await page.emulateMedia({ forcedColors: 'none' })
})

test('with letters of twice the size a page has as few columns as in a window of half the width', async () => {
  await dashboard.api('POST', '/api/webhooks', { url: 'https://one.example/hook', isFeedHooks: true })
  await dashboard.api('POST', '/api/webhooks', { url: 'https://two.example/hook', isFeedHooks: true })
  const browser = await launch(['--blink-settings=defaultFontSize=32'])
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await page.goto(dashboard.home)
    await page.getByLabel('E-mail').fill(ADMIN.email)
    await page.getByLabel('Password').fill(ADMIN.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    for (const path of ['/', '/webhooks', '/tokens/publish/new', '/analytics']) {
      await page.goto(`${dashboard.home}#${path}`)
      await page.locator('main h1').waitFor()
      await page.locator('.bone').first().waitFor({ state: 'detached' })
      expect([path, await page.evaluate('getComputedStyle(document.body).fontSize')]).toEqual([path, '30px'])
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 1280])
      expect(await page.locator('.side').isVisible()).toBe(false)
    }
  } finally {
    await browser.close()
  }
})
