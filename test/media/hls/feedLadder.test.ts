import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { HANG_TEXT } from '../../../src/core/channels/runs/hang.ts'
import type { LoadControl } from '../../../src/core/channels/runs/load.ts'
import type { SegmentFact } from '../../../src/core/hls/facts.ts'
import { hlsMaster } from '../../../src/core/hls/master.ts'
import { initName, segmentName } from '../../../src/core/hls/numbers.ts'
import { pieceOf } from '../../../src/edge/http/hls/names.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { videoEncoderOf } from '../../../src/media/ffmpeg/videoEncoders.ts'
import type { FeedStream, FeedStreamOptions } from '../../../src/media/hls/feedStream.ts'
import { EncodingLoad } from '../../../src/services/encodingLoad.ts'
import { FastClock } from '../../support/fastClock.ts'
import { ffmpegWithNvenc } from '../../support/hardwareFfmpeg.ts'
import { freeLoad } from '../../support/load.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { isYetToBegin, playedFeed, segmentsOf } from '../../support/playedFeed.ts'
import { encoded, Player, type Recorded } from '../ffmpeg/frames.ts'

const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 8, offline })
const folder = mkdtempSync(join(tmpdir(), 'sluice-ladder-'))
const open: { player: Player; stream: FeedStream }[] = []
/** Of sources and streams. Processes get real time to end. */
let clock: FastClock
let h264: Recorded
let vp8: Recorded

beforeAll(async () => {
  h264 = fromSecondGroup(
    await encoded({ video: 'h264', audio: 'aac', seconds: 6, gop: 50, bframes: 2, size: '426x240' }),
  )
  vp8 = await encoded({ video: 'vp8', audio: 'opus', seconds: 4, gop: 100, size: '426x240' })
})
beforeEach(() => {
  clock = new FastClock()
})
afterEach(async () => {
  for (const { player, stream } of open.splice(0)) {
    player.end()
    await stream.stop()
  }
  clock.close()
  expect(ffmpeg.running).toBe(0)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Begins with a keyframe that is decoded before it is shown: a recording cannot say that of its very first frame. */
function fromSecondGroup({ tracks, frames }: Recorded): Recorded {
  const begins = frames.findLastIndex(({ kind, key }, index) => kind === 'video' && key && index < frames.length / 2)
  const { decodeTimeUs } = frames[begins]!
  return {
    tracks,
    frames: frames
      .slice(begins)
      .filter(({ timeUs }) => timeUs >= decodeTimeUs)
      .map((frame) => ({
        ...frame,
        timeUs: frame.timeUs - decodeTimeUs,
        decodeTimeUs: frame.decodeTimeUs - decodeTimeUs,
      })),
  }
}

const LADDER = [
  { height: 480, bitrate: 900_000 },
  { height: 144, bitrate: 200_000 },
  { height: 96, bitrate: 100_000 },
]

/** On the clock of the stream: as long as an encoder takes. */
const READY_MS = 3_600_000
/** The limit of the test ends it. */
const PATIENT = { timeout: 120_000, interval: 50 }

function watch(recorded: Recorded, options: Partial<FeedStreamOptions> = {}) {
  const { player, stream, warnings } = playedFeed(recorded, { ffmpeg, clock, renditions: LADDER, ...options })
  const looking = setInterval(() => void stream.checkProgress(), 50)
  looking.unref()
  clock.crawlWhile(() => isBehind(stream))
  open.push({ player, stream })
  return { player, stream, warnings }
}

/** The most segments that a rendition may be behind its source. */
const BEHIND_MAX = 1

/** An encoder that runs is behind. */
function isBehind(stream: FeedStream): boolean {
  const most = segmentsOf(stream, 'v0').length - BEHIND_MAX
  const isSlow = (name: string): boolean =>
    stream.hls.rendition(name) !== undefined && segmentsOf(stream, name).length < most
  return ffmpeg.running > 0 && (isYetToBegin(stream) || ['v144', 'v96'].some(isSlow))
}

/** Number, date, discontinuity and seconds of each segment. */
const shown = (segments: readonly SegmentFact[]) =>
  segments.map(({ n, startMs, discontinuity, duration }) => [n, Math.round(startMs), discontinuity, duration])

/** Waits until each rendition has this number of segments, and expects them to be those of the source. */
async function expectAligned(stream: FeedStream, names: string[], count: number): Promise<void> {
  await vi.waitFor(() => {
    for (const name of names) expect(segmentsOf(stream, name).length, name).toBeGreaterThanOrEqual(count)
  }, PATIENT)
  const source = segmentsOf(stream, 'v0')
  for (const name of names) {
    const made = segmentsOf(stream, name)
    const same = source.filter(({ n }) => n >= made[0]!.n).slice(0, made.length)
    const numbered = (segments: readonly SegmentFact[]) =>
      shown(segments).map(([n, , discontinuity]) => [n, discontinuity])
    expect(numbered(made), name).toEqual(numbered(same))
    // A source with B-frames that ends within a group of pictures has a frame that is shown after its end.
    for (const [index, { duration, startMs }] of made.entries()) {
      expect(Math.abs(duration - same[index]!.duration), `${name} ${index}`).toBeLessThan(0.045)
      expect(Math.abs(startMs - same[index]!.startMs), `${name} ${index}`).toBeLessThan(45)
    }
    const [a, b] = [stream.hls.facts('v0')!, stream.hls.facts(name)!]
    expect([b.targetSeconds, b.partSeconds]).toEqual([a.targetSeconds, a.partSeconds])
  }
}

/** Decodes the segments of a rendition, as a player would. */
function probe(stream: FeedStream, name: string, segments = segmentsOf(stream, name)) {
  const file = join(folder, `${Math.random()}.mp4`)
  const bytes = (piece: string): Buffer => stream.hls.piece({ ...pieceOf(piece)!, rendition: name })!
  writeFileSync(
    file,
    Buffer.concat([bytes(initName(segments[0]!.init)), ...segments.map(({ n }) => bytes(segmentName(n)))]),
  )
  const args = ['-v', 'error', '-show_streams', '-show_frames', '-of', 'json', file]
  const { streams, frames } = JSON.parse(execFileSync('ffprobe', args, { maxBuffer: 1 << 28 }).toString()) as {
    streams: { codec_name: string }[]
    frames: { media_type: string; pts_time: string }[]
  }
  const times = frames.flatMap(({ media_type, pts_time }) => (media_type === 'video' ? [Number(pts_time)] : []))
  return { codecs: streams.map(({ codec_name }) => codec_name), times }
}

/** A rendition shows each frame of the source, at the same time. */
function expectSameFrames(stream: FeedStream, name: string): void {
  const count = Math.min(...['v0', name].map((each) => segmentsOf(stream, each).length))
  const [source, made] = ['v0', name].map((each) => probe(stream, each, segmentsOf(stream, each).slice(0, count)).times)
  expect(made!.length, name).toBe(source!.length)
  for (const [index, time] of made!.entries()) expect(Math.abs(time - source![index]!)).toBeLessThan(0.003)
}

test('the lower renditions have the segments of the source, with B-frames, and none is larger than it', async () => {
  const { stream, warnings } = watch(h264)
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  expect(ffmpeg.running).toBe(1)
  const variants = stream.hls.variants()
  expect(variants.map(({ rendition, size }) => [rendition, size])).toEqual([
    ['v0', { width: 426, height: 240 }],
    ['v144', { width: 256, height: 144 }],
    ['v96', { width: 170, height: 96 }],
  ])
  await expectAligned(stream, ['v144', 'v96'], 3)
  expect(probe(stream, 'v144').codecs).toEqual(['h264', 'aac'])
  for (const name of ['v144', 'v96']) expectSameFrames(stream, name)
  for (const name of ['v0', 'v144', 'v96'])
    for (const { independent } of segmentsOf(stream, name)) expect(independent).toBe(true)
  expect(warnings).toEqual([])
})

test('the encoder that the configuration names makes the lower renditions', async () => {
  const encoder = videoEncoderOf('h264_nvenc', '0')
  if (!encoder.ok) throw new Error(encoder.error)
  const { path, calls } = ffmpegWithNvenc(folder)
  const maxChildren = () => 1
  const own = createFfmpeg({
    log: silentLog,
    clock: systemClock,
    binary: path,
    maxChildren,
    offline,
    videoEncoder: encoder.value,
  })
  const { stream, warnings } = watch(h264, { ffmpeg: own })
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await expectAligned(stream, ['v144', 'v96'], 2)
  expect(readFileSync(calls, 'utf8').match(/-c:v h264_nvenc -preset p2 .*? -gpu 0 /g)).toHaveLength(2)
  expect(probe(stream, 'v144').codecs).toEqual(['h264', 'aac'])
  expect(warnings).toEqual([])
})

/** Signals every ffmpeg that this process has started; returns how many. */
function signal(name: NodeJS.Signals): number {
  const out = execFileSync('ps', ['-o', 'pid=,comm=', '--ppid', String(process.pid)]).toString()
  const pids = out.split('\n').flatMap((line) => (line.endsWith(' ffmpeg') ? [Number.parseInt(line, 10)] : []))
  for (const pid of pids) process.kill(pid, name)
  return pids.length
}

test('when ffmpeg is killed, the renditions go on with the next frame, and the source is not touched', async () => {
  const { stream, warnings } = watch(h264)
  await stream.hls.ready(READY_MS)
  await expectAligned(stream, ['v144', 'v96'], 1)
  const master = stream.hls.variants().map(({ rendition }) => rendition)
  expect(signal('SIGKILL')).toBe(1)
  await vi.waitFor(() => expect(warnings).toHaveLength(1), PATIENT)
  expect(stream.hls.variants().map(({ rendition }) => rendition)).toEqual(master)
  const before = segmentsOf(stream, 'v144').length
  await expectAligned(stream, ['v144', 'v96'], before + 3)
  expect(segmentsOf(stream, 'v144').some(({ discontinuity }) => discontinuity)).toBe(false)
  for (const name of ['v144', 'v96']) expectSameFrames(stream, name)
  expect(warnings[0]).toMatch(/^the renditions of a stream are not encoded; they are tried again: ffmpeg was killed/)
})

test('an ffmpeg that hangs is killed, and the renditions go on with the next frame', async () => {
  const { stream, warnings } = watch(h264)
  await stream.hls.ready(READY_MS)
  await expectAligned(stream, ['v144', 'v96'], 1)
  expect(signal('SIGSTOP')).toBe(1)
  await vi.waitFor(() => expect(warnings).toHaveLength(2), PATIENT)
  expect(warnings[0]).toContain(HANG_TEXT)
  expect(warnings[1]).toMatch(/tried again: ffmpeg was killed/)
  const before = segmentsOf(stream, 'v144').length
  await expectAligned(stream, ['v144', 'v96'], before + 3)
  expectSameFrames(stream, 'v144')
})

test('VP8 and Opus are converted, and the lower renditions are made of that', async () => {
  const { stream } = watch(vp8)
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  expect(ffmpeg.running).toBe(2)
  await expectAligned(stream, ['v144', 'v96'], 3)
  expect(probe(stream, 'v144').codecs).toEqual(['h264', 'aac'])
})

test.each([
  ['hevc', 'hvc1'],
  ['av1', 'av01'],
] as const)('%s stays as it is beside lower renditions in H.264, and all have AAC', async (video, tag) => {
  const recorded = await encoded({ video, audio: 'opus', seconds: 4, gop: 50, size: '426x240' })
  const { stream, warnings } = watch(recorded, { hlsCodecs: 'source' })
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await expectAligned(stream, ['v144', 'v96'], 3)
  expect(probe(stream, 'v0').codecs).toEqual([video, 'aac'])
  expect(probe(stream, 'v144').codecs).toEqual(['h264', 'aac'])
  for (const name of ['v144', 'v96']) expectSameFrames(stream, name)
  const master = hlsMaster(stream.hls.variants(), (name) => name)
  const said = master.matchAll(/CODECS="(....)[^,]*,(mp4a\.40\.2)".*SCORE=(\d+)$/gm)
  expect(Array.from(said, ([, ...attributes]) => attributes)).toEqual([
    [tag, 'mp4a.40.2', '240'],
    ['avc1', 'mp4a.40.2', '144'],
    ['avc1', 'mp4a.40.2', '96'],
  ])
  expect(warnings).toEqual([])
})

test('another publisher continues all renditions after the same discontinuity', async () => {
  const { stream } = watch(h264)
  await stream.hls.ready(READY_MS)
  await expectAligned(stream, ['v144', 'v96'], 2)
  const next = new Player(h264, 1, clock)
  open.push({ player: next, stream })
  stream.follow(next, { renditions: LADDER })
  const count = segmentsOf(stream, 'v0').length
  await expectAligned(stream, ['v144', 'v96'], count + 2)
  for (const name of ['v0', 'v144', 'v96'])
    expect(
      segmentsOf(stream, name).filter(({ discontinuity }) => discontinuity),
      name,
    ).toHaveLength(1)
})

test('when the source shrinks, the renditions that players know stay, and none is larger than the source', async () => {
  const small = await encoded({ video: 'h264', audio: 'aac', seconds: 4, gop: 50, size: '160x120' })
  const { stream } = watch(h264)
  await stream.hls.ready(READY_MS)
  await expectAligned(stream, ['v144', 'v96'], 1)
  const next = new Player(small, 1, clock)
  open.push({ player: next, stream })
  stream.follow(next, { renditions: LADDER })
  const count = segmentsOf(stream, 'v0').length
  await expectAligned(stream, ['v144', 'v96'], count + 2)
  expect(stream.hls.variants().map(({ rendition, size }) => [rendition, size])).toEqual([
    ['v0', { width: 160, height: 120 }],
    ['v144', { width: 160, height: 120 }],
    ['v96', { width: 128, height: 96 }],
  ])
})

test('when the source ends, all renditions end with its last segment', async () => {
  const { stream, player } = watch(h264)
  await stream.hls.ready(READY_MS)
  await expectAligned(stream, ['v144', 'v96'], 1)
  player.end()
  await vi.waitFor(() => expect(stream.hls.facts('v96')?.ended).toBe(true), PATIENT)
  expect(stream.hls.facts('v144')?.ended).toBe(true)
  await expectAligned(stream, ['v144', 'v96'], segmentsOf(stream, 'v0').length)
  expect(ffmpeg.running).toBe(0)
})

test('a machine without room serves the source alone, and says so', async () => {
  const load = new EncodingLoad({ cores: 0, processors: { idle: null }, stepsDown: () => false })
  const { stream, warnings } = watch(h264, { load })
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  expect(stream.hls.variants().map(({ rendition }) => rendition)).toEqual(['v0'])
  expect(ffmpeg.running).toBe(0)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^viewers get only what the publisher sends, without renditions: This machine may not keep up/,
    ),
  ])
})

test('when the machine is too slow, the largest rendition is left out and the others go on', async () => {
  const free = freeLoad()
  const all = free.control.bind(free)
  let isSlow = false
  const load = Object.assign(free, {
    control: (job: Parameters<typeof all>[0]): LoadControl => {
      const control = all(job)
      return {
        get rungs() {
          return isSlow ? control.rungs.slice(1) : control.rungs
        },
        notice: [],
        begun: () => control.begun(),
        copies: (isCopied) => control.copies(isCopied),
        counted: (index, framesPerSecond) => control.counted(index, framesPerSecond),
        look: () => ({ restart: isSlow, isHung: false, log: isSlow ? { level: 'warn', message: 'too slow' } : null }),
        over: () => control.over(),
        ended: () => control.ended(),
      }
    },
  })
  const { stream, warnings } = watch(h264, { load })
  await stream.hls.ready(READY_MS)
  isSlow = true
  await vi.waitFor(() => expect(stream.hls.rendition('v144')).toBeUndefined(), PATIENT)
  expect(warnings).toEqual(['the renditions of a stream: too slow'])
  isSlow = false
  await vi.waitFor(() => expect(segmentsOf(stream, 'v96').length).toBeGreaterThan(0), PATIENT)
  await expectAligned(stream, ['v96'], 2)
  expect(stream.hls.variants().map(({ rendition }) => rendition)).toEqual(['v0', 'v96'])
})

test('without ffmpeg the source is served alone after a while, and its viewers wait no longer than for a slow start', async () => {
  const missing = createFfmpeg({
    log: silentLog,
    clock: systemClock,
    binary: 'no-such-ffmpeg',
    maxChildren: () => 8,
    offline,
  })
  const { stream, warnings } = watch(h264, { ffmpeg: missing })
  expect(await stream.hls.ready(3000)).toBe(true)
  expect(stream.hls.variants().map(({ rendition }) => rendition)).toEqual(['v0'])
  await vi.waitFor(() => expect(warnings.at(-1)).toMatch(/without renditions/), PATIENT)
  expect(stream.hls.rendition('v144')).toBeUndefined()
})

test('a feed of H.264 and AAC without renditions needs no process', async () => {
  const { stream } = watch(h264, { renditions: [] })
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await vi.waitFor(() => expect(segmentsOf(stream, 'v0').length).toBeGreaterThanOrEqual(2), PATIENT)
  expect(ffmpeg.running).toBe(0)
})
