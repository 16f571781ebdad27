import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Dashboard, openDashboard } from './dashboard.ts'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

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
  await page.close()
})

test('no page broke its policy or its script', () => {
  expect(dashboard.complaints).toEqual([])
})
