import { runInNewContext } from 'node:vm'
import type { LoaderConfig } from 'hls.js'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepPushing } from '../hls/scenarios.ts'
import { endChildren } from '../support/channels.ts'
import { blocksOf, readPages } from '../support/markdown.ts'
import { buildPlayer, PlayerPage } from './playerPage.ts'
import { setStage, type Stage } from './sluice.ts'

const SOON = { timeout: 90_000, interval: 100 }

/** What the guide to players tells pages with hls.js to do. */
const GUIDE = readPages()
  .filter(({ path }) => path.endsWith('/hls-player.md'))
  .flatMap(({ text }) => blocksOf(text))
  .map(({ code }) => code)
  .find((code) => code.includes('playlistLoadPolicy'))

let stage: Stage
beforeAll(async () => {
  buildPlayer()
  stage = await setStage()
})
afterAll(async () => {
  endChildren()
  await stage.close()
})

/** A broadcast and a channel, whose publishers connect again when they are cut. Returns the master playlists. */
async function broadcasts(): Promise<[string, string]> {
  const { token } = await stage.token('publish', { streams: [{ streamName: 'show' }] })
  const ladder = await stage.v2('POST', '/abr', {
    name: 'small',
    video: [{ width: 320, height: 180, bitrate: 300_000 }],
  })
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: ladder.id } }] }],
    distributions: [{ name: 'Web' }],
  })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  for (const url of [stage.rtmp('show', token), stage.ingest(channel.ingests[0].streamKey)]) keepPushing('plain', url)
  return [stage.hls('show'), `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`]
}

/** A viewer: how far it has played and buffered, in seconds of the stream, and its fatal errors. */
interface Viewer {
  readonly at: () => Promise<{ now: number; bufferedTo: number; isPlaying: boolean }>
  readonly errors: () => Promise<string[]>
}

const STATE = `(() => {
  const { currentTime: now, buffered, paused, videoWidth } = VIDEO
  const bufferedTo = buffered.length === 0 ? 0 : buffered.end(buffered.length - 1)
  return { now, bufferedTo, isPlaying: !paused && videoWidth > 0 }
})()`

async function withHlsJs(url: string): Promise<Viewer> {
  await expect.poll(async () => (await fetch(url)).status, SOON).toBe(200)
  const page: Page = await stage.browser.newPage()
  await page.goto(`${stage.origin('page.test')}/players.html`)
  await page.waitForFunction('globalThis.players !== undefined')
  await page.evaluate(`players.play('hlsjs', '${url}', ${JSON.stringify(GUIDE)})`)
  return {
    at: () => page.evaluate(STATE.replace('VIDEO', "document.querySelector('#hlsjs')")),
    errors: async () => (await page.evaluate<{ errors: string[] }>("players.seen('hlsjs')")).errors,
  }
}

async function withOurPlayer(): Promise<Viewer> {
  const page = await PlayerPage.open(stage, [{ stream: `${stage.accountId}/show`, mode: 'hls' }])
  return {
    at: () => page.evaluate(STATE.replace('VIDEO', 'video(0)')),
    errors: async () => (await page.states()).filter((state) => /^(refused|failed)/.test(state)),
  }
}

/** Of hls.js, with what the lines of the guide call. */
class SettingsOnly {
  static readonly Events = {}
  readonly config: Record<'playlistLoadPolicy' | 'fragLoadPolicy', { default: LoaderConfig }>

  constructor(config: SettingsOnly['config']) {
    this.config = config
  }

  on(): void {
    // Nothing happens here.
  }
}

test('the lines of the guide try again until the server refuses the viewer', () => {
  const { config } = runInNewContext(`${GUIDE}; hls`, { Hls: SettingsOnly }) as SettingsOnly
  for (const { default: policy } of [config.playlistLoadPolicy, config.fragLoadPolicy])
    for (const retry of [policy.errorRetry!, policy.timeoutRetry!]) {
      const tries = [0, 404, 503, 401, 403].map((code) =>
        retry.shouldRetry?.(retry, 1e6, false, { url: '', code }, false),
      )
      expect([retry.maxNumRetry, ...tries]).toEqual([Number.POSITIVE_INFINITY, true, true, true, false, false])
    }
})

test('viewers go on by themselves when the server is killed and starts again, in hls.js and in our player', async () => {
  const [feed, channel] = await broadcasts()
  const viewers = await Promise.all([withHlsJs(feed), withHlsJs(channel), withOurPlayer()])
  const plays = async ({ at }: Viewer): Promise<void> => {
    await expect.poll(async () => (await at()).isPlaying, SOON).toBe(true)
    const { now } = await at()
    await expect.poll(async () => (await at()).now, SOON).toBeGreaterThan(now + 3)
  }
  await Promise.all(viewers.map(plays))

  const start = await stage.killServer()
  const before = await Promise.all(viewers.map(({ at }) => at()))
  await start()
  const resumed = viewers.map(async ({ at }, index) => {
    const { bufferedTo } = before[index] ?? { bufferedTo: 0 }
    // Our player begins again, with a time of its own.
    const isNew = ({ now, isPlaying }: Awaited<ReturnType<typeof at>>): boolean =>
      isPlaying && (now > bufferedTo + 0.5 || (now > 0.5 && now < (before[index]?.now ?? 0) - 1))
    await expect.poll(at, SOON).toSatisfy(isNew)
  })
  await Promise.all(resumed)
  expect(await Promise.all(viewers.map(({ errors }) => errors()))).toEqual([[], [], []])
  await Promise.all(viewers.map(plays))
}, 240_000)
