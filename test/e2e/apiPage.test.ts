import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { closePages, openBrowser } from './browser.ts'

let sluice: RunningApp
let browser: Browser
beforeAll(async () => {
  sluice = await runApp()
  browser = await openBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await sluice.close()
})

test.each([
  ['/api/docs', 'Create a publish token'],
  ['/api/docs/channels', 'Create a channel'],
])('%s shows the operations under its policy, and asks no other host', async (path, operation) => {
  const page = await browser.newPage()
  const answeredRemotely: string[] = []
  const complaints: string[] = []
  page.on('response', (response) => {
    if (!response.url().startsWith(sluice.base) && !response.url().startsWith(`blob:${sluice.base}`)) {
      answeredRemotely.push(response.url())
    }
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  await page.goto(sluice.base + path)
  const heading = page.locator('h2', { hasText: operation }).first()
  await heading.waitFor()
  // The text stands beside the menu: the browser applied the styles.
  const menu = (await page.locator('.menu-content').boundingBox())!
  expect((await heading.boundingBox())!.x).toBeGreaterThan(menu.x + menu.width)
  expect(answeredRemotely).toEqual([])
  expect(complaints.filter((text) => !text.includes('https://cdn.redoc.ly/redoc/logo-mini.svg'))).toEqual([])
  await page.close()
})
