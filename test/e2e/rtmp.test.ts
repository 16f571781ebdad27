import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages, layeredMessages } from '../media/rtmp/enhanced.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { ffmpegPublisher } from './ffmpegPublisher.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
let page: Peer

beforeAll(async () => {
  stage = await setStage()
  page = await stage.peer()
})
afterAll(() => stage.close())

const streams = [{ streamName: 'studio' }]

test('an RTMP broadcast plays over HLS in hls.js and over WHEP, for viewers with a token', async () => {
  const { token } = await stage.token('publish', { streams, subscribeRequiresAuth: true })
  const subscribe = await stage.token('subscribe', { streams })
  const broadcast = ffmpegPublisher(stage.rtmp('studio', token))
  const url = stage.hls('studio')
  expect(await page.hls({ url })).toBe('401 Unauthorized: Invalid token')
  await expect.poll(() => page.hls({ url, token: subscribe.token })).toBe('ok')
  await expect
    .poll(() => page.played())
    .toSatisfy(
      ({ frames, audioBytes, currentTime }: Awaited<ReturnType<Peer['played']>>) =>
        frames > 25 && audioBytes > 1000 && currentTime > 0.5,
    )
  expect((await page.played()).width).toBe(640)

  const viewer = await stage.peer()
  const request = { url: stage.whep('studio'), token: subscribe.token }
  await viewer.watchSoon(request)
  expect(await viewer.plays()).toMatchObject({ codecs: ['audio/opus', 'video/H264'], width: 640 })
  await broadcast.stop()
  await viewer.stands()
})

test.each([
  // This browser has no decoder for it.
  ['hevc', 'H264'],
  ['av1', 'AV1'],
  ['vp9', 'VP9'],
  ['vp8', 'VP8'],
] as const)(
  '%s and Opus over enhanced RTMP play over HLS in hls.js as H.264, and over WHEP as %s',
  async (video, overWhep) => {
    const { token } = await stage.token('publish', { streams: [{ streamName: video }] })
    const recorded = await encoded({ video, audio: 'opus', seconds: 4, size: '320x180' })
    const broadcast = await RtmpPublisher.start(stage.rtmp(video, token), systemClock, enhancedMessages(recorded))
    const player = await stage.peer()
    await expect.poll(() => player.hls({ url: stage.hls(video) })).toBe('ok')
    await expect
      .poll(() => player.played())
      .toSatisfy(({ frames, width }: Awaited<ReturnType<Peer['played']>>) => frames > 20 && width === 320)
    const viewer = await stage.peer()
    await viewer.watchSoon({ url: stage.whep(video) })
    expect(await viewer.plays()).toMatchObject({ codecs: ['audio/opus', `video/${overWhep}`], width: 320 })
    broadcast.end()
    await viewer.stands()
  },
)

test('of an AV1 broadcast a viewer gets AV1 over WHEP, and one without it H.264 beside', async () => {
  const { token } = await stage.token('publish', { streams: [{ streamName: 'both' }] })
  const recorded = await encoded({ video: 'av1', audio: 'aac', seconds: 4, size: '320x180' })
  const broadcast = await RtmpPublisher.start(stage.rtmp('both', token), systemClock, enhancedMessages(recorded))
  const [able, unable] = [await stage.peer(), await stage.peer()]
  await unable.lack('AV1')
  for (const viewer of [able, unable]) await viewer.watchSoon({ url: stage.whep('both') })
  expect(await able.plays()).toMatchObject({ codecs: ['audio/opus', 'video/AV1'], width: 320 })
  expect(await unable.plays()).toMatchObject({ codecs: ['audio/opus', 'video/H264'], width: 320 })
  broadcast.end()
  for (const viewer of [able, unable]) await viewer.stands()
})

/** Those that send sizes of one picture, the largest first. */
type Senders = (streamName: string, token: string, sizes: readonly Recorded[]) => Promise<RtmpPublisher[]>

const tracksOfOne: Senders = async (streamName, token, sizes) => [
  await RtmpPublisher.start(stage.rtmp(streamName, token), systemClock, layeredMessages(sizes)),
]

const oneForEach: Senders = (streamName, token, sizes) =>
  Promise.all(
    sizes.map((recorded, at) => {
      const url = `${stage.rtmp(streamName, token)}&simulcastId&sourceId=${at}${at === 0 ? '' : '&videoOnly'}`
      return RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
    }),
  )

test.each([
  ['tracks over enhanced RTMP', 'sizes', tracksOfOne],
  ['publishers with one simulcastId', 'publishers', oneForEach],
])(
  'sizes of one picture are layers, as %s: each viewer has the one that it chooses, and HLS the largest',
  async (_, streamName, sendersOf) => {
    const { token } = await stage.token('publish', { streams: [{ streamName }] })
    const sizes = await Promise.all(
      ['640x360', '320x180', '160x90'].map((size) =>
        encoded({ video: 'h264', audio: 'aac', seconds: 4, size, gop: 25 }),
      ),
    )
    const senders = await sendersOf(streamName, token, sizes)
    const [viewer, other] = [await stage.peer(), await stage.peer()]
    for (const peer of [viewer, other]) await peer.watchSoon({ url: stage.whep(streamName) })
    expect((await viewer.plays()).codecs).toEqual(['audio/opus', 'video/H264'])
    const layers = [
      { encodingId: '0', width: 640 },
      { encodingId: '1', width: 320 },
      { encodingId: '2', width: 160 },
    ]
    await expect.poll(() => viewer.layers()).toMatchObject({ layers, chosen: null, sent: '0' })
    const shows = async (peer: Peer, width: number) => {
      await expect.poll(async () => (await peer.figures()).width).toBe(width)
      await peer.plays()
    }
    for (const [choice, width] of [
      ['2', 160],
      ['1', 320],
      ['0', 640],
    ] as const) {
      await viewer.layers(choice)
      await shows(viewer, width)
      // A browser that the machine lets wait takes that for congestion for a moment.
      await expect.poll(() => other.layers()).toMatchObject({ chosen: null, sent: '0' })
      await shows(other, 640)
      await expect.poll(() => viewer.layers()).toMatchObject({ chosen: choice, sent: choice })
    }

    const player = await stage.peer()
    await expect.poll(() => player.hls({ url: stage.hls(streamName) })).toBe('ok')
    await expect
      .poll(() => player.played())
      .toSatisfy(({ frames, width }: Awaited<ReturnType<Peer['played']>>) => frames > 20 && width === 640)
    for (const sender of senders) sender.end()
    await viewer.stands()
  },
)

test.each([
  ['av1', 'as it is', {}, 320, /CODECS="av01[^"]*,opus"/],
  ['vp9', 'as it is', {}, 320, /CODECS="vp09[^"]*,opus"/],
  // This browser has no decoder for HEVC.
  ['hevc', 'as its rendition in H.264', { hlsRenditions: [{ height: 144, bitrate: 200_000 }] }, 256, /"hvc1[^"]*,mp4a/],
] as const)(
  'where the token keeps the codecs, %s plays over HLS in hls.js %s',
  async (video, _, settings, shown, inMaster) => {
    const streamName = `${video}-source`
    const { token } = await stage.token('publish', { streams: [{ streamName }], hlsCodecs: 'source', ...settings })
    const recorded = await encoded({ video, audio: 'opus', seconds: 4, size: '320x180' })
    const broadcast = await RtmpPublisher.start(stage.rtmp(streamName, token), systemClock, enhancedMessages(recorded))
    const url = stage.hls(streamName)
    const player = await stage.peer()
    await expect.poll(() => player.hls({ url })).toBe('ok')
    await expect
      .poll(() => player.played())
      .toSatisfy(({ frames, width }: Awaited<ReturnType<Peer['played']>>) => frames > 20 && width === shown)
    expect(await (await fetch(url)).text()).toMatch(inMaster)
    broadcast.end()
  },
)

test.each([
  ['an unknown token', async () => 'f'.repeat(64), 'Unauthorized: Invalid token'],
  [
    'a token of another stream',
    async () => (await stage.token('publish', { streams: [{ streamName: 'other' }] })).token,
    'Unauthorized: StreamName is not valid for token',
  ],
  [
    'a token with origins',
    async () => (await stage.token('publish', { streams, allowedOrigins: ['a.test'] })).token,
    'Unauthorized: Origin not allowed (RTMP has no origin)',
  ],
  [
    'a token with addresses',
    async () => (await stage.token('publish', { streams, allowedIpAddresses: ['127.0.0.1'] })).token,
    'Unauthorized: IP filters are not supported with RTMP',
  ],
])('a publisher with %s gets the reason', async (_, token, text) => {
  expect(await ffmpegPublisher(stage.rtmp('studio', await token())).ended).toContain(text)
})
