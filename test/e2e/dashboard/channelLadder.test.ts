import { expect, test } from 'vitest'
import { axe, inSentence, useDashboard } from './dashboard.ts'

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eمفتاح'

const dashboard = useDashboard()

test('a ladder shows what it copies and that it has audio alone, where it is chosen and at its engine', async () => {
  const video = [
    { width: 1280, height: 720, bitrate: 3_000_000, copy: true },
    { width: 640, height: 360, bitrate: 700_000, label: HOSTILE },
  ]
  await dashboard.v2('POST', '/abr', { name: 'As it comes', audioOnly: true, video })
  const page = await dashboard.open('/channels/new')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const field = (label: string) => page.locator('.field', { hasText: label })
  const title = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  await field('Name').locator('input').fill('Copied')
  const ladder = field('ABR ladder')
  const [high, low] = ['720p', '360p']
  await ladder.getByText(`Renditions: ${high}, ${low}.`, { exact: true }).waitFor()
  await ladder.locator('select').selectOption('As it comes')
  const variants = inSentence(`${high} (copied), ${inSentence(HOSTILE)}, audio alone`)
  const passed = ladder.getByText(`Renditions: ${variants}. Sluice passes the H.264 of your source as ${high}.`)
  await passed.waitFor()
  // It copies a source that it dials too.
  await page.getByText('RTMP, dialled').click()
  await passed.waitFor()
  await page.getByText('RTMP, pushed').click()
  expect(await axe(page)).toEqual([])
  await button('Make channel').click()
  await title('Copied')
  await page.getByText(`Ladder As it comes: ${variants}`, { exact: true }).waitFor()
  expect(await page.locator('main img').count()).toBe(0)
  expect(await axe(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 900 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)

  await page.goto(`${dashboard.home}#/channels/new`)
  await field('Name').locator('input').fill('Encoded')
  await button('Make channel').click()
  await page.getByText(`Ladder Default: ${high}, ${low}`, { exact: true }).waitFor()
})

test('a channel for publishers over SRT shows one address with its secrets, which a new key changes', async () => {
  const page = await dashboard.open('/channels/new')
  await page.locator('.field', { hasText: 'Name' }).locator('input').fill('Outdoors')
  await page.getByText('SRT, pushed').click()
  await page.getByRole('button', { name: 'Make channel' }).click()
  await page.getByRole('heading', { level: 1, name: 'Outdoors' }).waitFor()
  const id = /channels\/(\w+)$/.exec(page.url())?.[1] ?? ''
  const address = async () => {
    const [{ url }] = (await dashboard.v2('GET', `/channels/${id}/ingests`)) as [{ url: string }]
    return new URL(url).search
  }
  const card = page.locator('.card', { has: page.getByRole('heading', { level: 3, name: 'Main source' }) })
  const shown = async () => (await card.locator('.copy').textContent()) ?? ''
  expect(await card.getByText('Stream key').count()).toBe(0)
  await card.getByRole('button', { name: /^Show/ }).click()
  const before = await address()
  expect(before).toMatch(/^\?streamid=live%2F[0-9a-f]{32}&passphrase=[\w-]{32}$/)
  await expect.poll(shown).toContain(before)
  expect(await axe(page)).toEqual([])
  await card.getByRole('button', { name: 'New key' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'New key' }).click()
  await expect.poll(address).not.toBe(before)
})

test('a menu that is opened just after a scroll stays open, at its button', async () => {
  await dashboard.v2('POST', '/channels', { name: 'Scrolled' })
  const page = await dashboard.open('/channels?search=Scrolled')
  const opener = page.getByRole('button', { name: 'More for Scrolled', exact: true })
  await opener.click()
  const item = page.getByRole('menuitem', { name: 'Delete channel' })
  await item.waitFor()
  // The event of a scroll comes with the next frame, after the click.
  await page.evaluate('document.dispatchEvent(new Event("scroll"))')
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  expect(await item.isVisible()).toBe(true)
  // Of the menu below its button, or above it.
  const gap = async () => {
    const [menu, button] = [await page.getByRole('menu').boundingBox(), await opener.boundingBox()]
    if (!menu || !button) return null
    return Math.round(Math.max(menu.y - button.y - button.height, button.y - menu.y - menu.height))
  }
  expect(await gap()).toBe(4)
  await page.setViewportSize({ width: 1280, height: 220 })
  await page.mouse.wheel(0, 60)
  await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(0)
  await expect.poll(gap).toBe(4)
  await page.keyboard.press('Escape')
  await item.waitFor({ state: 'detached' })
})

test('the audio tracks of an ingest are set on its page, and what the server refuses is said at its field', async () => {
  const page = await dashboard.open('/channels/new')
  await page.locator('.field', { hasText: 'Name' }).locator('input').fill('Languages')
  await page.getByRole('button', { name: 'Make channel' }).click()
  await page.getByRole('heading', { level: 1, name: 'Languages' }).waitFor()
  const id = /channels\/(\w+)$/.exec(page.url())?.[1] ?? ''
  const tracks = async () => {
    const [ingest] = (await dashboard.v2('GET', `/channels/${id}/ingests`)) as [{ tracks: { audio: object[] } }]
    return ingest.tracks.audio
  }
  await page.getByRole('button', { name: 'Audio tracks' }).click()
  const dialog = page.getByRole('dialog')
  const fill = async (at: number, label: string, language: string, number: string) => {
    await dialog.getByRole('button', { name: 'Add a track' }).click()
    const inputs = dialog.locator('fieldset').nth(at).locator('input')
    for (const [index, value] of [label, language, number].entries()) await inputs.nth(index).fill(value)
  }
  await fill(0, 'English', 'en', '0')
  await fill(1, 'Deutsch', 'de_DE', '300')
  expect(await axe(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('must be a language tag (RFC 5646), such as en or pt-BR').waitFor()
  await dialog.locator('fieldset').nth(1).locator('input').nth(1).fill('de')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Write a whole number from 0 to 255.').waitFor()
  await dialog.locator('fieldset').nth(1).locator('input').nth(2).fill('3')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('English, Deutsch').waitFor()
  expect(await tracks()).toEqual([
    { pid: 0, language: 'en', label: 'English' },
    { pid: 3, language: 'de', label: 'Deutsch' },
  ])
  await page.getByRole('button', { name: 'Audio tracks' }).click()
  await dialog
    .getByRole('button', { name: /^Remove/ })
    .nth(1)
    .click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect.poll(tracks).toEqual([{ pid: 0, language: 'en', label: 'English' }])
})
