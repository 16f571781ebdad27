import { afterAll, beforeAll, expect, test } from 'vitest'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

/** The one journey in a browser of `npm test`; all others are in the lane `browser`. */
test('a browser broadcasts over WHIP, and others watch it over WHEP and HLS until it ends', async () => {
  const [publisher, viewer, player] = await Promise.all([stage.peer(), stage.peer(), stage.peer()])
  const { token } = await stage.token('publish', { streams: [{ streamName: 'show' }] })
  expect(await publisher.publish({ url: stage.whip('show'), token, codec: 'vp8' })).toBe('ok')
  await viewer.watchSoon({ url: stage.whep('show') })
  expect((await viewer.plays()).codecs).toEqual(['audio/opus', 'video/VP8'])
  await expect.poll(() => player.hls({ url: stage.hls('show') })).toBe('ok')
  await expect
    .poll(() => player.played())
    .toSatisfy(({ frames, audioBytes }: { frames: number; audioBytes: number }) => frames > 25 && audioBytes > 1000)
  await publisher.stop()
  await viewer.stands()
})
