import { afterAll, beforeAll, test } from 'vitest'
import { until } from '../support/until.ts'
import { type CountedPublisher, countedPublisher, RATE } from './countedPublisher.ts'
import { isMissing, NATIVE, playNatively } from './nativePlayers.ts'
import { setStage, type Stage } from './sluice.ts'
import { playsThrough, segmentsListed, WATCHED } from './smoothness.ts'

// One stream, one server, one browser. Native players watch at the same time, and first: GStreamer's old playbin waits
// for as long as the stream has run. Players in the browser decode and paint without a GPU, so they watch one after the other.

let stage: Stage
let publisher: CountedPublisher
let url: string

beforeAll(async () => {
  stage = await setStage()
  const { token } = await stage.token('publish', { streams: [{ streamName: 'counted' }] })
  publisher = countedPublisher(stage.rtmp('counted', token))
  url = stage.hls('counted')
  // Shaka 5.2.12 fails on a shorter playlist: it looks for captions in the incomplete segment.
  await until(async () => (await segmentsListed(url)) >= 3)
})
afterAll(async () => {
  publisher.stop()
  await stage.close()
})

test.concurrent.for(Object.keys(NATIVE).filter((name) => !isMissing(name)))(
  '%s plays it, frame by frame',
  async (name, { expect }) => {
    const latest = publisher.latest()
    const numbers = await playNatively(name, url, WATCHED)
    const first = numbers[0] ?? 0
    expect(numbers).toEqual(numbers.map((_, index) => first + index))
    // A player starts at most all listed segments behind.
    expect(latest - first).toBeLessThan(16 * RATE)
  },
)

test.for(['hlsjs', 'videojs', 'shaka'])(
  '%s gets and decodes every frame of a low-latency stream',
  async (name, { expect }) => {
    const errors = await playsThrough({ stage, name, url }, expect)
    // Shaka reports parts that were announced and never came.
    if (name !== 'shaka') expect(errors).toEqual([])
  },
)
