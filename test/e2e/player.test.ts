import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { pace } from '../support/until.ts'
import type { Peer } from './peer.ts'
import { blocksOf, readPages } from '../support/markdown.ts'
import { buildPlayer, PlayerPage, type PlayerPageOptions } from './playerPage.ts'
import { setStage, type Stage, type Token } from './sluice.ts'

let stage: Stage
beforeAll(async () => {
  buildPlayer()
  stage = await setStage()
})
afterAll(() => stage.close())

const anyName = [{ streamName: '.*', isRegex: true }]

let open: Token
let secured: Token
beforeEach(async () => {
  open ??= await stage.token('publish', { streams: [{ streamName: 'open.*', isRegex: true }] })
  secured ??= await stage.token('publish', { streams: [{ streamName: 'club' }], subscribeRequiresAuth: true })
})

async function broadcast(stream: string, { token }: Token = open): Promise<Peer> {
  const peer = await stage.peer()
  onTestFinished(() => peer.close())
  expect(await peer.publish({ url: stage.whip(stream), token, codec: 'h264' })).toBe('ok')
  return peer
}

/** A page with players that closes with the test. */
async function watching(players: readonly object[], options?: PlayerPageOptions): Promise<PlayerPage> {
  const site = await PlayerPage.open(stage, players, options)
  onTestFinished(() => site.page.close())
  return site
}

const named = (stream: string) => `${stage.accountId}/${stream}`

async function viewersOf(stream: string): Promise<{ id: string; protocol: string }[]> {
  const { data } = await stage.api('GET', '/api/sessions')
  const all = data as { id: string; protocol: string; action: string; streamName: string }[]
  return all.filter((one) => one.action === 'view' && one.streamName === stream)
}

test('two players on a page of another origin, under a strict policy: each waits, begins, and follows its publisher', async () => {
  const site = await watching([{ stream: named('open-one') }, { stream: named('open-two') }])
  await site.reaches('waiting: stream_not_published', 0)
  expect(await site.text(0)).toBe('This stream starts soon|There is no broadcast right now. It begins here by itself.')
  const [one] = await Promise.all([broadcast('open-one'), broadcast('open-two')])
  await site.reaches('playing', 0)
  await site.reaches('playing', 1)
  await Promise.all([site.plays(0), site.plays(1)])
  expect(await site.evaluate('players().map(({ delivery }) => delivery)')).toEqual(['whep', 'whep'])
  await one.stop()
  await site.reaches('ended: stream_not_published', 0)
  expect(await site.text(0)).toContain('If it continues, it begins here by itself.')
  await site.plays(1)
  await broadcast('open-one')
  await site.reaches('playing', 0)
  await site.plays(0)
  expect(await site.violations()).toEqual([])
})

test('without UDP and TCP for media the player takes HLS, which is loaded only then', async () => {
  await broadcast('open-blocked')
  const site = await watching([{ stream: named('open-blocked') }], { blocked: true })
  const requested: string[] = []
  site.page.on('request', (request) => requested.push(new URL(request.url()).pathname))
  await site.reaches('playing')
  await site.plays()
  expect(await site.evaluate('players()[0].delivery')).toBe('hls')
  expect(requested).toContain('/player/hls.light.js')
  await expect.poll(() => site.evaluate<string>("part(0, '.chip')[0].textContent")).toMatch(/^HLS · 180p · \d\.\d s/)
  await expect.poll(async () => (await viewersOf('open-blocked')).map(({ protocol }) => protocol)).toEqual(['hls'])
  expect(await site.violations()).toEqual([])
  // The viewer chooses what works elsewhere, and comes back.
  await site.evaluate("players()[0].setAttribute('mode', 'whep')")
  await site.reaches('refused: not_connected')
  expect(await site.text()).toMatch(/^No connection for the video\|/)
  await site.evaluate("players()[0].setAttribute('mode', 'hls')")
  await site.plays()
})

test('a stream over HLS that the browser cannot decode is named at once, with its codecs', async () => {
  const token = await stage.token('publish', { streams: [{ streamName: 'hevc' }], hlsCodecs: 'source' })
  const recorded = await encoded({ video: 'hevc', audio: 'aac', seconds: 4, size: '320x180' })
  const url = stage.rtmp('hevc', token.token)
  const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
  onTestFinished(() => publisher.end())
  const site = await watching([{ stream: named('hevc'), mode: 'hls' }])
  await site.reaches('refused: codec_not_supported')
  expect(await site.text()).toMatch(/^This browser cannot decode the stream\|.*hvc1/)
})

test('over HLS a player whose media takes longer than it may be behind shows a picture, and does not skip for ever', async () => {
  await broadcast('open-slow')
  const site = await watching([{ stream: named('open-slow'), mode: 'hls', autoplay: 'off' }])
  await site.page.route(/\/hls\/~.+\.(mp4|m4s)/, async (route) => {
    // It begins 1.5 s behind, and more than six are too much.
    for (let heldMs = 0; heldMs < 5500; heldMs += 100) await pace(100)
    await route.continue().catch(() => undefined)
  })
  await site.page.evaluate('document.querySelector("sluice-player").play()')
  await site.reaches('playing')
  await site.page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('sound alone is named, and pictures without sound have no switch for it, over both protocols', async () => {
  for (const [stream, wanted] of [
    ['open-sound', { audio: 'aac', seconds: 4 }],
    ['open-pictures', { video: 'h264', seconds: 4, size: '320x180' }],
  ] as const) {
    const messages = enhancedMessages(await encoded(wanted))
    const publisher = await RtmpPublisher.start(stage.rtmp(stream, open.token), systemClock, messages)
    onTestFinished(() => publisher.end())
  }
  const players = ['open-sound', 'open-pictures'].flatMap((stream) =>
    (['whep', 'hls'] as const).map((mode) => ({ stream: named(stream), mode })),
  )
  const site = await watching(players)
  const chip = (at: number) => site.evaluate<string>(`part(${at}, '.chip')[0].textContent`)
  const hasSwitch = (at: number) => site.evaluate(`part(${at}, '.mute')[0].offsetWidth > 0`)
  for (const at of [0, 1]) {
    await expect.poll(() => site.text(at)).toBe('Sound only|This broadcast has no picture.')
    await expect.poll(() => chip(at)).toMatch(/^(WebRTC|HLS)/)
    expect(await hasSwitch(at)).toBe(true)
  }
  for (const at of [2, 3]) {
    await expect.poll(() => chip(at)).toMatch(/ · 180p · No sound/)
    expect([await hasSwitch(at), await site.text(at)]).toEqual([false, ''])
  }
  await site.shoot('sound-alone')
})

test('a refusal is shown in plain words with the words of the server, and a new token begins at once', async () => {
  await broadcast('club', secured)
  const disabled = await stage.token('subscribe', { streams: anyName })
  await stage.api('PUT', `/api/subscribe_token/${disabled.id}`, { isActive: false })
  const valid = await stage.token('subscribe', { streams: anyName, allowedOrigins: ['site.test'] })
  // The others differ in a table only: test/web/client.
  const expected = [
    ['', 'You need a link of your own', '401 · Unauthorized: Invalid token'],
    [disabled.token, 'Your link is switched off', '401 · Unauthorized: Token disabled'],
  ] as const
  const site = await watching(expected.map(([token]) => ({ stream: named('club'), token })))
  for (const [at, [, title, detail]] of expected.entries()) {
    await expect.poll(() => site.text(at)).toMatch(new RegExp(`^${title}\\|.+\\|${detail}$`))
  }
  await site.evaluate(`players()[0].setAttribute('token', '${valid.token}')`)
  await site.reaches('playing', 0)
  await site.plays(0)
  // An end by the server is noticed at once, with its reason.
  await stage.api('DELETE', `/api/subscribe_token/${valid.id}`)
  await site.reaches('refused: invalid_token', 0)
  expect(await site.states(0)).toContain('interrupted: ended_by_server')
  // Over HLS the reasons are the same.
  await site.evaluate("players()[1].setAttribute('mode', 'hls')")
  await site.reaches('refused: token_disabled', 1)
  expect(await site.violations()).toEqual([])
})

test.for([
  [320, 180, ['P']],
  [300, 169, ['P']],
  [240, 135, []],
  [200, 112, []],
] as const)(
  'in %i by %i pixels a refusal is a line, what to do where that has room, and a button; nothing is cut or covered',
  async ([width, height, more]) => {
    await broadcast('club', secured)
    const site = await watching([{ stream: named('club') }, { stream: named('club'), 'ask-token': '' }])
    await site.evaluate(
      `players().forEach((one) => Object.assign(one.style, { width: '${width}px', height: '${height}px' }))`,
    )
    for (const at of [0, 1]) {
      await site.reaches('refused: invalid_token', at)
      const shown = await site.evaluate<{ name: string; text: string; isWhole: boolean; box: number[] }[]>(`(() => {
      const { left, top } = players()[${at}].getBoundingClientRect()
      const inside = (one) => one.getBoundingClientRect()
      return [...part(${at}, '.title, .message p:not(.title), .detail, .badge, .chip, button, input')]
        .filter((one) => inside(one).width > 0)
        .map((one) => ({ name: one.className || one.type || one.tagName, text: one.textContent,
          isWhole: one.scrollHeight <= one.clientHeight,
          box: [inside(one).left - left, inside(one).top - top, inside(one).right - left, inside(one).bottom - top] }))
    })()`)
      const names = shown.map(({ name }) => name)
      expect(names).toEqual(['title', ...more, ...(at === 0 ? ['solid'] : ['text', 'solid'])])
      expect(shown.filter(({ isWhole }) => !isWhole)).toEqual([])
      expect(shown[0]?.text).toBe('You need a link of your own')
      for (const { name, box } of shown) {
        const [left = 0, top = 0, right = 0, bottom = 0] = box
        expect([left >= 0, top >= 0, right <= width, bottom <= height], `${name} ${box.join()}`).toEqual([
          true,
          true,
          true,
          true,
        ])
        for (const other of shown.filter((one) => one.name !== name)) {
          const [l = 0, t = 0, r = 0, b = 0] = other.box
          expect(right <= l || r <= left || bottom <= t || b <= top, `${name} over ${other.name}`).toBe(true)
        }
      }
    }
  },
)

test('a player that is removed leaves no connection, session, timer or listener; one that moves goes on', async () => {
  await broadcast('open-removed')
  const site = await watching([{ stream: named('open-removed') }])
  await site.reaches('playing')
  await site.evaluate(
    "document.body.append(document.createElement('div')), document.querySelector('div').append(players()[0])",
  )
  await site.plays()
  expect(await site.evaluate('leaks.peers.length')).toBe(1)
  expect(await viewersOf('open-removed')).toHaveLength(1)
  await site.evaluate('globalThis.gone = video(0), players()[0].remove()')
  await expect.poll(() => viewersOf('open-removed')).toEqual([])
  expect(await site.evaluate('leaks.peers.map(({ connectionState }) => connectionState)')).toEqual(['closed'])
  expect(await site.evaluate('gone.srcObject')).toBe(null)
  await expect.poll(() => site.evaluate('leaks.timers.size')).toBe(0)
})

test('of two players in a page one is removed while it connects, however far it came: the other plays on', async () => {
  await Promise.all([broadcast('open-stays'), broadcast('open-goes')])
  const site = await watching([{ stream: named('open-stays') }])
  await site.reaches('playing')
  await site.evaluate(`(async () => {
    for (const mode of ['whep', 'hls'])
      for (const ms of [0, 5, 20, 40, 80, 160, 320]) {
        const player = document.createElement('sluice-player')
        player.setAttribute('stream', ${JSON.stringify(named('open-goes'))})
        player.setAttribute('mode', mode)
        document.body.append(player)
        await new Promise((go) => setTimeout(go, ms))
        player.remove()
      }
  })()`)
  await expect.poll(async () => (await viewersOf('open-goes')).length).toBe(0)
  const open = () => site.evaluate("leaks.peers.filter(({ connectionState }) => connectionState !== 'closed').length")
  expect(await open()).toBe(1)
  await site.plays()
  expect(await site.states()).not.toContain('interrupted')
  expect(await site.violations()).toEqual([])
})

test('after a change of the network the player restarts ICE in the same session', async () => {
  await broadcast('open-moving')
  const site = await watching([{ stream: named('open-moving') }])
  await site.reaches('playing')
  const ids = async () => (await viewersOf('open-moving')).map(({ id }) => id)
  const before = await ids()
  const patched = site.page.waitForResponse((response) => response.request().method() === 'PATCH')
  await site.evaluate("dispatchEvent(new Event('online'))")
  expect((await patched).status()).toBe(200)
  await site.plays()
  expect(await ids()).toEqual(before)
})

test('where audio needs a click the video plays without it, and a button turns it on; keys control the player', async () => {
  await broadcast('open-silent')
  const site = await watching([{ stream: named('open-silent') }], { needsClick: true })
  await site.reaches('playing')
  await site.plays()
  expect(await site.evaluate('video(0).muted')).toBe(true)
  await site.page.getByRole('button', { name: 'Turn sound on' }).first().click()
  expect(await site.evaluate('video(0).muted')).toBe(false)
  await site.evaluate("part(0, '.frame')[0].focus()")
  await site.page.keyboard.press('m')
  expect(await site.evaluate('video(0).muted')).toBe(true)
  await site.page.keyboard.press('m')
  await site.page.keyboard.press('ArrowDown')
  expect(await site.evaluate('video(0).volume')).toBeCloseTo(0.9)
  await site.page.keyboard.press('f')
  await expect.poll(() => site.evaluate('document.fullscreenElement === players()[0]')).toBe(true)
  await site.page.keyboard.press('f')
  await expect.poll(() => site.evaluate('document.fullscreenElement')).toBe(null)
  await site.page.keyboard.press(' ')
  await site.reaches('idle')
  await expect.poll(() => viewersOf('open-silent')).toEqual([])
  await site.page.getByRole('button', { name: 'Watch' }).first().click()
  await site.reaches('playing')
})

test('the page at /watch takes its token from the fragment, asks for one without, and only allowed sites embed it', async () => {
  await broadcast('club', secured)
  const { token } = await stage.token('subscribe', { streams: anyName })
  const page = await stage.browser.newPage()
  onTestFinished(() => page.close())
  const complaints: string[] = []
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  const address = `${stage.server.url}/watch/${named('club')}`
  await page.goto(address)
  const player = page.locator('sluice-player')
  await player.locator('.title', { hasText: 'You need a link of your own' }).waitFor()
  expect(await page.title()).toBe('club')
  // The browser's own line about the answer 401.
  expect(complaints.splice(0).filter((line) => !line.includes('401'))).toEqual([])
  await page.getByPlaceholder('Paste a token').fill('wrong')
  await page.keyboard.press('Enter')
  await player.locator('.title', { hasText: 'Your link is not valid' }).waitFor()
  // The field has the focus again, the same text is tried again, and another one replaces it.
  const tried = page.waitForResponse(/api.whep/)
  await page.keyboard.press('Enter')
  await tried
  await player.locator('input[name=token]:focus').waitFor()
  await page.keyboard.type(token)
  await page.keyboard.press('Enter')
  await player.locator('.frame[data-state=playing]').waitFor()
  expect(complaints.splice(0).filter((line) => !line.includes('401'))).toEqual([])
  await page.waitForURL(`${address}#token=${token}`)
  await page.reload()
  await player.locator('.frame[data-state=playing]').waitFor()
  expect(complaints).toEqual([])
  const allowed = await stage.token('subscribe', {
    streams: anyName,
    allowedOrigins: ['site.test', new URL(stage.server.url).host],
  })
  const body = `<iframe src="${address}?token=${allowed.token}" allow="autoplay"></iframe>`
  const site = (host: string) => `${stage.origin(host)}/site?${new URLSearchParams({ body }).toString()}`
  await page.goto(site('elsewhere.test'))
  await expect.poll(() => complaints.join('|')).toContain('frame-ancestors')
  await page.goto(site('site.test'))
  await page.frameLocator('iframe').locator('sluice-player .frame[data-state=playing]').waitFor()
})

test('the samples of the guides play', async () => {
  await broadcast('open-sample')
  const { token } = await stage.token('publish', { streams: [{ streamName: 'open-camera' }] })
  const [embed, , watch, publish] = ['embed-the-player', 'client-library'].flatMap((page) =>
    samplesOf(`docs/guides/${page}.md`),
  )
  const page = await stage.browser.newPage()
  onTestFinished(() => page.close())
  const site = (body = '') => `${stage.origin('localhost')}/site?${new URLSearchParams({ body }).toString()}`
  const adapted = (sample = '', stream = 'open-sample') =>
    sample
      .replaceAll('https://live.example.com', stage.server.url)
      .replaceAll('a1b2c3/show', named(stream))
      .replaceAll('whip/show', `whip/${stream}`)
      .replaceAll('…', token)
  await page.goto(site(adapted(embed)))
  await page.locator('sluice-player .frame[data-state=playing]').waitFor()
  await page.goto(site(adapted(watch)))
  await expect.poll(() => page.evaluate('document.querySelector("video").videoWidth')).toBeGreaterThan(0)
  await page.goto(site(adapted(publish, 'open-camera')))
  const said = page.waitForEvent('console', (line) => line.text().startsWith('viewers watch'))
  await page.click('button')
  expect((await said).text()).toBe(`viewers watch ${named('open-camera')}`)
})

const samplesOf = (path: string): string[] =>
  readPages()
    .filter((page) => page.path === path)
    .flatMap(({ text }) => blocksOf(text))
    .flatMap(({ language, code }) => (language === 'html' ? [code] : []))
