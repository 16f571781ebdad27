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
  await expect.poll(() => player.hls({ url: stage.hls('studio') })).toBe('ok')
  await expect
    .poll(() => player.played())
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

test('the picture goes on over WHEP and in hls.js when a spare takes over from a publisher that is killed', async () => {
  const token = (priority: number) => stage.token('publish', { streams: [{ streamName: 'spared' }], priority })
  const main = ffmpegPublisher(stage.srt('spared', await token(2)))
  const viewer = await stage.peer()
  // As soon as it is on the air: it has its audio then.
  await viewer.watchSoon({ url: stage.whep('spared') })
  expect(await viewer.plays()).toMatchObject({ width: 640 })
  const player = await stage.peer()
  await expect.poll(() => player.hls({ url: stage.hls('spared') })).toBe('ok')
  const shows = (width: number, after: number) =>
    expect
      .poll(() => player.played())
      .toSatisfy((now: Awaited<ReturnType<Peer['played']>>) => now.width === width && now.currentTime > after)
  await shows(640, 0.5)
  const spare = ffmpegPublisher(stage.srt('spared', await token(1)), '320x180')
  const onAir = async () => (await stage.api('GET', '/api/streams/live')).data.find(isSpared)
  const isSpared = ({ streamName }: { streamName: string }) => streamName === 'spared'
  await expect.poll(onAir).toMatchObject({ spares: 1, priority: 2 })
  const { currentTime } = await player.played()
  await main.stop()
  await expect.poll(onAir).toMatchObject({ priority: 1 })
  await expect.poll(async () => (await viewer.figures()).width).toBe(320)
  // The same connection, and the same player.
  expect([await viewer.state(), (await viewer.plays()).width]).toEqual(['connected', 320])
  await shows(320, currentTime)
  await spare.stop()
  await viewer.stands()
})
