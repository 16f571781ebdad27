import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildPlayer, PlayerPage } from './playerPage.ts'
import { setStage, type Stage, type Token } from './sluice.ts'

let stage: Stage
let open: Token
beforeAll(async () => {
  buildPlayer()
  stage = await setStage()
  open = await stage.token('publish', { streams: [{ streamName: 'open.*', isRegex: true }] })
})
afterAll(() => stage.close())

const named = (stream: string) => `${stage.accountId}/${stream}`

async function broadcast(stream: string, encodings?: readonly object[]): Promise<void> {
  const peer = await stage.peer()
  onTestFinished(() => peer.close())
  const more = encodings ? { encodings, codec: 'vp8', scale: 480 / 1280 } : { codec: 'h264' }
  expect(await peer.publish({ url: stage.whip(stream), token: open.token, ...more })).toBe('ok')
}

async function watching(attributes: object): Promise<PlayerPage> {
  const site = await PlayerPage.open(stage, [attributes])
  onTestFinished(() => site.page.close())
  await site.reaches('playing')
  return site
}

const SIZES = [
  [200, 112],
  [320, 180],
  [1280, 720],
] as const

/** 135, which some codecs round to an even number. */
const SMALLER = /^13[456]p$/

test('a viewer of simulcast chooses a layer in the menu, gets it, and leaves it to the bandwidth again', async () => {
  const encodings = [
    { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: 100_000 },
    { rid: 'f', maxBitrate: 500_000 },
  ]
  await broadcast('open-layers', encodings)
  const site = await watching({ stream: named('open-layers') })
  const { page } = site
  const width = () => site.evaluate<number>('video(0).videoWidth')
  await expect.poll(width).toBe(480)
  await page.getByRole('button', { name: 'Settings' }).click()
  const choice = (label: string | RegExp) => page.getByRole('group', { name: 'Quality' }).getByLabel(label)
  await choice(SMALLER).waitFor()
  expect(await choice('Automatic').isChecked()).toBe(true)
  await site.shoot('menu')
  // The menu closes with the choice.
  await choice(SMALLER).click()
  await expect.poll(width).toBe(240)
  await page.getByRole('button', { name: 'Settings' }).click()
  await choice(SMALLER).waitFor()
  await expect.poll(() => choice(SMALLER).isChecked()).toBe(true)
  await choice('Automatic').click()
  await expect.poll(width).toBe(480)
  expect(await site.violations()).toEqual([])
})

test('statistics and the list of keys open by key and by menu, close with Escape, and give the focus back', async () => {
  await broadcast('open-stats')
  const site = await watching({ stream: named('open-stats') })
  const { page } = site
  await site.evaluate(`(([list]) => {
    globalThis.said = []
    new MutationObserver(() => said.push(list.textContent)).observe(list, { childList: true, subtree: true })
  })(part(0, '.statistics dl'))`)
  await site.evaluate("part(0, '.frame')[0].focus()")
  await page.keyboard.press('i')
  const rows = () =>
    site.evaluate<Record<string, string>>(
      "Object.fromEntries([...part(0, '.statistics dt')].map((term) => [term.textContent, term.nextSibling.textContent]))",
    )
  await expect.poll(async () => (await rows())['Behind the server']).toMatch(/^\d+\.\d\d s$/)
  await expect.poll(async () => (await rows())['Bitrate']).toMatch(/^\d+ kbit\/s$/)
  await expect.poll(async () => (await rows())['Frames']).toMatch(/^[1-9]\d* per second$/)
  // The first look has nothing to compare with.
  expect(await site.evaluate("said.filter((text) => text.includes('Frames0 per'))")).toEqual([])
  // A page that was not run for seconds has no figures for a moment.
  await expect.poll(rows).toEqual({
    Protocol: 'WebRTC (WHEP)',
    Size: expect.stringMatching(/^\d+ × \d+$/),
    Frames: expect.any(String),
    Codecs: 'H264, opus',
    Bitrate: expect.any(String),
    'Behind the server': expect.any(String),
    Buffer: expect.stringMatching(/^\d\.\d\d s$/),
    'Lost packets': expect.stringMatching(/^\d+\.\d %$/),
    'Round trip': expect.stringMatching(/^\d+ ms$/),
    'Dropped frames': expect.stringMatching(/^\d+$/),
  })
  // By the times of the server's reports, not by an estimate.
  expect(
    await site.evaluate(`leaks.peers[0].getStats().then((all) => {
    const video = [...all.values()].find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video')
    const sent = all.get(video.remoteId)
    return [video.estimatedPlayoutTimestamp, sent?.remoteTimestamp, sent?.timestamp].map((time) => typeof time)
  })`),
  ).toEqual(['number', 'number', 'number'])
  // The chip says it too.
  await expect
    .poll(() => site.evaluate<string>("part(0, '.chip')[0].textContent"))
    .toMatch(/^WebRTC · \d+p · \d+\.\d s behind$/)
  for (const [width, height] of SIZES) {
    await site.resize(width, height)
    await site.shoot(`statistics-${width}`)
  }
  await page.keyboard.press('Escape')
  expect(await site.evaluate("part(0, '.statistics')[0].hidden")).toBe(true)
  expect(await site.evaluate("part(0, '.frame')[0].matches(':focus')")).toBe(true)
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Keyboard' }).click()
  const help = page.getByRole('group', { name: 'Keyboard' })
  expect(await help.locator('dt').count()).toBe(9)
  for (const [width, height] of SIZES) {
    await site.resize(width, height)
    await site.shoot(`keyboard-${width}`)
  }
  await help.getByRole('button', { name: 'Close' }).click()
  expect(await help.isVisible()).toBe(false)
  await page.keyboard.press('?')
  expect(await help.isVisible()).toBe(true)
  // The other takes its place.
  await page.keyboard.press('i')
  expect(await help.isVisible()).toBe(false)
  await page.keyboard.press('i')
  expect(await site.evaluate("part(0, '.sheet:not([hidden])').length")).toBe(0)
  expect(await site.violations()).toEqual([])
})

test('over HLS the statistics have what HLS knows', async () => {
  await broadcast('open-hls')
  const site = await watching({ stream: named('open-hls'), mode: 'hls' })
  await site.evaluate("part(0, '.frame')[0].focus()")
  await site.page.keyboard.press('i')
  const text = () => site.evaluate<string>("part(0, '.statistics dl')[0].innerText.replaceAll('\\n', ' ')")
  const sent = String.raw`Protocol HLS Size \d+ × \d+ Frames \d+ per second Codecs avc1.* Bitrate \S+(?: kbit/s)?`
  const late = String.raw`Behind the server \d\.\d\d s Buffer \d\.\d\d s`
  const lost = String.raw`Lost packets – Round trip – Dropped frames \d+`
  await expect.poll(text).toMatch(new RegExp(`^${sent} ${late} ${lost}$`))
  expect(await site.violations()).toEqual([])
})

test('the first tap on a phone shows the controls that were hidden, and presses none of them', async () => {
  await broadcast('open-phone')
  const page = await stage.browser.newPage({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })
  onTestFinished(() => page.close())
  await page.clock.install()
  await page.goto(`${stage.server.url}/watch/${named('open-phone')}?muted`)
  const state = () => page.evaluate<string>("document.querySelector('sluice-player').state")
  await expect.poll(state).toBe('playing')
  await page.locator('.frame.idle').waitFor()
  // They are shown for three seconds.
  await page.clock.pauseAt(Date.now() + 60_000)
  const { x = 0, y = 0 } = (await page.locator('button.play').boundingBox()) ?? {}
  const devtools = await page.context().newCDPSession(page)
  await page.evaluate("void (clicked = new Promise((resolve) => addEventListener('click', resolve, true)))")
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: x + 9, y: y + 9 }] })
  await page.locator('.frame:not(.idle)').waitFor()
  // The finger stays until a press would be one.
  const presses = () =>
    page.evaluate(
      "getComputedStyle(document.querySelector('sluice-player').shadowRoot.querySelector('.bar')).pointerEvents",
    )
  await expect.poll(presses).toBe('auto')
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await page.evaluate('clicked')
  expect(await state()).toBe('playing')
  await page.locator('button.play').tap()
  await expect.poll(state).toBe('idle')
})

test('an address that is none is said, and stops no script', async () => {
  const stream = named('open-none')
  const site = await PlayerPage.open(stage, [{ stream, server: 'https://' }, { src: 'https://' }])
  onTestFinished(() => site.page.close())
  expect([await site.text(0), await site.text(1)].map((text) => text.slice(0, 18))).toEqual(
    Array(2).fill('No stream is named'),
  )
})
