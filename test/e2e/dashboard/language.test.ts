import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ADMIN, axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const title = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor()
const lang = (page: Page): Promise<string | null> => page.locator('html').getAttribute('lang')

test('the pages speak the language of the browser, until the user chooses another one', async () => {
  await dashboard.token('subscribe', { label: 'Presse', streams: [{ streamName: 'gala' }], expires: 86_400 })
  const context = await dashboard.newContext({ locale: 'de-AT' })
  const page = await context.newPage()
  await page.goto(dashboard.home)
  await title(page, 'Anmelden')
  // The reset of the styles stands below the parts, whichever file the browser loads first.
  const ground = await page.evaluate('getComputedStyle(document.querySelector("button[type=submit]")).backgroundColor')
  expect(ground).not.toBe('rgba(0, 0, 0, 0)')
  expect(await lang(page)).toBe('de')
  await page.fill('input[type=email]', ADMIN.email)
  await page.fill('input[type=password]', ADMIN.password)
  await page.click('button[type=submit]')
  await title(page, 'Übersicht')
  // Dates have the form of the language.
  const day = page.locator('details td', { hasText: /^\d{1,2}\.\d{1,2}\.\d{4}, / })
  await day.first().waitFor({ state: 'attached' })
  // What the server says by itself.
  await page.getByText(/^Der Subscribe-Token Presse läuft am \d{2}\.\d{2}\.\d{4} ab/).waitFor()
  expect(await axe(page)).toEqual([])

  await page.goto(`${dashboard.home}#/settings/security`)
  await page.locator('.seg').getByText('English', { exact: true }).click()
  await title(page, 'Settings')
  expect(await lang(page)).toBe('en')
  await page.reload()
  await title(page, 'Settings')
  await page.getByRole('button', { name: `${ADMIN.email}, account and theme` }).click()
  await page.getByRole('menuitem', { name: 'Deutsch' }).click()
  await title(page, 'Einstellungen')
  // What the server says in English about keys and findings.
  await page.goto(`${dashboard.home}#/settings/server`)
  await page.getByText('Das Verzeichnis für alle Dateien von Sluice').waitFor()
  await page.getByRole('button', { name: 'Prüfungen starten' }).click()
  await page.locator('details summary').click()
  await page.getByText('Datenverzeichnis', { exact: true }).waitFor()
  await page.getByText(/recordings ist les- und schreibbar$/).waitFor()
})

test('an English page does not load the other language', async () => {
  const page = await dashboard.context.newPage()
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  await page.goto(dashboard.home)
  await title(page, 'Overview')
  expect(await lang(page)).toBe('en')
  expect(loaded.filter((path) => /\/de-[^/]*\.js$/.test(path))).toEqual([])
  await page.close()
})

test('without its file a language is shown in English', async () => {
  const context = await dashboard.newContext({ locale: 'de-DE' })
  const page = await context.newPage()
  await page.route(/\/de-[^/]*\.js$/, (route) => route.abort())
  await page.goto(dashboard.home)
  await title(page, 'Sign in')
  expect(await lang(page)).toBe('en')
})
