import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordingOf, type SourceName } from '../hls/sources.ts'
import { validateHls, type ValidatorOptions } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { FastClock } from '../support/fastClock.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'

const VIDEO = [
  { width: 160, height: 90, bitrate: 150_000 },
  { width: 96, height: 54, bitrate: 80_000, frameRate: { value: 15, scale: 1 } },
]
/** Of the stream. */
const GRACE_SECONDS = 6

const clock = new FastClock()
let live: ChannelsClient
let ladderId: string
let audioLadderId: string
let copyLadderId: string
beforeAll(async () => {
  live = await runChannels({ clock })
  ladderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
  audioLadderId = (await live.made('POST', '/abr', { name: 'with audio', video: VIDEO, audioOnly: true })).id
  const [top, small] = VIDEO
  const video = [
    { ...top, copy: true },
    { width: 96, height: 54, bitrate: small?.bitrate },
  ]
  copyLadderId = (await live.made('POST', '/abr', { name: 'copied', video, audioOnly: true })).id
})
afterAll(async () => {
  await live.close()
  clock.close()
})

interface Playing {
  readonly url: string
  /** Where another publisher takes over. */
  readonly ingestUrl: string
  readonly engineId: string
  stop(): Promise<unknown>
}

const push = async (source: SourceName, url: string): Promise<RtmpPublisher> =>
  RtmpPublisher.start(url, clock, await recordingOf(source))

/** A channel that plays a source. */
async function playing(source: SourceName, abrLadderId = ladderId): Promise<Playing> {
  const engines = [{ name: 'Main', quality: { abrLadderId } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const made = await live.made('POST', '/channels', { name: source, ingests, distributions: [{ name: 'Web' }] })
  await live.made('POST', `/channels/${made.id}/start`)
  const ingestUrl = `rtmp://127.0.0.1:${live.running.rtmpPort}/live/${made.ingests[0].streamKey}`
  const publisher = await push(source, ingestUrl)
  const url = `${live.running.base}/v2/distributions/${made.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  const stop = async () => {
    publisher.end()
    await live.v2('POST', `/channels/${made.id}/stop`)
  }
  return { url, ingestUrl, engineId: made.engines[0].id, stop }
}

/** The rules that a stream broke, until it is enough. Playlists are not compressed. */
async function broken(url: string, isEnough: NonNullable<ValidatorOptions['isEnough']>): Promise<string[]> {
  const { violations } = await validateHls({ url, clock, seconds: 3600, graceSeconds: GRACE_SECONDS, isEnough })
  return violations.map(lineOf).filter((line) => !line.includes('Content-Encoding'))
}

// They wait for encoders, so they run concurrently.

test.concurrent.each<SourceName>(['b-frames', '29.97', 'gap', 'video-gap', 'audio-only', 'slides'])(
  'the HLS of a channel breaks no rule when its publisher sends %s',
  async (source) => {
    const channel = await playing(source)
    expect(await broken(channel.url, ({ seen }) => seen.segments >= 12)).toEqual([])
    await channel.stop()
  },
)

test.concurrent.each<SourceName>(['29.97', 'gap'])(
  'the HLS of a channel with the audio as a variant breaks no rule when its publisher sends %s',
  async (source) => {
    const channel = await playing(source, audioLadderId)
    const master = await (await fetch(channel.url)).text()
    expect(master.match(/^#EXT-X-STREAM-INF:(?!.*RESOLUTION).*CODECS="mp4a.40.2".*$/gm)).toHaveLength(1)
    expect(await broken(channel.url, ({ seen }) => seen.segments >= 18)).toEqual([])
    await channel.stop()
  },
)

test.concurrent('the HLS of a channel says the BANDWIDTH of its smallest renditions when noise follows an empty picture', async () => {
  const video = [
    { width: 160, height: 90, bitrate: 50_000 },
    { width: 96, height: 54, bitrate: 25_000 },
  ]
  const { id } = await live.made('POST', '/abr', { name: 'smallest', video })
  const channel = await playing('noise', id)
  expect(await broken(channel.url, ({ seen }) => seen.segments >= 14)).toEqual([])
  await channel.stop()
})

test.concurrent.each<SourceName>(['b-frames', '29.97', 'gop-250'])(
  'the HLS of a channel with a copied rendition breaks no rule when its publisher sends %s',
  async (source) => {
    const channel = await playing(source, copyLadderId)
    const master = await (await fetch(channel.url)).text()
    // The size of the source, not of the ladder.
    expect(master).toMatch(/RESOLUTION=320x180,/)
    expect(await broken(channel.url, ({ seen }) => seen.segments >= 21)).toEqual([])
    await channel.stop()
  },
)

test.concurrent('the HLS of a channel breaks no rule when its publisher comes back without video, and again with it', async () => {
  const channel = await playing('plain')
  const swapAt = [
    { segments: 4, source: 'audio-only' },
    { segments: 10, source: 'plain' },
  ] as const
  let swaps = 0
  const later: Promise<RtmpPublisher>[] = []
  const violations = await broken(channel.url, ({ seen }) => {
    const next = swapAt[swaps]
    if (next && seen.segments >= next.segments) {
      swaps += 1
      later.push(push(next.source, channel.ingestUrl))
    }
    return next === undefined && seen.segments >= 18
  })
  expect([swaps, violations]).toEqual([2, []])
  for (const publisher of await Promise.all(later)) publisher.end()
  await channel.stop()
})

test.concurrent('the HLS of a channel breaks no rule when its ffmpeg is killed', async () => {
  const channel = await playing('plain')
  let killedAt = 0
  const kill = async (): Promise<void> => {
    const [pid = 0] = await workingIn(join(live.running.dataDir, 'channels', channel.engineId))
    process.kill(pid, 'SIGKILL')
  }
  const violations = await broken(channel.url, ({ seen }) => {
    if (killedAt === 0 && seen.segments >= 4) {
      killedAt = seen.segments
      void kill()
    }
    return killedAt > 0 && seen.segments >= killedAt + 6
  })
  expect([killedAt > 0, violations]).toEqual([true, []])
  await channel.stop()
})
