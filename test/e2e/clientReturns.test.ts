import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { silentLog } from '../support/log.ts'
import { processIdsOf } from '../support/relayProcesses.ts'
import { LOOPBACK, TestPublisher } from '../support/rtcPeer.ts'
import { offerTo } from '../support/webrtcNodes.ts'
import { closePages, openBrowser } from './browser.ts'
import { servePages } from './pages.ts'

/** The home of a stream takes no viewer; each of two gets a process of its own. */
const LINKED = {
  host: '127.0.0.1',
  udpPort: 0,
  processes: 3,
  publicAddresses: [],
  maxBitrate: 2_500_000,
  maxSessions: 100,
  publisherSilentMs: 60_000,
}

let sluice: RunningApp
let browser: Browser
let pages: Awaited<ReturnType<typeof servePages>>
beforeAll(async () => {
  const now = () => performance.now()
  const engine = createRelayEngine({ log: silentLog, now, config: LINKED, maxViewers: 0, linkWaitMs: 20_000 })
  ;[sluice, browser, pages] = await Promise.all([runApp({ engine }), openBrowser(), servePages()])
})
afterAll(async () => {
  await closePages(browser)
  await Promise.all([pages.close(), sluice.close()])
})

const ASKED = 'PATCH 204'

/** A page with the library, and the requests that it sent. */
class LibraryPage {
  readonly page: Page
  /** Method, status, and `restart` of one that restarts ICE. */
  readonly requests: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.on('response', (response) => {
      const request = response.request()
      if (!/\/api\/(whip|whep)\//.test(request.url()) || request.url().endsWith('/report')) return
      const isRestart = request.headers()['if-match'] === '*'
      this.requests.push(`${request.method()} ${response.status()}${isRestart ? ' restart' : ''}`)
    })
  }

  static async open(): Promise<LibraryPage> {
    const opened = new LibraryPage(await browser.newPage())
    await opened.page.goto(`${pages.origin('page.test')}/library.html`)
    await opened.page.waitForFunction('globalThis.library !== undefined')
    return opened
  }

  static async watching(stream: string): Promise<LibraryPage> {
    const opened = await LibraryPage.open()
    const url = `${sluice.base}/api/whep/${sluice.accountId}/${stream}`
    expect(await opened.call('watch', { url })).toBe('ok')
    await opened.receives()
    return opened
  }

  /** Those that changed something: a page that gets nothing for a second asks, also when the machine stood still. */
  get changes(): string[] {
    return this.requests.filter((request) => request !== ASKED)
  }

  /** How often it asked, and was told that its session is there. */
  get asked(): number {
    return this.requests.length - this.changes.length
  }

  call<T>(name: string, options?: object): Promise<T> {
    return this.page.evaluate<T>(`library.${name}(${options === undefined ? '' : JSON.stringify(options)})`)
  }

  states(): Promise<string[]> {
    return this.page.evaluate('library.states')
  }

  /** More media from now on. */
  async receives(): Promise<void> {
    const before = await this.call<number>('bytes')
    await expect.poll(() => this.call<number>('bytes')).toBeGreaterThan(before + 1000)
  }
}

async function tokenFor(streamName: string): Promise<string> {
  const made = await sluice.call('POST', '/api/publish_token', { label: 'e2e', streams: [{ streamName }] })
  return made.json.data.token
}

/** Asked once, with the answer that the session is over, and came back. No ICE restart led to it. */
const CAME_BACK = ['POST 201', 'PATCH 404', 'DELETE 404', 'POST 201']

test('viewers whose media process is killed come back because they asked, and the others stay', async () => {
  const publisher = await LibraryPage.open()
  const url = `${sluice.base}/api/whip/killed`
  expect(await publisher.call('publish', { url, token: await tokenFor('killed'), codec: 'vp8' })).toBe('ok')
  const [home] = processIdsOf(process.pid)
  const viewers = [await LibraryPage.watching('killed'), await LibraryPage.watching('killed')]
  const children = processIdsOf(process.pid).filter((pid) => pid !== home)
  expect(children).toHaveLength(2)
  for (const pid of children) process.kill(pid, 'SIGKILL')
  for (const viewer of viewers) {
    await expect.poll(() => viewer.states()).toEqual(['connecting', 'live', 'reconnecting: connection_lost', 'live'])
    await viewer.receives()
    expect(viewer.changes).toEqual(CAME_BACK)
  }
  expect(publisher.changes).toEqual(['POST 201'])

  // That of the publisher dies: it comes back in the same way, and its viewers wait for it in their session.
  const linked = [await LibraryPage.watching('killed'), await LibraryPage.watching('killed')]
  expect(processIdsOf(process.pid)).toHaveLength(3)
  process.kill(home ?? 0, 'SIGKILL')
  await expect.poll(() => publisher.changes).toEqual(CAME_BACK)
  for (const viewer of [...viewers, ...linked]) await viewer.receives()
  for (const viewer of linked) expect(viewer.requests.filter((request) => request.startsWith('POST'))).toHaveLength(1)
})

test('a publisher who stalls makes each viewer ask, and none connects again', async () => {
  const publisher = new TestPublisher('vp8', LOOPBACK)
  const url = `${sluice.base}/api/whip/stalls`
  const answer = await offerTo(url, await tokenFor('stalls'), await publisher.offer())
  await publisher.accept(await answer.text())
  publisher.play()
  const viewers = await Promise.all([LibraryPage.watching('stalls'), LibraryPage.watching('stalls')])
  const before = viewers.map(({ asked }) => asked)
  publisher.pause()
  for (const [at, viewer] of viewers.entries()) await expect.poll(() => viewer.asked).toBeGreaterThan(before[at] ?? 0)
  publisher.play()
  for (const viewer of viewers) {
    await viewer.receives()
    expect(await viewer.states()).toEqual(['connecting', 'live'])
    expect(viewer.changes).toEqual(['POST 201'])
  }
  await publisher.close()
})
