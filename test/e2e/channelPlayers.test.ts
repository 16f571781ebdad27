import type { Page } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { until } from '../support/until.ts'
import { type CountedPublisher, countedPublisher, RATE } from './countedPublisher.ts'
import { isMissing, NATIVE, playNatively } from './nativePlayers.ts'
import { setStage, type Stage } from './sluice.ts'
import { playsThrough, segmentsListed, WATCHED } from './smoothness.ts'

// One channel, one server, one browser, with a page for each player.

let stage: Stage
let publisher: CountedPublisher
let url: string

beforeAll(async () => {
  // An engine that is too slow drops every second frame of its only rendition, by a new process: test/system/overload.
  stage = await setStage({ SLUICE_CHANNELS_STEP_DOWN_ON_OVERLOAD: 'false' })
  const video = [{ width: 320, height: 180, bitrate: 500_000 }]
  const ladder = await stage.v2('POST', '/abr', { name: 'small', video })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await stage.v2('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  publisher = countedPublisher(stage.ingest(channel.ingests[0].streamKey))
  url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  // Shaka 5.2.12 fails on a shorter playlist: it looks for captions in the incomplete segment.
  await until(async () => (await segmentsListed(url)) >= 3)
})
afterAll(async () => {
  publisher.stop()
  await stage.close()
})

// First, because GStreamer's old playbin waits for as long as the stream has run.
test.concurrent.for(Object.keys(NATIVE).filter((name) => !isMissing(name)))(
  '%s plays a channel, frame by frame',
  async (name, { expect }) => {
    const latest = publisher.latest()
    const numbers = await playNatively(name, url, WATCHED)
    const first = numbers[0] ?? 0
    expect(numbers).toEqual(numbers.map((_, index) => first + index))
    // A player starts at most all listed segments behind.
    expect(latest - first).toBeLessThan(24 * RATE)
  },
)

// One after another: a browser that decodes three streams beside their encoders takes long.
test.for(['hlsjs', 'videojs', 'shaka'])(
  '%s gets and decodes every frame of a channel, with one request for the init segment, and every hinted part comes',
  async (name, { expect }) => {
    const pieces: string[] = []
    const opened = (page: Page): void =>
      void page.on('response', (response) => {
        const [, piece] = /\/([\w-]+\.(?:m4s|mp4))/.exec(response.url()) ?? []
        if (piece !== undefined) pieces.push(`${response.status()} ${piece}`)
      })
    expect(await playsThrough({ stage, name, url, opened }, expect)).toEqual([])
    expect(pieces.filter((piece) => piece.endsWith('.mp4'))).toHaveLength(1)
    expect(pieces.filter((piece) => !piece.startsWith('20'))).toEqual([])
    expect(pieces.length).toBeGreaterThan(4)
  },
)
