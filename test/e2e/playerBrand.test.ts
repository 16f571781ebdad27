import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { buildPlayer, PlayerPage } from './playerPage.ts'
import { setStage, type Stage, type Token } from './sluice.ts'

let stage: Stage
let open: Token
beforeAll(async () => {
  buildPlayer()
  stage = await setStage()
  open = await stage.token('publish', {
    streams: [{ streamName: 'open.*', isRegex: true }],
    enableThumbnails: true,
  })
})
afterAll(() => stage.close())

const named = (stream: string) => `${stage.accountId}/${stream}`

async function broadcast(stream: string): Promise<void> {
  const peer = await stage.peer()
  onTestFinished(() => peer.close())
  expect(await peer.publish({ url: stage.whip(stream), token: open.token, codec: 'h264' })).toBe('ok')
}

async function watching(attributes: object): Promise<PlayerPage> {
  const site = await PlayerPage.open(stage, [attributes])
  onTestFinished(() => site.page.close())
  return site
}

test('the thumbnail of the stream is the poster of a player that waits for a click, until it plays', async () => {
  await broadcast('open-poster')
  const thumbnail = `${stage.server.url}/hls/${named('open-poster')}/thumbnail.jpeg`
  await expect.poll(async () => (await fetch(thumbnail)).status).toBe(200)
  const site = await watching({ stream: named('open-poster'), autoplay: 'off', poster: '', heading: 'Harbour, live' })
  const posters = () => site.evaluate<number[]>("[...part(0, '.poster canvas')].map(({ width }) => width)")
  await expect.poll(posters).toEqual([expect.toSatisfy((width: number) => width > 100)])
  for (const [width, height] of [
    [200, 112],
    [1280, 720],
  ] as const) {
    await site.resize(width, height)
    await site.shoot(`poster-${width}`)
  }
  await site.page.getByRole('button', { name: 'Watch' }).first().click()
  await site.reaches('playing')
  expect(await posters()).toEqual([])
  // Paused, it has one again.
  await site.evaluate('players()[0].pause()')
  await expect.poll(async () => (await posters()).length).toBe(1)
  await site.evaluate("players()[0].removeAttribute('poster')")
  expect(await posters()).toEqual([])
  expect(await site.violations()).toEqual([])
})

test('heading and colour are shown, and an image from elsewhere without https is not requested', async () => {
  await broadcast('open-brand')
  const attributes = {
    stream: named('open-brand'),
    heading: 'Harbour <b>',
    color: '#ffb020',
    logo: 'http://cdn.test/logo.svg',
  }
  const site = await watching(attributes)
  const requested: string[] = []
  site.page.on('request', (request) => requested.push(request.url()))
  await site.reaches('playing')
  expect(await site.evaluate("part(0, '.heading')[0].textContent")).toBe('Harbour <b>')
  const accent = () => site.evaluate<string>("getComputedStyle(part(0, '.frame')[0]).getPropertyValue('--accent')")
  expect(await accent()).toBe('#ffb020')
  expect(await site.evaluate("part(0, '.logo')[0].hidden")).toBe(true)
  await site.shoot('brand')
  for (const wrong of ['red;background:url(//cdn.test)', 'url(//cdn.test)', '#12345'])
    await site.evaluate(`players()[0].setAttribute('color', '${wrong}')`)
  expect(await accent()).not.toContain('cdn')
  await site.evaluate("players()[0].setAttribute('poster', 'http://cdn.test/poster.jpeg')")
  expect(requested.filter((url) => url.includes('cdn.test'))).toEqual([])
  expect(await site.states()).toEqual(['connecting', 'playing'])
  expect(await site.violations()).toEqual([])
})

test('in 200 by 112 pixels nothing of a player that plays is cut or covered', async () => {
  await broadcast('open-small')
  const site = await watching({ stream: named('open-small'), heading: 'Harbour', share: '' })
  await site.resize(200, 112)
  await site.reaches('playing')
  await site.page.mouse.move(50, 50)
  const boxes = await site.evaluate<{ name: string; box: [number, number, number, number] }[]>(`(() => {
    const { left, top } = players()[0].getBoundingClientRect()
    return [...part(0, '.badge, .heading, .chip, .logo, button')]
      .map((one) => ({ name: one.className, rect: one.getBoundingClientRect() }))
      .filter(({ rect }) => rect.width > 0)
      .map(({ name, rect }) => ({ name, box: [rect.left - left, rect.top - top, rect.right - left, rect.bottom - top] }))
  })()`)
  expect(boxes.map(({ name }) => name)).toEqual(expect.arrayContaining(['badge', 'play', 'mute', 'fullscreen']))
  for (const { name, box } of boxes) {
    const [left, top, right, bottom] = box
    expect([name, left >= 0 && top >= 0 && right <= 200 && bottom <= 112]).toEqual([name, true])
    for (const { name: other, box: there } of boxes.filter((one) => one.name !== name)) {
      const isApart = right <= there[0] || there[2] <= left || bottom <= there[1] || there[3] <= top
      expect([name, other, isApart]).toEqual([name, other, true])
    }
  }
  await site.shoot('small')
})

test('the link and the embed code of an open stream are shared', async () => {
  await broadcast('open-shared')
  const { page } = await watching({ stream: named('open-shared'), share: '' })
  await page.locator('.frame[data-state=playing]').waitFor()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Share' }).click()
  const url = `${stage.server.url}/watch/${named('open-shared')}`
  const value = (label: string) => page.getByLabel(label, { exact: true }).inputValue()
  expect(await value('Link')).toBe(url)
  const code = await value('Embed code')
  expect(code).toBe(`<iframe src="${url}" allow="autoplay; fullscreen; picture-in-picture"></iframe>`)
})

test('the page at /watch has a heading, and shares its link without the token', async () => {
  await stage.token('publish', { streams: [{ streamName: 'club' }], subscribeRequiresAuth: true })
  const page = await stage.browser.newPage()
  onTestFinished(() => page.close())
  const token = 'f'.repeat(64)
  await page.goto(`${stage.server.url}/watch/${named('club')}#token=${token}`)
  await page.getByRole('main').getByRole('heading', { level: 1, name: 'club' }).waitFor()
  await page.locator('sluice-player .frame[data-state=refused]').waitFor()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Share' }).click()
  expect(await page.getByLabel('Link', { exact: true }).inputValue()).toBe(`${stage.server.url}/watch/${named('club')}`)
  expect(await page.getByLabel('Embed code', { exact: true }).isVisible()).toBe(false)
  await page.getByText('The link asks each of them for their own.').waitFor()
})

test('the player speaks the language of its page, and the page at /watch that of the browser', async () => {
  const context = await stage.browser.newContext({ locale: 'de-AT' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(`${stage.server.url}/watch/${named('open-german')}`)
  await page.getByText('Dieser Stream beginnt bald').waitFor()
  expect(await page.locator('html').getAttribute('lang')).toBe('de')
  await page.getByRole('button', { name: 'Einstellungen' }).click()
  await page.getByRole('button', { name: 'Statistik' }).click()
  await page.getByText('Verlorene Pakete').waitFor()

  // A page of a site names its language. The file of the other one may be gone after an update of the server.
  const site = await context.newPage()
  const body = `<sluice-player stream="${named('open-german')}"></sluice-player>`
  const html = (lang: string) =>
    `<!doctype html><html lang="${lang}">${body}<script type="module" src="${stage.server.url}/player.js"></script>`
  let lang = 'en'
  await site.route('**/page', (route) => route.fulfill({ contentType: 'text/html', body: html(lang) }))
  await site.goto(`${stage.server.url}/page`)
  await site.getByText('This stream starts soon').waitFor()
  lang = 'de'
  await site.reload()
  await site.getByText('Dieser Stream beginnt bald').waitFor()
  await site.route('**/player/wordsDe.js', (route) => route.abort())
  await site.reload()
  await site.getByText('This stream starts soon').waitFor()
})
