import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { recordedBy } from '../../support/encoders.ts'
import { RtmpPublisher } from '../../support/rtmpPublisher.ts'
import type { Peer } from '../peer.ts'
import { buildPlayer, WATCH_LEAKS } from '../playerPage.ts'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()
let publisher: Peer
let viewer: Peer
let page: Page

const streams = [{ streamName: 'talk' }]

beforeAll(async () => {
  buildPlayer()
  publisher = await dashboard.peer()
  viewer = await dashboard.peer()
})

beforeEach(async () => {
  page = await dashboard.open('/streams/talk')
})

const goLive = async (token: string): Promise<void> => {
  expect(await publisher.publish({ url: dashboard.whip('talk'), token, codec: 'vp8', scale: 0.5 })).toBe('ok')
}

/** What the players of the page have: their state, and how the media comes. */
const players = (): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('sluice-player')].map((one) => one.state + ' ' + one.delivery)`)

async function plays(at = 0): Promise<void> {
  const frames = () =>
    page.evaluate<number>(
      `document.querySelectorAll('sluice-player')[${at}].video.getVideoPlaybackQuality().totalVideoFrames`,
    )
  const before = await frames()
  await expect.poll(frames).toBeGreaterThan(before)
}

test('a page of a stream waits for it, plays it, ends a viewer and the broadcast', async () => {
  await page.waitForSelector('h2:text-is("Not live now")')
  const { token } = await dashboard.token('publish', { label: 'Studio 1', streams })
  await goLive(token)
  await page.waitForSelector('.page-head .st[data-s=live]')
  await page.waitForSelector('.page-head .tag:has-text("Token “Studio 1”")')
  await expect.poll(() => page.textContent('section:has(h2:text-is("Publisher"))')).toMatch(/VP8, 640 × 360/)
  expect(await page.textContent('section:has(h2:text-is("Publisher"))')).toContain('127.0.0.1')

  const requested: string[] = []
  page.on('request', (request) => requested.push(new URL(request.url()).pathname))
  expect(await page.evaluate(`customElements.get('sluice-player') === undefined`)).toBe(true)
  await page.click('text=Watch here')
  await expect.poll(players).toEqual(['playing whep'])
  await plays()
  expect(requested).toContain('/player.js')
  expect(requested.filter((path) => path.includes('hls'))).toEqual([])

  expect(await viewer.watch({ url: dashboard.whep('talk') })).toBe('ok')
  const rows = page.locator('section:has(h2:has-text("Watching")) tbody tr')
  await expect.poll(() => rows.count()).toBe(1)
  expect(await axe(page)).toEqual([])
  const mine = rows.filter({ hasText: 'page.test' })
  await mine.getByRole('button', { name: 'End 127.0.0.1' }).press('Enter')
  await expect.poll(() => rows.count()).toBe(0)
  // The number comes with the next figures.
  expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Watching /)
  // What this page plays is no viewer.
  expect((await dashboard.api('GET', '/api/sessions?action=view')).data).toHaveLength(0)
  expect((await dashboard.api('GET', '/api/sessions?action=preview')).data).toHaveLength(1)
  expect(await viewer.watch({ url: dashboard.whep('talk') })).toBe('ok')

  await page.waitForSelector('h2:has-text("Watching 1")')
  await page.click('.page-head >> text=End for all viewers')
  expect(await page.textContent('dialog p')).toContain('its 1 viewer')
  await page.click('dialog button:has-text("End for all viewers")')
  await page.waitForSelector('h2:text-is("Not live now")')
  expect((await dashboard.api('GET', '/api/sessions')).data).toEqual([])
  await page.waitForSelector('section:has(h2:text-is("Past broadcasts")) li:has-text("viewer")')
})

test('a recording begins and ends during a broadcast, and the page has it', async () => {
  const { token } = await dashboard.token('publish', { streams })
  onTestFinished(() => publisher.stop())
  await goLive(token)
  await page.click('.page-head >> text=Record')
  await page.waitForSelector('.page-head .tag:text-is("Recording now")')
  await page.waitForSelector('section:has(h2:text-is("Recordings of it")) li:has-text("Recording now")')
  expect(await axe(page)).toEqual([])
  await page.click('.page-head >> text=End recording')
  await page.waitForSelector('.page-head .tag:text-is("Recording now")', { state: 'detached' })
  await page.waitForSelector('section:has(h2:text-is("Recordings of it")) a[href*=download]')
})

test('it shows the addresses, and why viewers were refused', async () => {
  expect(await page.textContent('.copy code')).toBe(
    `${new URL(dashboard.home).origin}/watch/${dashboard.accountId}/talk`,
  )
  await page.click('.seg >> text=HLS')
  expect(await page.textContent('.copy code')).toMatch(/\/hls\/[^/]+\/talk\/index\.m3u8$/)
  expect(await viewer.watch({ url: dashboard.whep('talk'), token: 'x'.repeat(32) })).toContain('401')
  await page.reload()
  await page.waitForSelector('section:has(h2:text-is("Refused here")) li:has-text("Unknown token")')
  expect(await axe(page)).toEqual([])
})

test('every source has a player, which takes HLS when that is chosen, and another page leaves nothing of them', async () => {
  const { token } = await dashboard.token('publish', { streams })
  const sources = [
    { peer: publisher, sourceId: 'left' },
    { peer: viewer, sourceId: 'right' },
  ]
  const request = { url: dashboard.whip('talk'), token, codec: 'h264', scale: 0.25 } as const
  onTestFinished(async () => void (await Promise.all([publisher.stop(), viewer.stop()])))
  for (const { peer, sourceId } of sources) expect(await peer.publish({ ...request, sourceId })).toBe('ok')
  await page.addInitScript(WATCH_LEAKS)
  await page.reload()
  await page.click('text=Watch here')
  // On a busy machine one of them may have taken HLS already.
  const playing = expect.stringMatching(/^playing/) as string
  await expect.poll(players).toEqual([playing, playing])
  expect(await page.locator('.player figcaption').allTextContents()).toEqual(['Source left', 'Source right'])
  const second = page.locator('sluice-player').nth(1)
  await second.getByRole('button', { name: 'Settings' }).click()
  await second.getByLabel('HLS').click()
  await expect.poll(players).toEqual([playing, 'playing hls'])
  await Promise.all([plays(0), plays(1)])
  expect(await axe(page)).toEqual([])

  await page.click('.crumb')
  await page.waitForSelector('h1:text-is("Streams")')
  const viewers = async () => (await dashboard.api('GET', '/api/sessions?action=preview')).data
  await expect.poll(viewers).toEqual([])
  const peers = await page.evaluate<string[]>('leaks.peers.map(({ connectionState }) => connectionState)')
  expect(peers.length).toBeGreaterThan(1)
  expect(new Set(peers)).toEqual(new Set(['closed']))
})

test('it shows which publisher is shown and which one waits, and changes their priorities', async () => {
  const [main, spare] = [
    await dashboard.token('publish', { label: 'Main', streams, priority: 2 }),
    await dashboard.token('publish', { label: 'Spare', streams, priority: 1 }),
  ]
  onTestFinished(async () => void (await Promise.all([publisher.stop(), viewer.stop()])))
  const request = { url: dashboard.whip('talk'), codec: 'vp8', scale: 0.25 } as const
  expect(await publisher.publish({ ...request, token: main.token })).toBe('ok')
  await page.waitForSelector('.page-head .st[data-s=live]')
  const card = page.locator('section', { has: page.locator('h2:text-is("Publishers")') })
  expect(await card.count()).toBe(0)
  expect(await viewer.publish({ ...request, token: spare.token })).toBe('ok')
  const rows = () => card.locator('li').allTextContents()
  await expect.poll(rows).toHaveLength(2)
  expect(await rows()).toEqual([
    expect.stringMatching(/^Shown.*priority 2 · WHIP/) as string,
    expect.stringMatching(/^Waiting.*priority 1 · WHIP/) as string,
  ])
  expect(await axe(page)).toEqual([])
  await card.locator('li').nth(1).getByRole('button', { name: 'Change priority' }).click()
  await page.locator('dialog').getByLabel('Priority').fill('3.5')
  await page.click('dialog button:has-text("Change priority")')
  await page.waitForSelector('dialog .err')
  await page.locator('dialog').getByLabel('Priority').fill('3')
  expect(await axe(page)).toEqual([])
  await page.click('dialog button:has-text("Change priority")')
  await page.locator('dialog').waitFor({ state: 'detached' })
  // Its publisher was disconnected, and the other one is alone.
  await card.waitFor({ state: 'detached' })
  expect((await dashboard.api('GET', `/api/publish_token/${spare.id}`)).data).toMatchObject({ priority: 3 })
  expect(await viewer.publish({ ...request, token: spare.token })).toBe('ok')
  await expect
    .poll(rows)
    .toEqual([
      expect.stringMatching(/^Shown.*priority 3 · WHIP/) as string,
      expect.stringMatching(/^Waiting.*priority 2 · WHIP/) as string,
    ])
})

/** A page of another site whose body is this code, and whether its player plays. */
async function playsAt(host: string, code: string): Promise<void> {
  const foreign = await dashboard.browser.newPage()
  onTestFinished(() => foreign.close())
  await foreign.goto(`${dashboard.origin(host)}/site?${new URLSearchParams({ body: code }).toString()}`)
  const around = code.includes('<iframe') ? foreign.frameLocator('iframe') : foreign
  await around.locator('sluice-player .frame[data-state=playing]').waitFor()
}

/** Keeps the code that the page has at the moment when the note about a wrong token comes. */
const WATCH_CODE = `
  globalThis.codeBesideNote = null
  new MutationObserver((_, self) => {
    if (!document.body.textContent.includes('This token names other streams')) return
    globalThis.codeBesideNote = [...document.querySelectorAll('pre')].map((one) => one.textContent).join()
    self.disconnect()
  }).observe(document.body, { childList: true, subtree: true, characterData: true })`

test('the embed code of a secured stream has a token that is chosen or signed, and plays in a page of another site', async () => {
  const { token } = await dashboard.token('publish', { streams, subscribeRequiresAuth: true })
  await goLive(token)
  await dashboard.token('subscribe', { label: 'Website', streams })
  await dashboard.token('subscribe', { label: 'Other', streams: [{ streamName: 'other' }] })
  await dashboard.token('subscribe', { label: 'One site', streams, allowedOrigins: ['site.test'] })
  await page.reload()
  const card = page.locator('section', { has: page.locator('h2:text-is("Put it on a page")') })
  const code = (title: string) => card.locator('.field', { hasText: title }).locator('pre').textContent()
  const choose = (label: string) => card.getByLabel('Token for viewers').selectOption({ label })
  await card.getByText('Viewers of this stream need a token.').waitFor()
  expect(await code('As a frame')).not.toContain('token')

  await choose('Website')
  await expect.poll(() => code('As a frame')).toContain('?token=')
  expect(await card.locator('.copy code').textContent()).toContain('/talk#token=')
  expect(await axe(page)).toEqual([])
  await playsAt('site.test', (await code('As a frame')) ?? '')
  await playsAt('site.test', (await code('As a player')) ?? '')

  await page.evaluate(WATCH_CODE)
  await choose('Other')
  await card.getByText('This token names other streams').waitFor()
  expect(await page.evaluate('codeBesideNote')).not.toContain('token=')

  await choose('One site')
  await card.getByText('This token works on pages of site.test only.').waitFor()
  await card.getByText('The frame does not play with it').waitFor()
  await card.getByText('Sign a short one').click()
  await card.getByRole('button', { name: 'Sign' }).click()
  await card.getByText('The code has a signed token').waitFor()
  expect(await code('As a player')).toContain('token="eyJ')
  await playsAt('site.test', (await code('As a player')) ?? '')
})

test('a stream that needs a token is played without one, whatever tokens its viewers have', async () => {
  const { token } = await dashboard.token('publish', { streams, subscribeRequiresAuth: true })
  await dashboard.token('subscribe', { streams: [{ streamName: '.*', isRegex: true }] })
  await goLive(token)
  await page.click('text=Watch here')
  await expect.poll(players).toEqual(['playing whep'])
})

test('on a slow network the page of a stream on the air has its shape before the stream is known, so that nothing jumps', async () => {
  const { token } = await dashboard.token('publish', { streams })
  await goLive(token)
  const { promise: known, resolve: tell } = Promise.withResolvers<void>()
  await page.route(/\/api\/events$/, async (route) => {
    await known
    await route.continue()
  })
  await page.reload()
  const places = async () => [
    await page.locator('.page-head').boundingBox(),
    await page.locator('.screen').boundingBox(),
  ]
  await page.locator('.page-head .tags').waitFor()
  const before = await places()
  tell()
  await page.getByRole('button', { name: 'Watch here' }).waitFor()
  expect(await places()).toEqual(before)
})

test('what is wrong with the media of a stream is said on its page, with what to set and what was measured', async () => {
  // A name of its own: what others sent in the last hour is still known.
  await page.close()
  page = await dashboard.open('/streams/rare')
  const { token } = await dashboard.token('publish', { label: 'Studio 1', streams: [{ streamName: 'rare' }] })
  const url = dashboard.rtmp('rare', token)
  const encoder = await RtmpPublisher.start(url, systemClock, recordedBy('a keyframe every 20 s'))
  onTestFinished(() => encoder.end())
  const notice = page.locator('.notice', { hasText: 'Keyframe every' })
  await notice.waitFor()
  expect(await notice.textContent()).toMatch(/viewers wait up to [\d.]+ s .* In OBS: .*Keyframe Interval 2 s/)
  const about = await notice.getByRole('link', { name: 'More on this' }).evaluate((link: { href: string }) => link.href)
  expect(about).toMatch(/\/docs\/guides\/stream-health\.html#keyframe-interval$/)
  expect(await (await fetch(about)).text()).toContain('id="keyframe-interval"')
  await page.waitForSelector('.page-head .st[data-s=warn]:has-text("Has faults")')
  const measured = page.locator('section:has(h2:text-is("What arrives"))')
  await expect.poll(() => measured.textContent()).toMatch(/Baseline.*25 of 25.*B-framesNone.*48 kHz, mono/)
  const hour = page.locator('section:has(h2:text-is("The last hour"))')
  await expect.poll(() => hour.locator('.u-wrap').count()).toBe(3)
  expect(await hour.locator('h3').allTextContents()).toEqual(['Bitrate', 'Frames a second', 'Keyframe every'])
  await hour.locator('summary').nth(1).click()
  await expect.poll(() => hour.locator('tbody tr:visible').first().textContent()).toMatch(/\d$/)
  expect(await axe(page)).toEqual([])
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    // A plot takes the new size with the next frame.
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  }
  // What it was stays to be seen.
  encoder.end()
  await page.waitForSelector('h2:text-is("Not live now")')
  expect(await hour.locator('.u-wrap').count()).toBe(3)
})
