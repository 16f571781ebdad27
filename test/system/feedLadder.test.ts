import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '../../src/media/rtmp/messages.ts'
import { recordingOf, type SourceName } from '../hls/sources.ts'
import { validateHls, type ValidatorOptions } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { layeredMessages } from '../media/rtmp/enhanced.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Broadcast, broadcast } from '../support/broadcast.ts'
import { until } from '../support/until.ts'
import { FastClock } from '../support/fastClock.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { newPlace, type Place } from '../support/place.ts'
import { makeToken } from '../support/testNode.ts'
import { ownPort } from '../support/ownPort.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

/** The sources have 180 lines. */
const hlsRenditions = [
  { height: 720, bitrate: 2_500_000 },
  { height: 144, bitrate: 200_000 },
  { height: 96, bitrate: 100_000 },
]
const SIZES = ['320x180', '256x144', '170x96']
/** Of the stream. */
const GRACE_SECONDS = 6

const clock = new FastClock()
let place: Place
/** Has the feeds. */
let owner: RunningApp
let other: RunningApp
const onAir: Broadcast[] = []
const publishers: RtmpPublisher[] = []

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  owner = await node()
  other = await node()
})
afterAll(async () => {
  for (const publisher of publishers) publisher.end()
  for (const begun of onAir) await begun.end()
  for (const one of [owner, other]) await one.close()
  await place.remove()
  clock.close()
})

async function node(): Promise<RunningApp> {
  const port = await ownPort()
  const secrets = { sealingKey: SEALING_KEY }
  const server = { port, nodeUrl: `http://127.0.0.1:${port}` }
  return runApp({ clock, flags: { storage: { url: place.url }, secrets, server, hls: { idleSeconds: 6 } } })
}

const urlOf = (at: RunningApp, stream: string): string => `${at.base}/hls/${owner.accountId}/${stream}/index.m3u8`

async function publish(source: SourceName, stream: string, token: string): Promise<void> {
  await send(await recordingOf(source), stream, token)
}

async function send(recording: readonly Message[], stream: string, token: string): Promise<void> {
  const url = `rtmp://127.0.0.1:${owner.rtmpPort}/v2/pub/${stream}?token=${token}`
  publishers.push(await RtmpPublisher.start(url, clock, recording))
}

/** Pushes a source over RTMP with a token that asks for renditions. Resolves when the stream is known at all nodes. */
async function push(source: SourceName, stream: string, value?: string): Promise<string> {
  const token = value ?? (await makeToken(owner, 'publish', { hlsRenditions })).token
  await publish(source, stream, token)
  const isKnown = ({ app }: RunningApp) => app.ctx.streamsOnAir(owner.accountId, stream) !== undefined
  await until(() => [owner, other].every(isKnown), `${stream} on the air`)
  return token
}

/** The sizes in the master playlist, and the rules that the stream broke. Playlists are not compressed. */
async function watched(url: string, isEnough: NonNullable<ValidatorOptions['isEnough']>) {
  const sizes = (await (await fetch(url)).text()).match(/(?<=RESOLUTION=)\d+x\d+/g)
  const { violations, seen } = await validateHls({ url, clock, seconds: 3600, graceSeconds: GRACE_SECONDS, isEnough })
  return { sizes, segments: seen.segments, broken: violations.map(lineOf).filter((line) => !line.includes('Encoding')) }
}

/** The processes that encode renditions of feeds. */
const encoders = (): number[] =>
  execFileSync('ps', ['-ww', '-o', 'pid=,args=', '--ppid', String(process.pid)])
    .toString()
    .split('\n')
    .filter((line) => line.includes('-force_key_frames source'))
    .map((line) => Number.parseInt(line, 10))

// They wait for encoders, so they run concurrently.
describe.concurrent('the HLS of a feed with renditions breaks no rule', () => {
  test('when its publisher sends B-frames, and at another node', async () => {
    await push('b-frames', 'reordered')
    const found = await watched(urlOf(other, 'reordered'), ({ seen }) => seen.segments >= 15)
    expect(found).toEqual({ sizes: SIZES, segments: expect.any(Number), broken: [] })
    expect(found.segments).toBeGreaterThanOrEqual(9)
  })

  test('when its publisher has a keyframe every ten seconds', async () => {
    await push('gop-250', 'rare')
    const { sizes, broken } = await watched(urlOf(owner, 'rare'), ({ seen }) => seen.segments >= 9)
    expect({ sizes, broken }).toEqual({ sizes: SIZES, broken: [] })
  })

  test('when its publisher sends audio and no video for a while', async () => {
    await push('video-gap', 'without')
    const { sizes, broken } = await watched(urlOf(owner, 'without'), ({ seen }) => seen.segments >= 30)
    expect({ sizes, broken }).toEqual({ sizes: SIZES, broken: [] })
  })

  test('when a browser sends VP8 and Opus', async () => {
    const recorded = await encoded({ video: 'vp8', audio: 'opus', seconds: 4, gop: 100, size: '320x180' })
    onAir.push(await broadcast(owner, recorded, { speed: 1, clock, streamName: 'browser', token: { hlsRenditions } }))
    const { sizes, broken } = await watched(urlOf(owner, 'browser'), ({ seen }) => seen.segments >= 12)
    expect({ sizes, broken }).toEqual({ sizes: SIZES, broken: [] })
  })
})

test('the HLS of a feed with renditions breaks no rule when ffmpeg is killed, and when another publisher takes over', async () => {
  const before = new Set(encoders())
  const token = await push('plain', 'killed')
  let step = 0
  const { sizes, broken } = await watched(urlOf(owner, 'killed'), ({ seen }) => {
    if (step === 0 && seen.segments >= 6) {
      step = 1
      for (const pid of encoders()) if (!before.has(pid)) process.kill(pid, 'SIGKILL')
    }
    if (step === 1 && seen.segments >= 15) {
      step = 2
      void publish('plain', 'killed', token)
    }
    return seen.segments >= 27
  })
  expect({ sizes, broken, step }).toEqual({ sizes: SIZES, broken: [], step: 2 })
})

test('a feed without viewers over HLS has no process, and neither has one without renditions', async () => {
  await until(() => encoders().length === 0, 'the end of idle encoders')
  await push('plain', 'plain', (await makeToken(owner, 'publish')).token)
  await push('plain', 'idle')
  expect((await fetch(urlOf(owner, 'plain'))).status).toBe(200)
  expect(encoders()).toEqual([])
  expect((await fetch(urlOf(owner, 'idle'))).status).toBe(200)
  expect(encoders()).toHaveLength(1)
  await until(() => encoders().length === 0, 'the end of an idle encoder')
})

test('layers of the publisher in the sizes of renditions are these renditions, without a process, and every node counts them', async () => {
  const layers = SIZES.map((size) => encoded({ video: 'h264', audio: 'aac', seconds: 4, size, gop: 50 }))
  // What is encoded of a test picture needs more bits than viewers are promised above.
  const wide = [144, 96].map((height) => ({ height, bitrate: 900_000 }))
  const { token } = await makeToken(owner, 'publish', { hlsRenditions: wide })
  await send(layeredMessages(await Promise.all(layers)), 'layers', token)
  const live = async (at: RunningApp) => (await at.call('GET', '/api/streams/live?streamName=layers')).json.data[0]
  await until(async () => (await live(other))?.source.layers === SIZES.length)
  for (const at of [owner, other])
    expect(await live(at)).toMatchObject({ width: 320, height: 180, source: { layers: SIZES.length } })
  let mostEncoders = 0
  const { sizes, broken } = await watched(urlOf(other, 'layers'), ({ seen }) => {
    mostEncoders = Math.max(mostEncoders, encoders().length)
    return seen.segments >= 12
  })
  expect({ sizes, broken, mostEncoders }).toEqual({ sizes: SIZES, broken: [], mostEncoders: 0 })
})
