import { afterAll, beforeAll, expect, test } from 'vitest'
import { clip } from '../support/clips.ts'
import { until } from '../support/until.ts'
import { ffmpegPublisher } from './ffmpegPublisher.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

/** A channel that shows its slate. */
async function waiting() {
  const video = [{ width: 160, height: 90, bitrate: 150_000 }]
  const { id: abrLadderId } = await stage.v2('POST', '/abr', { name: 'small', video })
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId } }] }]
  const channel = await stage.v2('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  await stage.put(
    `/channels/${channel.id}/slate`,
    clip('-f lavfi -i testsrc2=s=160x90 -frames:v 1', 'png'),
    'image/png',
  )
  await stage.v2('POST', `/channels/${channel.id}/start`)
  const url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'the slate')
  return { url, ingestUrl: stage.ingest(channel.ingests[0].streamKey) }
}

const PLAY = `async (url) => {
  const { default: Hls } = await import('/hls.js')
  const video = document.querySelector('#hlsjs')
  const hls = new Hls()
  const [runs, fatal] = [new Set(), []]
  hls.on(Hls.Events.ERROR, (_event, { details, fatal: isFatal }) => isFatal && fatal.push(details))
  hls.on(Hls.Events.FRAG_BUFFERED, (_event, { frag }) => runs.add(frag.cc))
  hls.attachMedia(video)
  hls.loadSource(url)
  hls.once(Hls.Events.MANIFEST_PARSED, () => video.play())
  globalThis.player = {
    seen: () => ({ runs: runs.size, pieces: video.buffered.length, seconds: video.currentTime, fatal }),
  }
}`

interface SeenPlayer {
  /** Between discontinuities, of which it has media. */
  readonly runs: number
  /** Of its buffer: between two of them there is a hole, at which it stalls. */
  readonly pieces: number
  readonly seconds: number
  readonly fatal: readonly string[]
}

test('hls.js has no hole in its buffer where a slate becomes the broadcast and the broadcast a slate', async () => {
  const { url, ingestUrl } = await waiting()
  const page = await stage.browser.newPage()
  await page.goto(`${stage.origin('page.test')}/players.html`)
  await page.evaluate(`(${PLAY})(${JSON.stringify(url)})`)
  const seen = () => page.evaluate<SeenPlayer>('player.seen()')
  await until(async () => (await seen()).seconds > 0, 'a picture of the slate')
  const publisher = ffmpegPublisher(ingestUrl, '160x90')
  await until(async () => (await seen()).runs === 2, 'media of the broadcast')
  await publisher.stop()
  await until(async () => (await seen()).runs === 3, 'media of the slate again')
  expect(await seen()).toMatchObject({ pieces: 1, fatal: [] })
  await page.close()
})
