import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { Rung } from '../../../src/core/channels/runs/rungs.ts'
import { ladderArguments, OFFSET_US } from '../../../src/media/encoder/arguments.ts'
import { followingArguments } from '../../../src/media/encoder/followingArguments.ts'
import { FragmentReader } from '../../../src/media/encoder/fragmentReader.ts'
import { HLS_OFFSET_MS, hlsArguments } from '../../../src/media/ffmpeg/arguments.ts'
import { createFfmpeg, type FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { MatroskaWriter } from '../../../src/media/ffmpeg/matroska.ts'
import { X264 } from '../../../src/media/ffmpeg/videoEncoders.ts'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { FlvFrames } from '../../../src/media/rtmp/flvFrames.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { encoded, type Recorded } from '../ffmpeg/frames.ts'

const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 2, offline })
const folder = mkdtempSync(join(tmpdir(), 'sluice-bitrates-'))
afterAll(() => rmSync(folder, { recursive: true }))

const BITRATE = 150_000
const RUNG: Rung = { index: 0, id: 'a', label: 'a', width: 160, height: 90, bitrate: BITRATE, frameRate: null }
const LADDER = { rungs: [RUNG], audioKbps: null, hasVideo: true, audioTracks: [] } as const

/** Of 320x180, so much that no encoder has enough bits for all of it. */
const NOISE = 'noise=alls=40:allf=t'
const SECONDS = 6

const noisy = (video: VideoCodec, rate: number, filter = NOISE): Promise<Recorded> =>
  encoded({ video, rate, gop: 2 * rate, filter, bitrate: 3_000_000, seconds: SECONDS, size: '320x180' })

interface Made {
  track: TrackInfo | null
  readonly frames: Frame[]
}

/** What a process makes of a source that our Matroska carries. */
async function made({ tracks, frames }: Recorded, job: Pick<FfmpegJob, 'args' | 'outputs' | 'stdout'>): Promise<void> {
  const started = ffmpeg.run({ name: 'bitrates', cwd: folder, stdin: true, backlogBytes: 64e6, ...job })
  if (!started.ok) throw new Error(started.error.message)
  const writer = new MatroskaWriter(tracks)
  started.value.write(Buffer.concat([writer.head(), ...frames.map((frame) => writer.frame(frame))]))
  started.value.end()
  const { code, tail } = await started.value.exited
  expect([code, tail]).toEqual([0, ''])
}

async function rendition(source: Recorded, args: readonly string[]): Promise<Made> {
  const found: Made = { track: null, frames: [] }
  const reader = new FragmentReader({
    offsetUs: OFFSET_US,
    track: (track) => (found.track = track),
    frame: (frame) => void found.frames.push(frame),
  })
  // The second one gets thumbnails of the ladder of a channel.
  await made(source, { args, outputs: [(chunk) => void reader.push(chunk), () => undefined] })
  return found
}

async function converted(source: Recorded): Promise<Made> {
  const found: Made = { track: null, frames: [] }
  const out = {
    tracks: ([track]: readonly TrackInfo[]) => void (found.track = track ?? null),
    frame: (frame: Frame) => void found.frames.push(frame),
  }
  const reader = new FlvFrames(['video'], out, (timestamp) => timestamp - HLS_OFFSET_MS)
  await made(source, { args: hlsArguments(source.tracks), stdout: (chunk) => reader.push(chunk) })
  return found
}

/** Bits per second of the frames from a time on, up to another one. */
function bitrate({ frames }: Made, fromSeconds = 0, toSeconds = SECONDS): number {
  const within = frames.filter(({ timeUs }) => timeUs >= fromSeconds * 1e6 && timeUs < toSeconds * 1e6)
  return within.reduce((sum, { data }) => sum + data.length * 8, 0) / (toSeconds - fromSeconds)
}

/** As in the configuration of the track, ten times the number. */
const levelOf = ({ track }: Made): number => (track?.kind === 'video' ? (track.config[3] ?? 0) : 0)

const timesOf = ({ frames }: { readonly frames: readonly Frame[] }): number[] =>
  frames.map(({ timeUs }) => Math.round(timeUs / 1000))

function expectSameTimes(one: Made, source: Recorded): void {
  const [times, expected] = [timesOf(one), timesOf(source)]
  expect(times).toHaveLength(expected.length)
  for (const [index, time] of times.entries()) expect(Math.abs(time - expected[index]!)).toBeLessThanOrEqual(1)
}

const SOURCES: [VideoCodec, number][] = [
  ['vp8', 30],
  ['vp8', 15],
  ['vp9', 30],
  ['av1', 30],
  ['h264', 30],
  ['h264', 15],
]

describe.each(SOURCES)('a source of noise in %s with %i frames a second', (codec, rate) => {
  const source = noisy(codec, rate)

  test('has the bitrate of its rendition in a feed', async () => {
    const found = await rendition(await source, followingArguments([{ rung: RUNG, fromUs: null }], X264))
    expect(bitrate(found) / BITRATE).toBeGreaterThan(1)
    expect(bitrate(found) / BITRATE).toBeLessThan(1.35)
    expect(levelOf(found)).toBeLessThanOrEqual(13)
    expectSameTimes(found, await source)
  })

  test('has the bitrate of its rendition in a channel', async () => {
    const found = await rendition(await source, ladderArguments(LADDER, X264))
    expect(bitrate(found) / BITRATE).toBeGreaterThan(0.9)
    expect(bitrate(found) / BITRATE).toBeLessThan(1.15)
    expect(levelOf(found)).toBeLessThanOrEqual(13)
    expectSameTimes(found, await source)
  })

  // HLS has H.264 as it is.
  if (codec === 'h264') return

  test('is converted for HLS with the bits that its quality needs', async () => {
    const found = await converted(await source)
    // 20 kbit/s and less was made after the first seconds.
    expect(bitrate(found, 4)).toBeGreaterThan(800_000)
    expect(levelOf(found)).toBeLessThanOrEqual(31)
    expectSameTimes(found, await source)
  })
})

test('a source that falls from 30 frames a second to 10, and pauses, keeps its bitrate and its times', async () => {
  const source = await noisy('vp8', 30, `select=lt(t\\,2)+not(mod(n\\,3))*not(between(t\\,3.1\\,3.9)),${NOISE}`)
  const found = await rendition(source, followingArguments([{ rung: RUNG, fromUs: null }], X264))
  expect(bitrate(found, 0, 2) / BITRATE).toBeGreaterThan(1)
  expect(bitrate(found, 4) / BITRATE).toBeGreaterThan(1)
  expect(bitrate(found, 4) / BITRATE).toBeLessThan(1.35)
  expectSameTimes(found, source)
})
