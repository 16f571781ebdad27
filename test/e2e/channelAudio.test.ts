import { afterAll, beforeAll, expect, test } from 'vitest'
import { endChildren, pushTones, TONE_PID } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { setStage, type Stage } from './sluice.ts'

const TRACKS = [
  { pid: TONE_PID, language: 'en', label: 'English' },
  { pid: TONE_PID + 1, language: 'de', label: 'Deutsch' },
]

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(async () => {
  endChildren()
  await stage.close()
})

/** The master playlist of a channel that plays. */
async function playing(): Promise<string> {
  const { id: abrLadderId } = await stage.v2('POST', '/abr', {
    name: 'small',
    video: [{ width: 160, height: 90, bitrate: 150_000 }],
  })
  const engines = [{ name: 'Main', quality: { abrLadderId } }]
  const ingests = [{ name: 'Studio', type: 'srt-push', tracks: { audio: TRACKS }, engines }]
  const channel = await stage.v2('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  pushTones(stage.srtPush(channel.ingests[0].url))
  const url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  return url
}

const PLAY = `async (url) => {
  const { default: Hls } = await import('/hls.js')
  const video = document.querySelector('#hlsjs')
  const hls = new Hls()
  const errors = []
  hls.on(Hls.Events.ERROR, (_event, { details, fatal }) => fatal && errors.push(details))
  hls.attachMedia(video)
  hls.loadSource(url)
  hls.once(Hls.Events.MANIFEST_PARSED, () => video.play())
  globalThis.player = {
    seen: () => ({
      tracks: hls.audioTracks.map(({ name, lang }) => [name, lang]),
      now: hls.audioTrack,
      seconds: video.currentTime,
      audioBytes: video.webkitAudioDecodedByteCount,
      errors,
    }),
    choose: (track) => (hls.audioTrack = track),
  }
}`

interface SeenPlayer {
  readonly tracks: readonly (readonly [string, string])[]
  readonly now: number
  readonly seconds: number
  readonly audioBytes: number
  readonly errors: readonly string[]
}

test('hls.js offers the audio tracks of a channel, plays the first, and goes on with the one that its viewer chooses', async () => {
  const url = await playing()
  const page = await stage.browser.newPage()
  const pieces: string[] = []
  page.on('request', (request) => {
    const [, rendition] = /-(\d+)\/[\w-]+\.m4s/.exec(request.url()) ?? []
    if (rendition !== undefined) pieces.push(rendition)
  })
  await page.goto(`${stage.origin('page.test')}/players.html`)
  await page.evaluate(`(${PLAY})(${JSON.stringify(url)})`)
  const seen = () => page.evaluate<SeenPlayer>('player.seen()')
  const playsOn = async (): Promise<void> => {
    const { seconds, audioBytes } = await seen()
    await until(async () => {
      const now = await seen()
      return now.seconds > seconds + 3 && now.audioBytes > audioBytes + 10_000
    }, 'picture and audio that go on')
  }
  await until(async () => (await seen()).seconds > 0, 'a picture')
  await playsOn()
  expect(await seen()).toMatchObject({
    tracks: [
      ['English', 'en'],
      ['Deutsch', 'de'],
    ],
    now: 0,
  })
  expect(new Set(pieces)).toEqual(new Set(['0', '1']))
  pieces.length = 0
  await page.evaluate('player.choose(1)')
  await until(() => pieces.includes('2'), 'media of the other track')
  await playsOn()
  expect(await seen()).toMatchObject({ now: 1, errors: [] })
  await page.close()
})
