import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authorityFile } from '../../src/config/paths.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { shakeHands } from '../support/certificates.ts'
import { launch } from './browser.ts'

let sluice: RunningApp
let plain: RunningApp
let browser: Browser

beforeAll(async () => {
  const webrtc = { host: '127.0.0.1', port: 0, processes: 1 }
  sluice = await runApp({ flags: { webrtc, tls: { selfSigned: true, selfSignedNames: ['studio.test'] } } })
  plain = await runApp({ flags: { webrtc } })
  const authority = new X509Certificate(readFileSync(authorityFile(sluice.app.config)))
  // As if this device trusted the authority, and no other that is unknown.
  const spki = authority.publicKey.export({ type: 'spki', format: 'der' })
  const hash = createHash('sha256').update(spki).digest('base64')
  browser = await launch([`--ignore-certificate-errors-spki-list=${hash}`])
})
afterAll(async () => {
  await browser.close()
  await Promise.all([sluice.close(), plain.close()])
})

/** A page at a name that browsers do not take for this machine, and what failed in it. */
async function open(app: RunningApp, path: string): Promise<{ page: Page; failures: string[] }> {
  const page = await browser.newPage()
  const failures: string[] = []
  page.on('pageerror', (error) => failures.push(error.message))
  await page.goto(app.base.replace('127.0.0.1', 'studio.test') + path)
  return { page, failures }
}

async function tokenFor(streamName: string): Promise<string> {
  const port = Number(new URL(sluice.base).port)
  const socket = await shakeHands(port)
  const body = JSON.stringify({ label: 'e2e', streams: [{ streamName }] })
  const head = `Authorization: Bearer ${sluice.secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  socket.write(`POST /api/publish_token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n\r\n${body}`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return (JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as { data: { token: string } }).data.token
}

test('a browser that trusts our own authority broadcasts its camera, and watches, over https', async () => {
  const token = await tokenFor('show')
  const { page, failures } = await open(sluice, '/demo')
  expect(await page.evaluate('isSecureContext')).toBe(true)
  expect(await page.isVisible('#insecure')).toBe(false)
  await page.check('#broadcast [value=camera]', { force: true })
  await page.fill('#broadcast [name=token]', token)
  await page.click('text=Go live')
  await page.waitForSelector('#broadcast .badge[data-state=live]')
  const [watching] = await Promise.all([page.waitForEvent('popup'), page.click('#broadcast .notice a')])
  await watching.click('#watch .main')
  await watching.waitForSelector('#watch .badge[data-state=live]')
  await expect.poll(() => watching.textContent('#watch [data-figure="Frame rate"]')).toMatch(/^[1-9]\d* fps$/)
  expect(failures).toEqual([])
})

test('a page without https says why it has no camera, and what to do', async () => {
  const { page, failures } = await open(plain, '/demo')
  expect(await page.isVisible('#insecure')).toBe(true)
  await page.check('#broadcast [value=camera]', { force: true })
  await page.click('text=Go live')
  await expect.poll(() => page.textContent('#broadcast .notice')).toContain('only to pages with https')
  await page.click('#insecure a')
  expect(await page.textContent('h1')).toBe('Cameras need https')
  expect(failures).toEqual([])
})
