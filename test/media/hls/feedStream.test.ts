import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { HlsCodecs } from '../../../src/core/hls/feedRungs.ts'
import { hlsPlaylist } from '../../../src/core/hls/playlist.ts'
import { pieceOf } from '../../../src/edge/http/hls/names.ts'
import { FeedStream, type SegmentOptions } from '../../../src/media/hls/feedStream.ts'
import { MemoryStore } from '../../../src/media/hls/store.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { freeLoad } from '../../support/load.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { FastClock } from '../../support/fastClock.ts'
import { encoded, Player, type Recorded } from '../ffmpeg/frames.ts'
import { enhancedMessages } from '../rtmp/enhanced.ts'
import { type Listed, readPlaylist } from './readPlaylist.ts'

/** A process may take ten times as long to end, on a busy machine. */
const slowClock = new FastClock(0.1)
const ffmpeg = createFfmpeg({ log: silentLog, clock: slowClock, binary: 'ffmpeg', maxChildren: () => 8, offline })
const folder = mkdtempSync(join(tmpdir(), 'sluice-hls-'))
const open: { source: Player | Hub; stream: FeedStream }[] = []
let h264: Recorded
let vp8: Recorded

beforeAll(async () => {
  h264 = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  vp8 = await encoded({ video: 'vp8', audio: 'opus', seconds: 4, gop: 100, size: '320x180' })
})
afterEach(async () => {
  for (const { source, stream } of open.splice(0)) {
    source.end()
    await stream.stop()
  }
  expect(ffmpeg.running).toBe(0)
})
afterAll(() => {
  slowClock.close()
  rmSync(folder, { recursive: true })
})

/** As long as a process takes. */
const READY_MS = 120_000
/** The limit of the test ends it. */
const PATIENT = { timeout: 120_000, interval: 50 }

function package_(recorded: Recorded, ffmpegHost = ffmpeg, clock: Clock = systemClock) {
  const player = new Player(recorded, 6)
  return { player, ...packageSource(player, {}, ffmpegHost, 'h264', clock) }
}

function packageSource(
  source: Player | Hub,
  options: Partial<SegmentOptions> = {},
  ffmpegHost = ffmpeg,
  hlsCodecs: HlsCodecs = 'h264',
  clock: Clock = systemClock,
) {
  const warnings: string[] = []
  const stream = new FeedStream({
    ffmpeg: ffmpegHost,
    clock,
    log: { ...silentLog, warn: (_fields, text) => void warnings.push(text) },
    name: 'test',
    id: 'feed',
    store: new MemoryStore(),
    numbers: new StreamNumbers(systemClock),
    source,
    segments: { targetSeconds: 2, listed: 6, maxBytes: 64e6, parts: false, ...options },
    renditions: [],
    hlsCodecs,
    load: freeLoad(),
    encodingRoom: ENDLESS_ROOM,
    stallMs: 700,
  })
  open.push({ source, stream })
  return { stream, warnings }
}

const textOf = (stream: FeedStream): string => {
  const facts = stream.hls.facts('v0')
  return facts === undefined ? '' : hlsPlaylist(facts, { window: 60 })
}

/** The listed segments. `run` counts the discontinuities since the first of them. */
function listed(stream: FeedStream): (Listed & { run: number })[] {
  let run = 0
  return readPlaylist(textOf(stream)).segments.map((segment) => ({
    ...segment,
    run: (run += segment.discontinuity ? 1 : 0),
  }))
}

const secondsOf = (segments: readonly Listed[]): number => segments.reduce((sum, { duration }) => sum + duration, 0)

const bytesOf = (stream: FeedStream, name: string): Buffer => stream.hls.piece({ ...pieceOf(name)!, rendition: 'v0' })!

/** Decodes the listed segments of one run, as a player would. */
function probe(stream: FeedStream, segments: Listed[]) {
  const file = join(folder, `${Math.random()}.mp4`)
  const parts = segments.map(({ name }) => bytesOf(stream, name))
  writeFileSync(file, Buffer.concat([bytesOf(stream, segments[0]!.init), ...parts]))
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', file]
  const { streams, format } = JSON.parse(execFileSync('ffprobe', args).toString()) as {
    streams: {
      codec_name: string
      codec_tag_string: string
      nb_read_frames: string
      duration: string
      start_time: string
    }[]
    format: { duration: string }
  }
  return { codecs: streams.map((s) => s.codec_name), frames: Number(streams[0]?.nb_read_frames), streams, format }
}

test('H.264 and AAC are copied into segments of two seconds that play, without a process', async () => {
  const { stream } = package_(h264)
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  expect(ffmpeg.running).toBe(0)
  await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(3), PATIENT)
  const segments = listed(stream)
  for (const { duration } of segments) expect(Math.abs(duration - 2)).toBeLessThan(0.15)
  const { codecs, frames } = probe(stream, segments)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(Math.abs(frames - segments.length * 50)).toBeLessThanOrEqual(2)
  expect(stream.hls.variants()[0]).toMatchObject({
    codecs: expect.stringMatching(/^avc1\.[0-9a-f]{6},mp4a\.40\.2$/),
    size: { width: 320, height: 180 },
  })
  expect(stream.hls.variants()[0]!.bandwidth).toBeGreaterThan(50_000)
  expect(textOf(stream)).toContain('#EXT-X-INDEPENDENT-SEGMENTS')
})

test.each(['vp8', 'hevc'] as const)(
  '%s and Opus become H.264 and AAC, with a keyframe every two seconds',
  async (video) => {
    const recorded = await encoded({ video, audio: 'opus', seconds: 4, gop: 100, size: '320x180' })
    const { stream } = package_(recorded)
    expect(await stream.hls.ready(READY_MS)).toBe(true)
    await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(2), PATIENT)
    const segments = listed(stream)
    for (const { duration } of segments) expect(Math.abs(duration - 2)).toBeLessThan(0.3)
    expect(probe(stream, segments).codecs).toEqual(['h264', 'aac'])
  },
)

test.each([
  ['hevc', 2, 'hvc1', /^hvc1\.1\.6\.L\d+\.[0-9A-F.]+,opus$/],
  ['av1', 0, 'av01', /^av01\.0\.\d\dM\.08,opus$/],
  ['vp9', 0, 'vp09', /^vp09\.00\.\d\d\.08,opus$/],
] as const)(
  '%s and Opus stay as they are where the token says so, without a process',
  async (video, bframes, tag, codecs) => {
    const recorded = await encoded({ video, audio: 'opus', seconds: 4, gop: 50, bframes, size: '320x180' })
    const { stream } = packageSource(new Player(recorded, 6), { parts: true }, ffmpeg, 'source')
    expect(await stream.hls.ready(READY_MS)).toBe(true)
    await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(3), PATIENT)
    expect(ffmpeg.running).toBe(0)
    const segments = listed(stream)
    const probed = probe(stream, segments)
    expect(probed.codecs).toEqual([video, 'opus'])
    expect(probed.streams.map(({ codec_tag_string }) => codec_tag_string)).toEqual([tag, 'Opus'])
    // x265 has a keyframe after 49 frames, so its segments are longer, and the end of each round is one.
    expect(Math.abs(probed.frames - secondsOf(segments) * 25)).toBeLessThanOrEqual(4)
    for (const kind of ['video', 'audio']) {
      const sent = Buffer.from(recorded.frames.find((frame) => frame.kind === kind)!.data)
      expect(segments.some(({ name }) => bytesOf(stream, name).includes(sent))).toBe(true)
    }
    expect(textOf(stream)).toMatch(/^#EXT-X-PART:/m)
    const [rendition] = stream.hls.variants()
    expect(rendition).toMatchObject({ codecs: expect.stringMatching(codecs), size: { width: 320, height: 180 } })
  },
)

test('VP9 with 10 bits over enhanced RTMP stays as it is where the token says so', async () => {
  const filter = 'format=yuv420p10le'
  const recorded = await encoded({ video: 'vp9', audio: 'opus', seconds: 4, gop: 50, size: '320x180', filter })
  const received: { tracks: readonly TrackInfo[]; frames: Frame[] } = { tracks: [], frames: [] }
  const sink: FrameSink = {
    tracks: (tracks) => void (received.tracks = tracks),
    frame: (frame) => void received.frames.push(frame),
    end: () => undefined,
  }
  const ingest = new RtmpIngest(sink, { clock: { monotonic: () => 0 }, leftOut: () => undefined })
  for (const message of enhancedMessages(recorded)) ingest.take(message)
  const { stream } = packageSource(new Player(received, 6), {}, ffmpeg, 'source')
  expect(await stream.hls.ready(READY_MS)).toBe(true)
  await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(3), PATIENT)
  expect(ffmpeg.running).toBe(0)
  const segments = listed(stream)
  const probed = probe(stream, segments)
  expect(probed.codecs).toEqual(['vp9', 'opus'])
  expect(Math.abs(probed.frames - secondsOf(segments) * 25)).toBeLessThanOrEqual(4)
  expect(stream.hls.variants()).toMatchObject([{ codecs: expect.stringMatching(/^vp09\.02\.\d\d\.10,opus$/) }])
})

test.each(['opus', 'pcma', 'pcmu'] as const)(
  'H.264 passes unchanged beside %s that becomes AAC, in step',
  async (audioCodec) => {
    const recorded = await encoded({ video: 'h264', audio: audioCodec, seconds: 4, gop: 50, size: '320x180' })
    // Without audio after two seconds the video would begin, and the audio come after a discontinuity.
    const { stream, player } = package_(recorded, ffmpeg, slowClock)
    expect(await stream.hls.ready(READY_MS)).toBe(true)
    await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(3), PATIENT)
    // How far the audio is behind meanwhile, is a matter of the machine.
    player.end()
    await vi.waitFor(() => expect(stream.ended).toBe(true), PATIENT)
    const segments = listed(stream)
    const { codecs, streams } = probe(stream, segments)
    expect(codecs).toEqual(['h264', 'aac'])
    const whole = segments.slice(0, -1)
    expect(probe(stream, whole).frames).toBe(whole.length * 50)
    const [video, audio] = streams.map(({ start_time, duration }) => Number(start_time) + Number(duration))
    expect(Math.abs(video! - audio!)).toBeLessThan(0.3)
    const sent = recorded.frames.find(({ kind }) => kind === 'video')!
    expect(segments.some(({ name }) => bytesOf(stream, name).includes(Buffer.from(sent.data)))).toBe(true)
  },
)

test('when ffmpeg is killed, the stream continues after a discontinuity with the next numbers', async () => {
  const { stream } = package_(vp8)
  await stream.hls.ready(READY_MS)
  const before = listed(stream)
  expect(signal('SIGKILL')).toBe(1)
  await vi.waitFor(() => expect(listed(stream).some(({ run }) => run === 1)).toBe(true), PATIENT)
  const after = listed(stream)
  expect(textOf(stream)).toContain('#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-')
  expect(after.map(({ n }) => n)).toEqual(after.map((_, index) => after[0]!.n + index))
  expect(after[0]!.n).toBeGreaterThanOrEqual(before[0]!.n)
  expect(
    probe(
      stream,
      after.filter(({ run }) => run === 1),
    ).frames,
  ).toBeGreaterThan(40)
})

test('when ffmpeg hangs it is killed, and the stream continues', async () => {
  const { stream, warnings } = package_(vp8)
  await stream.hls.ready(READY_MS)
  expect(signal('SIGSTOP')).toBe(1)
  await vi.waitFor(async () => {
    // The next process may begin as slowly as it likes.
    if (warnings.length === 0) await stream.checkProgress()
    expect(listed(stream).some(({ run }) => run === 1)).toBe(true)
  }, PATIENT)
})

/** Signals every ffmpeg that this process has started; returns how many. */
function signal(name: NodeJS.Signals): number {
  const out = execFileSync('ps', ['-o', 'pid=,comm=', '--ppid', String(process.pid)]).toString()
  const pids = out.split('\n').flatMap((line) => (line.endsWith(' ffmpeg') ? [Number.parseInt(line, 10)] : []))
  for (const pid of pids) process.kill(pid, name)
  return pids.length
}

test('a change of tracks begins a new run, and the segments of the old one stay', async () => {
  const { stream, player } = package_(h264)
  await stream.hls.ready(READY_MS)
  player.change(h264.tracks.map((track) => (track.kind === 'video' ? { ...track, width: 322 } : track)))
  await vi.waitFor(() => expect(listed(stream).some(({ run }) => run === 1)).toBe(true), PATIENT)
  expect(
    probe(
      stream,
      listed(stream).filter(({ run }) => run === 1),
    ).codecs,
  ).toEqual(['h264', 'aac'])
})

test('the end of a source ends the playlist, which still plays to its end', async () => {
  const { stream, player } = package_(h264)
  await stream.hls.ready(READY_MS)
  player.end()
  await vi.waitFor(() => expect(textOf(stream)).toContain('#EXT-X-ENDLIST'), PATIENT)
  expect(stream.ended).toBe(true)
  expect(probe(stream, listed(stream)).frames).toBeGreaterThan(50)
})

describe.each([
  ['passed on', { video: 'h264', audio: 'aac' }],
  ['converted', { video: 'vp8', audio: 'opus' }],
] as const)('video that is %s', (_, codecs) => {
  test('may be missing for seconds: the audio goes on, playlist and media agree, and players stay as close to the live edge', async () => {
    const recorded = await encoded({ ...codecs, seconds: 12, gop: 50, size: '320x180' })
    const [fromUs, untilUs] = [4_000_000, 10_000_000]
    const hub = new Hub()
    const { stream } = packageSource(hub, { parts: true, listed: 60 })
    hub.tracks(recorded.tracks)
    const takes = ({ kind, timeUs }: Frame): boolean => kind === 'audio' || timeUs < fromUs || timeUs >= untilUs
    await playInto(hub, recorded, { takes, playedSeconds: () => secondsOf(listed(stream)) })
    const holdBack = await vi.waitFor(() => {
      const [, seconds] = /PART-HOLD-BACK=([\d.]+)/.exec(textOf(stream)) ?? []
      expect(seconds).toBeDefined()
      return Number(seconds)
    }, PATIENT)
    expect(holdBack).toBeLessThan(2)
    hub.end()
    await vi.waitFor(() => expect(stream.ended).toBe(true), PATIENT)
    expect(textOf(stream)).not.toMatch(/^#EXT-X-DISCONTINUITY$/m)
    const segments = listed(stream)
    const said = secondsOf(segments)
    const { streams } = probe(stream, segments)
    expect(streams.map(({ codec_name }) => codec_name)).toEqual(['h264', 'aac'])
    for (const track of streams)
      expect(Math.abs(said - (Number(track.duration) - Number(track.start_time)))).toBeLessThan(0.3)
    // A keyframe is shown again three times a second.
    const repeated = Number(streams[0]?.nb_read_frames) - (said - 6) * 25
    expect(repeated).toBeGreaterThan(3)
    expect(repeated).toBeLessThan(30)
  })
})

interface Playing {
  readonly takes: (frame: Frame) => boolean
  /** What has come out so far: a process that began late would give all at once. */
  readonly playedSeconds: () => number
}

/** A segment that is not complete, and an encoder. */
const BEHIND_SECONDS = 3

/** Plays `takes` at four times real time, and slower while that is too fast. */
async function playInto(sink: FrameSink, { frames }: Recorded, { takes, playedSeconds }: Playing): Promise<void> {
  const clock = new FastClock()
  const startMs = clock.monotonic()
  const playingSeconds = () => (clock.monotonic() - startMs) / 1000
  clock.crawlWhile(() => playingSeconds() - playedSeconds() > BEHIND_SECONDS)
  for (const frame of frames.toSorted((a, b) => a.decodeTimeUs - b.decodeTimeUs)) {
    const aheadMs = startMs + frame.decodeTimeUs / 1000 - clock.monotonic()
    if (aheadMs > 0) await clock.sleep(aheadMs)
    if (takes(frame)) sink.frame(frame)
  }
  clock.close()
}

test('the normal end of a broadcast is not a failure: no restart, and no warning in the log', async () => {
  const { stream, player, warnings } = package_(h264)
  await stream.hls.ready(READY_MS)
  player.end()
  await vi.waitFor(() => expect(stream.ended).toBe(true), PATIENT)
  expect([warnings, stream.problem, ffmpeg.running]).toEqual([[], null, 0])
})

test('a stream has ended when its publisher leaves just after ffmpeg failed', async () => {
  const { stream, player } = package_(vp8)
  await stream.hls.ready(READY_MS)
  expect(signal('SIGKILL')).toBe(1)
  player.end()
  await vi.waitFor(() => expect(textOf(stream)).toContain('#EXT-X-ENDLIST'), PATIENT)
  expect(ffmpeg.running).toBe(0)
})

test('without ffmpeg no segment is ready, and the stream has the reason', async () => {
  const without = createFfmpeg({
    log: silentLog,
    clock: systemClock,
    binary: 'no-such-program',
    maxChildren: () => 1,
    offline,
  })
  const { stream } = package_(vp8, without)
  await vi.waitFor(() => expect(stream.problem).toContain('ffmpeg.path'), PATIENT)
  expect(await stream.hls.ready(100)).toBe(false)
})
