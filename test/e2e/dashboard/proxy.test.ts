import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, type Dashboard, openDashboard } from './dashboard.ts'
import { isNginxInstalled, Nginx } from './nginx.ts'

/** The first media playlist that a master playlist names. */
async function mediaPlaylist(address: string): Promise<string> {
  const master = await fetch(address)
  const [first] = (await master.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return first === undefined ? '' : (await fetch(new URL(first, master.url))).text()
}

describe.skipIf(!isNginxInstalled)('behind nginx with a path prefix', () => {
  let nginx: Nginx
  let dashboard: Dashboard
  /** Requests that left the prefix. */
  const outside: string[] = []

  beforeAll(async () => {
    nginx = await Nginx.open('/tv/live')
    dashboard = await openDashboard({ SLUICE_SERVER_PUBLIC_URL: nginx.url, SLUICE_HLS_SESSION_SECONDS: '6' })
    await nginx.passTo(dashboard.server.url)
    await dashboard.token('publish', { streams: [{ streamName: 'show' }] })
  })
  afterAll(async () => {
    await dashboard.close()
    await nginx.close()
  })

  async function newPage(address: string): Promise<Page> {
    const page = await (await dashboard.newContext()).newPage()
    page.on('request', (request) => {
      if (!request.url().startsWith(`${nginx.url}/`) && !request.url().startsWith('blob:')) outside.push(request.url())
    })
    await page.goto(nginx.url + address)
    return page
  }

  const sessions = async (): Promise<number> => (await dashboard.api('GET', '/api/sessions')).data.length as number

  test('addresses to copy are public ones, also on a page that was opened directly', async () => {
    const channel = await dashboard.v2('POST', '/channels', { name: 'Sports' })
    const { id } = await dashboard.v2('POST', `/channels/${channel.id}/distributions`, { name: 'Website' })
    const page = await dashboard.open(`/channels/${channel.id}`)
    await page.waitForSelector(`text=${nginx.url}/v2/distributions/${id}/hls/main.m3u8`)
    await page.close()
  })

  test('the dashboard signs in, follows events and broadcasts, viewers watch over WHEP and HLS, and both end their sessions', async () => {
    const page = await newPage('/')
    await page.fill('text=E-mail', ADMIN.email)
    await page.fill('text=Password', ADMIN.password)
    await page.click('button:text-is("Sign in")')
    await page.waitForSelector('text=Live updates on')
    await page.goto(`${nginx.url}/dashboard/#/live`)
    await page.click('button:has-text("Go live as show")')
    await page.waitForSelector('.screen .st[data-s=live]')

    const viewer = await newPage(`/watch/${dashboard.accountId}/show`)
    const time = () =>
      viewer.locator('sluice-player video').evaluate((video) => (video as { currentTime?: number }).currentTime)
    await expect.poll(time).toBeGreaterThan(0)
    expect(await sessions()).toBe(2)
    await expect
      .poll(() => mediaPlaylist(`${nginx.url}/hls/${dashboard.accountId}/show/index.m3u8`))
      .toContain('#EXTINF')
    await viewer.goto(`${nginx.url}/demo/#watch=${dashboard.accountId}%2Fshow`)
    await viewer.click('#watch .main')
    await viewer.waitForSelector('#watch .badge[data-state=live]')
    // Leaving the page ends the session; a context that is closed leaves no page.
    await viewer.goto('about:blank')
    await expect.poll(() => page.textContent('.figs div:has(dt:text-is("Viewers")) dd')).toBe('0')
    await page.click('button:has-text("End the broadcast")')
    await expect.poll(sessions).toBe(0)
    expect(outside).toEqual([])
    expect(dashboard.complaints).toEqual([])
  })
})
