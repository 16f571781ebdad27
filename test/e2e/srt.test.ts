import { afterAll, beforeAll, expect, test } from 'vitest'
import { ffmpegPublisher } from './ffmpegPublisher.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

test('an encrypted SRT broadcast plays over HLS in hls.js and over WHEP, and ends with its token', async () => {
  const token = await stage.token('publish', { streams: [{ streamName: 'studio' }], displaySrtPassphrase: true })
  expect(token.srtPassphrase).toBeDefined()
  const broadcast = ffmpegPublisher(stage.srt('studio', token))
  const player = await stage.peer()
  await expect.poll(() => player.hls({ url: stage.hls('studio') }), { timeout: 60_000, interval: 300 }).toBe('ok')
  await expect
    .poll(() => player.played(), { timeout: 60_000, interval: 200 })
    .toSatisfy(
      ({ frames, audioBytes, currentTime }: Awaited<ReturnType<Peer['played']>>) =>
        frames > 25 && audioBytes > 1000 && currentTime > 0.5,
    )
  expect((await player.played()).width).toBe(640)
  const viewer = await stage.peer()
  await viewer.watchSoon({ url: stage.whep('studio') })
  expect(await viewer.plays()).toMatchObject({ codecs: ['audio/opus', 'video/H264'], width: 640 })
  expect((await stage.api('DELETE', `/api/publish_token/${token.id}`)).status).toBe(200)
  await broadcast.ended
  await viewer.stands()
})
