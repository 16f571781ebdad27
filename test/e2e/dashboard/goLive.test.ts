import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { H264_AAC } from '../../media/mpegts/clips.ts'
import { clipFile } from '../../support/clips.ts'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

let page: Page
beforeEach(async () => {
  page = await dashboard.open('/live')
})

const figure = (name: string) => page.textContent(`.figs div:has(dt:text-is("${name}")) dd`)
const isLive = () => page.waitForSelector('.screen .st[data-s=live]')

/** The sessions that broadcast a stream, as the API lists them. */
async function publishers(stream: string): Promise<{ id: string }[]> {
  const { data } = await dashboard.api('GET', `/api/sessions?action=publish&streamName=${stream}`)
  return data as { id: string }[]
}

test('without a token the page says how to make one', async () => {
  await page.waitForSelector('text=No token yet')
  expect(await page.getAttribute('.empty a', 'href')).toBe('#/tokens/publish/new')
})

test('the test pattern goes on the air with the chosen settings, shows its figures, and ends', async () => {
  await dashboard.token('publish', { label: 'Studio 1', streams: [{ streamName: 'morning' }] })
  await page.reload()
  await page.waitForSelector('video')
  await expect.poll(() => page.getAttribute('.meter', 'data-level').then(Number)).toBeGreaterThan(-60)
  await page.click('summary')
  await page.selectOption('text=Resolution', '480p')
  await page.selectOption('text=Codec', 'vp8')
  await page.fill('text=Bitrate', 'much')
  expect(await page.textContent('.err')).toBe('A number from 0.1 to 50')
  expect(await page.isDisabled('button:has-text("Go live as morning")')).toBe(true)
  await page.fill('text=Bitrate', '0.8')
  expect(await axe(page)).toEqual([])
  await page.click('button:has-text("Go live as morning")')
  await isLive()
  // The video has the chosen size. On a busy machine the browser sends a smaller one.
  expect(await page.evaluate(`document.querySelector('video').videoHeight`)).toBe(480)
  await expect.poll(() => figure('Video')).toMatch(/^\d+p · \d+ fps$/)
  await expect.poll(() => figure('Codec')).toBe('VP8 Opus')
  await expect.poll(() => figure('Sending')).toMatch(/bit\/s$/)
  await page.waitForSelector('.plot-canvas canvas')
  expect(await axe(page)).toEqual([])

  const viewer = await dashboard.peer()
  expect(await viewer.watch({ url: dashboard.whep('morning') })).toBe('ok')
  await expect.poll(() => figure('Viewers')).toBe('1')

  // Other pages do not end it, and say that it goes on.
  await page.click('.nav a:has-text("Recordings")')
  await page.click('.side a:has-text("On air: morning")')
  await isLive()
  expect(await publishers('morning')).toHaveLength(1)

  await page.click('button:has-text("End the broadcast")')
  expect(await page.textContent('dialog')).toContain('1 viewer watches.')
  await page.click('dialog button:has-text("End the broadcast")')
  await page.waitForSelector('button:has-text("Go live as morning")')
  await expect.poll(() => publishers('morning')).toEqual([])
})

test('the camera is opened when it is chosen, and the source changes while on the air', async () => {
  await page.click('.seg >> text=Camera')
  await page.waitForSelector('label:text-is("Microphone")')
  await page.click('button:has-text("Go live as morning")')
  await isLive()
  await page.click('.seg >> text=Test')
  await page.waitForSelector('label:text-is("Microphone")', { state: 'detached' })
  await expect.poll(() => figure('Video')).toMatch(/^\d+p · \d+ fps$/)
  expect(await publishers('morning')).toHaveLength(1)
  await page.click('button:has-text("Mute")')
  await expect.poll(() => page.getAttribute('.meter', 'data-level').then(Number)).toBe(-60)
})

test('a camera that was refused is asked for again, without a microphone where there is none, and its loss is said', async () => {
  await page.addInitScript(`
    const { mediaDevices } = navigator
    const open = mediaDevices.getUserMedia.bind(mediaDevices)
    mediaDevices.getUserMedia = (wanted) => {
      window.wanted = wanted
      return window.isAllowed ? open({ video: true }) : Promise.reject(new DOMException('', 'NotAllowedError'))
    }
    mediaDevices.enumerateDevices = () => Promise.resolve([{ kind: 'videoinput', deviceId: '' }])
    mediaDevices.getDisplayMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'))`)
  await page.reload()
  await page.click('.seg >> text=Screen')
  await page.getByText('Nothing was chosen to share').waitFor()
  await page.click('.seg >> text=Camera')
  await page.getByText('The browser did not allow it.').waitFor()
  await page.evaluate('window.isAllowed = true')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.waitForSelector('label:text-is("Camera"), label:text-is("Camera ")')
  expect(await page.evaluate('window.wanted.audio')).toBe(false)
  await page.click('button:has-text("Go live as morning")')
  await isLive()
  await page.evaluate(`document.querySelector('video').srcObject.getVideoTracks()[0].dispatchEvent(new Event('ended'))`)
  await page.getByText('Viewers see the last picture.').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('Viewers see the last picture.').waitFor({ state: 'detached' })
  expect(await publishers('morning')).toHaveLength(1)
  await page.click('button:has-text("End the broadcast")')
})

test('an end by the server is shown with its reason', async () => {
  await page.click('button:has-text("Go live as morning")')
  await isLive()
  const [session] = await publishers('morning')
  await dashboard.api('DELETE', `/api/sessions/${session?.id}`)
  await page.waitForSelector('.notice[data-s=error]:has-text("The server ended the broadcast.")')
  await page.waitForSelector('button:has-text("Go live as morning")')
})

test('a token whose origins leave out the dashboard says so, and takes it in', async () => {
  const { id } = await dashboard.token('publish', {
    label: 'Match day',
    streams: [{ streamName: 'match' }],
    allowedOrigins: ['riverside.example'],
  })
  await page.goto(`${dashboard.home}#/live?token=${id}`)
  await page.reload()
  const { origin } = new URL(dashboard.home)
  await page.waitForSelector(`text=This token does not allow broadcasts from ${origin}.`)
  await page.click('button:has-text("Go live as match")')
  await page.waitForSelector('.notice:has-text("Unauthorized: Origin not allowed")')
  await page.click(`button:has-text("Add ${origin}")`)
  await page.waitForSelector(`text=${origin} added`)
  const { data } = await dashboard.api('GET', `/api/publish_token/${id}`)
  expect(data.allowedOrigins).toEqual(['riverside.example', origin])
  await page.click('button:has-text("Go live as match")')
  await isLive()
})

test('the demo page leads a user here with the stream of its address, and to the page of a stream', async () => {
  await page.goto(`${dashboard.server.url}/demo?stream=morning`)
  await page.waitForURL(`${dashboard.home}#/live?stream=morning`)
  // The newest token, of match, would be offered otherwise.
  await page.waitForSelector('button:has-text("Go live as morning")')
  const watched = encodeURIComponent(`${dashboard.accountId}/morning`)
  await page.goto(`${dashboard.server.url}/demo#watch=${watched}`)
  await page.waitForURL(`${dashboard.home}#/streams/morning`)
  await page.goto(`${dashboard.server.url}/demo#watch=another%2Fshow`)
  await page.waitForURL(`${dashboard.server.url}/watch/another/show`)
})

test('a publisher gets its addresses, as the server says how it is reached', async () => {
  const { data } = await dashboard.api('GET', '/api/server')
  await page.click('text=OBS or another program')
  await page.waitForSelector('.copy >> button:has-text("Show")')
  // The answer about the chosen token comes late. The page must not show the value of the one before meanwhile.
  const late = Promise.withResolvers<void>()
  const address = '**/api/publish_token/*'
  await page.route(address, (route) => late.promise.then(() => route.continue()))
  await page.selectOption('label:text-is("Token")', { label: 'Studio 1' })
  await page.waitForSelector('[aria-busy=true]')
  expect(await page.locator('.copy').count()).toBe(0)
  late.resolve()
  await page.click('.copy >> button:has-text("Show")')
  await page.unroute(address)
  const [server = '', token = ''] = await page.locator('.copy code').allTextContents()
  expect(server).toBe(`${data.addresses.base}/api/whip/morning`)
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: server, token, scale: 0.25 })).toBe('ok')
  await publisher.stop()
  await page.click('.seg >> text=RTMP')
  expect(await page.locator('.copy code').first().textContent()).toMatch(/^rtmp:\/\/127\.0\.0\.1:\d+\/v2\/pub$/)
  expect(await axe(page)).toEqual([])
})

test('what is copied for ffmpeg goes on the air as it is, over RTMP and SRT, encrypted too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-copied-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await copyFile(clipFile(H264_AAC.replace('-f mpegts', '-f mp4'), 'mp4'), join(folder, 'video.mp4'))
  await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()')
  const copied = async (what: string): Promise<string> => {
    const before = await clipboard()
    await page.getByRole('button', { name: `Copy ${what}`, exact: true }).click()
    await expect.poll(clipboard).not.toBe(before)
    return clipboard()
  }
  /** In a shell beside the file. Resolves when all of it was sent. */
  const run = async (command: string, seen: object): Promise<void> => {
    const ended = once(spawn('sh', ['-c', command], { cwd: folder, stdio: 'ignore' }), 'exit')
    const over = async () => (await dashboard.api('GET', '/api/broadcasts?streamName=main%20stage')).data as unknown[]
    const before = (await over()).length
    expect(await ended).toEqual([0, null])
    await expect.poll(async () => (await over()).length).toBe(before + 1)
    expect((await over())[0]).toMatchObject(seen)
  }
  const streams = [{ streamName: 'main stage' }]
  const { id } = await dashboard.token('publish', { label: 'Copied', streams, displaySrtPassphrase: true })
  await page.goto(`${dashboard.home}#/tokens/publish/${id}`)
  await page.getByText('Code', { exact: true }).click()
  await page.getByText('Show the value in the code').click()
  await run(await copied('ffmpeg over RTMP'), { protocol: 'rtmp' })
  await page.getByText('OBS, SRT', { exact: true }).click()
  const address = await copied('Server')
  expect(address).toContain('&passphrase=')
  // The server of the test has a free port in place of the one that it names.
  await run(`ffmpeg -re -i video.mp4 -c copy -f mpegts "${dashboard.srtPush(address)}"`, { protocol: 'srt' })
  await page.goto(`${dashboard.home}#/live?token=${id}`)
  await page.getByText('OBS or another program').click()
  await page.click('.seg >> text=RTMP')
  const line = `ffmpeg -re -i video.mp4 -c copy -f flv "${await copied('Server')}/${await copied('Stream key')}"`
  await run(line, { protocol: 'rtmp' })
})

test('addresses for a publisher whose token cannot be read say so, and come when it can', async () => {
  const address = '**/api/publish_token/*'
  // With an answer: after none the page would ask again by itself, as soon as it hears of the server.
  await page.route(address, (route) => route.fulfill({ status: 429, body: '' }))
  await page.click('text=OBS or another program')
  await page.waitForSelector('.notice[data-s=error] >> button')
  expect(await page.locator('.copy').count()).toBe(0)
  await page.unroute(address)
  await page.click('.notice[data-s=error] >> button')
  await page.waitForSelector('.copy >> button:has-text("Show")')
})

test('a stream goes live with a token that covers it, or not at all, and never as another stream', async () => {
  await dashboard.token('publish', { label: 'Any guest', streams: [{ streamName: 'guest-.*', isRegex: true }] })
  await dashboard.token('publish', { label: 'Newest', streams: [{ streamName: 'other' }] })
  await page.goto(`${dashboard.home}#/live?stream=guest-1`)
  await page.waitForSelector('button:has-text("Go live as guest-1")')
  expect(await page.locator('select >> option:checked').first().textContent()).toBe('Any guest')
  await page.goto(`${dashboard.home}#/live?stream=uncovered`)
  await page.waitForSelector('h2:text-is("No token may publish uncovered now")')
  expect(await page.locator('button:has-text("Go live as")').count()).toBe(0)
  expect(await axe(page)).toEqual([])
})

test('a token is found among many by a search, and the broadcast goes out as its stream', async () => {
  await dashboard.token('publish', { label: 'Harbour', streams: [{ streamName: 'harbour-cam' }] })
  for (let count = 0; count < 25; count++)
    await dashboard.token('publish', { label: `Later ${count}`, streams: [{ streamName: `later-${count}` }] })
  await page.goto(`${dashboard.home}#/live`)
  await page.reload()
  await page.waitForSelector('button:has-text("Go live as later-24")')
  await page.getByText(/The newest 20 of \d+ that may be used now/).waitFor()
  expect(await axe(page)).toEqual([])
  await page.getByRole('searchbox', { name: 'Search tokens' }).fill('harbour')
  await page.getByText('1 token matches.').waitFor()
  // What is found is not chosen by itself.
  expect(await page.locator('button:has-text("Go live as later-24")').count()).toBe(1)
  await page.selectOption('label:text-is("Token")', { label: 'Harbour' })
  await page.waitForSelector('button:has-text("Go live as harbour-cam")')
  // A stream that an old token covers goes live with it, however many came later.
  await page.goto(`${dashboard.home}#/live?stream=harbour-cam`)
  await page.reload()
  await page.waitForSelector('button:has-text("Go live as harbour-cam")')
})
