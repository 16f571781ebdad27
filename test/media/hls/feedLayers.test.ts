import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { initName, segmentName } from '../../../src/core/hls/numbers.ts'
import { pieceOf } from '../../../src/edge/http/hls/names.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { Frame } from '../../../src/media/frame.ts'
import type { FeedStream } from '../../../src/media/hls/feedStream.ts'
import { FastClock } from '../../support/fastClock.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { isYetToBegin, playedFeed, segmentsOf } from '../../support/playedFeed.ts'
import { encoded, type Player, type Recorded } from '../ffmpeg/frames.ts'

const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 8, offline })
const folder = mkdtempSync(join(tmpdir(), 'sluice-layers-'))
const open: { player: Player; stream: FeedStream }[] = []
let clock: FastClock
beforeEach(() => {
  clock = new FastClock()
})
afterEach(async () => {
  for (const { player, stream } of open.splice(0)) {
    player.end()
    await stream.stop()
  }
  clock.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

const PATIENT = { timeout: 120_000, interval: 50 }
const READY_MS = 3_600_000

interface Sizes {
  /** Frames between keyframes of the smaller one. */
  readonly gop?: number
  readonly audio?: 'aac' | 'opus'
}

/** One picture in two sizes, each with its frames as its encoder made them. */
async function twoSizes({ gop = 50, audio = 'aac' }: Sizes = {}): Promise<Recorded> {
  const large = await encoded({ video: 'h264', audio, seconds: 6, gop: 50, size: '426x240' })
  // With the audio too, which moves the times of the video.
  const small = await encoded({ video: 'h264', audio, seconds: 6, gop, size: '256x144' })
  const named = (layer: string, { tracks, frames }: Recorded): Recorded => ({
    tracks: tracks.map((track) => (track.kind === 'video' ? { ...track, layer } : track)),
    frames: frames.map((frame): Frame => (frame.kind === 'video' ? { ...frame, layer } : frame)),
  })
  const [first, second] = [named('0', large), named('1', small)]
  return {
    tracks: [...first.tracks, ...second.tracks.filter(({ kind }) => kind === 'video')],
    frames: [...first.frames, ...second.frames.filter(({ kind }) => kind === 'video')].toSorted(
      (a, b) => a.decodeTimeUs - b.decodeTimeUs,
    ),
  }
}

function watch(recorded: Recorded, renditions: { height: number; bitrate: number }[]) {
  const { player, stream, warnings } = playedFeed(recorded, { ffmpeg, clock, renditions })
  const isSlow = (): boolean => isYetToBegin(stream) || ['v144', 'v96'].some((name) => isBehind(stream, name))
  clock.crawlWhile(() => ffmpeg.running > 0 && isSlow())
  open.push({ player, stream })
  return { stream, warnings }
}

/** An encoder that runs is behind. */
const isBehind = (stream: FeedStream, name: string): boolean => {
  const [source = 0, made = 0] = ['v0', name].map((one) => segmentsOf(stream, one).at(-1)?.n ?? 0)
  return stream.hls.rendition(name) !== undefined && made < source - 1
}

/** Waits for this number of segments, and expects them to be those of the source. */
async function expectAligned(stream: FeedStream, name: string, count: number): Promise<void> {
  await vi.waitFor(() => expect(segmentsOf(stream, name).length, name).toBeGreaterThanOrEqual(count), PATIENT)
  const made = segmentsOf(stream, name)
  const source = segmentsOf(stream, 'v0').filter(({ n }) => n >= (made[0]?.n ?? 0))
  for (const [index, { n, duration, startMs, independent }] of made.slice(0, source.length).entries()) {
    expect([n, independent]).toEqual([source[index]?.n, true])
    expect(Math.abs(duration - (source[index]?.duration ?? 0)), `${name} ${n}`).toBeLessThan(0.045)
    expect(Math.abs(startMs - (source[index]?.startMs ?? 0)), `${name} ${n}`).toBeLessThan(45)
  }
}

/** The video of a rendition, as a player decodes it: its height, and how many frames. */
function decoded(stream: FeedStream, name: string) {
  const segments = segmentsOf(stream, name)
  const bytes = (piece: string): Buffer => {
    const named = pieceOf(piece)
    return (named && stream.hls.piece({ ...named, rendition: name })) ?? Buffer.alloc(0)
  }
  const file = join(folder, `${name}-${Math.random()}.mp4`)
  const pieces = [initName(segments[0]?.init ?? ''), ...segments.map(({ n }) => segmentName(n))]
  writeFileSync(file, Buffer.concat(pieces.map(bytes)))
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-of', 'json', file]
  const { streams } = JSON.parse(execFileSync('ffprobe', args).toString()) as {
    streams: { codec_type: string; height?: number; nb_read_frames: string }[]
  }
  const video = streams.find(({ codec_type: type }) => type === 'video')
  return {
    kinds: streams.map(({ codec_type: type }) => type),
    height: video?.height,
    frames: Number(video?.nb_read_frames) / segments.length,
  }
}

test.each(['aac', 'opus'] as const)(
  'a rendition in the size of a layer is that layer, beside %s, and nothing is encoded for it',
  async (audio) => {
    const { stream, warnings } = watch(await twoSizes({ audio }), [{ height: 144, bitrate: 900_000 }])
    expect(await stream.hls.ready(READY_MS)).toBe(true)
    await expectAligned(stream, 'v144', 3)
    // Opus becomes AAC, by one process.
    expect(ffmpeg.running).toBe(audio === 'opus' ? 1 : 0)
    expect(decoded(stream, 'v144')).toEqual({ kinds: ['video', 'audio'], height: 144, frames: 50 })
    expect(stream.hls.variants().map(({ rendition, size }) => [rendition, size?.height])).toEqual([
      ['v0', 240],
      ['v144', 144],
    ])
    expect(warnings).toEqual([])
  },
)

test('the other renditions are encoded beside it', async () => {
  const renditions = [144, 96].map((height) => ({ height, bitrate: 900_000 }))
  const { stream } = watch(await twoSizes(), renditions)
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await expectAligned(stream, 'v144', 2)
  await expectAligned(stream, 'v96', 2)
  expect(ffmpeg.running).toBe(1)
  expect([decoded(stream, 'v144').height, decoded(stream, 'v96').height]).toEqual([144, 96])
})

test('a layer with keyframes elsewhere is encoded instead', async () => {
  const { stream, warnings } = watch(await twoSizes({ gop: 70 }), [{ height: 144, bitrate: 900_000 }])
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await vi.waitFor(() => expect(ffmpeg.running).toBe(1), PATIENT)
  expect(warnings).toEqual([
    'a layer of a stream is encoded: the layer of rendition v144 stops, has other keyframes than the largest, or too many bits',
  ])
  await expectAligned(stream, 'v144', 3)
})

test('a layer with more bits than the token allows is encoded instead', async () => {
  const { stream, warnings } = watch(await twoSizes(), [{ height: 144, bitrate: 50_000 }])
  await vi.waitFor(() => expect([warnings.length, ffmpeg.running]).toEqual([1, 1]), PATIENT)
  await expectAligned(stream, 'v144', 2)
})

test('a layer that stops is encoded from then on', async () => {
  const { tracks, frames } = await twoSizes()
  const stopping = frames.filter(({ layer, decodeTimeUs }) => layer !== '1' || decodeTimeUs < 1_000_000)
  const { stream, warnings } = watch({ tracks, frames: stopping }, [{ height: 144, bitrate: 900_000 }])
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await vi.waitFor(() => expect(warnings).toHaveLength(1), PATIENT)
  await vi.waitFor(() => expect(segmentsOf(stream, 'v144').length).toBeGreaterThanOrEqual(3), PATIENT)
  expect(ffmpeg.running).toBe(1)
})
