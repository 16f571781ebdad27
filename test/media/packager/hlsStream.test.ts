import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createFfmpeg } from '../../../src/media/packager/ffmpeg.ts'
import { HlsStream } from '../../../src/media/packager/hlsStream.ts'
import { fileOf } from '../../../src/edge/http/hls/names.ts'
import { silentLog } from '../../support/app.ts'
import { encoded, Player, type Recorded } from './frames.ts'

const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: 8 })
const folder = mkdtempSync(join(tmpdir(), 'sluice-hls-'))
const open: { player: Player; stream: HlsStream }[] = []
let h264: Recorded
let vp8: Recorded

beforeAll(async () => {
  h264 = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  vp8 = await encoded({ video: 'vp8', audio: 'opus', seconds: 4, gop: 100, size: '320x180' })
})
afterEach(async () => {
  for (const { player, stream } of open.splice(0)) {
    player.end()
    await stream.stop()
  }
  expect(ffmpeg.running).toBe(0)
})
afterAll(() => rmSync(folder, { recursive: true }))

function package_(recorded: Recorded, speed = 6, ffmpegHost = ffmpeg) {
  const player = new Player(recorded, speed)
  const stream = new HlsStream({
    ffmpeg: ffmpegHost,
    clock: systemClock,
    log: { ...silentLog, warn: () => undefined },
    name: 'test',
    source: player,
    segments: { targetSeconds: 2, listed: 6, maxBytes: 64e6, parts: false },
    stallMs: 700,
  })
  open.push({ player, stream })
  return { player, stream }
}

interface Listed {
  sequence: number
  duration: number
  run: number
}

const uriOf = fileOf

function listed(stream: HlsStream): Listed[] {
  let run = -1
  let duration = 0
  return stream
    .playlist(uriOf)
    .split('\n')
    .flatMap((line) => {
      run = Number(/^#EXT-X-MAP:URI="init-(\d+)\.mp4"/.exec(line)?.[1] ?? run)
      duration = Number(/^#EXTINF:([\d.]+),/.exec(line)?.[1] ?? duration)
      const [, sequence] = /^segment-(\d+)/.exec(line) ?? []
      return sequence === undefined ? [] : [{ sequence: Number(sequence), duration, run }]
    })
}

/** What a player makes of the listed segments of one run. */
function probe(stream: HlsStream, segments: Listed[]) {
  const file = join(folder, `${Math.random()}.mp4`)
  const parts = segments.map(({ sequence }) => stream.piece({ kind: 'segment', sequence })!)
  writeFileSync(file, Buffer.concat([stream.piece({ kind: 'init', run: segments[0]!.run })!, ...parts]))
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', file]
  const { streams, format } = JSON.parse(execFileSync('ffprobe', args).toString()) as {
    streams: { codec_name: string; nb_read_frames: string; width?: number }[]
    format: { duration: string }
  }
  return { codecs: streams.map((s) => s.codec_name), frames: Number(streams[0]?.nb_read_frames), streams, format }
}

test('H.264 and AAC are packaged as they are, in segments of two seconds that play', async () => {
  const { stream } = package_(h264)
  expect(await stream.ready(6000)).toBe(true)
  await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(3), { timeout: 30_000 })
  const segments = listed(stream)
  for (const { duration } of segments) expect(Math.abs(duration - 2)).toBeLessThan(0.15)
  const { codecs, frames } = probe(stream, segments)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(Math.abs(frames - segments.length * 50)).toBeLessThanOrEqual(2)
  expect(stream.variant()).toMatchObject({
    codecs: expect.stringMatching(/^avc1\.[0-9a-f]{6},mp4a\.40\.2$/),
    size: { width: 320, height: 180 },
  })
  expect(stream.variant().bandwidth).toBeGreaterThan(50_000)
  expect(stream.playlist(uriOf)).toContain('#EXT-X-INDEPENDENT-SEGMENTS')
})

test('VP8 and Opus become H.264 and AAC, with a keyframe every two seconds', async () => {
  const { stream } = package_(vp8)
  expect(await stream.ready(6000)).toBe(true)
  await vi.waitFor(() => expect(listed(stream).length).toBeGreaterThanOrEqual(2), { timeout: 30_000 })
  const segments = listed(stream)
  for (const { duration } of segments) expect(Math.abs(duration - 2)).toBeLessThan(0.3)
  expect(probe(stream, segments).codecs).toEqual(['h264', 'aac'])
})

test('when ffmpeg is killed the stream goes on behind a discontinuity, and its numbers go on', async () => {
  const { stream } = package_(h264)
  await stream.ready(6000)
  const before = listed(stream)
  expect(signal('SIGKILL')).toBe(1)
  await vi.waitFor(() => expect(listed(stream).some(({ run }) => run === 1)).toBe(true), { timeout: 30_000 })
  const after = listed(stream)
  expect(stream.playlist(uriOf)).toContain('#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-1.mp4"')
  expect(after.map(({ sequence }) => sequence)).toEqual(after.map((_, index) => after[0]!.sequence + index))
  expect(after[0]!.sequence).toBeGreaterThanOrEqual(before[0]!.sequence)
  expect(
    probe(
      stream,
      after.filter(({ run }) => run === 1),
    ).frames,
  ).toBeGreaterThan(40)
})

test('when ffmpeg hangs it is killed, and the stream goes on', async () => {
  const { stream } = package_(h264)
  await stream.ready(6000)
  expect(signal('SIGSTOP')).toBe(1)
  await vi.waitFor(
    () => {
      stream.checkProgress()
      expect(listed(stream).some(({ run }) => run === 1)).toBe(true)
    },
    { timeout: 30_000, interval: 100 },
  )
})

/** Signals every ffmpeg that this process has started; answers how many. */
function signal(name: NodeJS.Signals): number {
  const out = execFileSync('ps', ['-o', 'pid=,comm=', '--ppid', String(process.pid)]).toString()
  const pids = out.split('\n').flatMap((line) => (line.endsWith(' ffmpeg') ? [Number.parseInt(line, 10)] : []))
  for (const pid of pids) process.kill(pid, name)
  return pids.length
}

test('other tracks begin a new run, and what the old one had is kept', async () => {
  const { stream, player } = package_(h264)
  await stream.ready(6000)
  player.change(h264.tracks.map((track) => (track.kind === 'video' ? { ...track, width: 322 } : track)))
  await vi.waitFor(() => expect(listed(stream).some(({ run }) => run === 1)).toBe(true), { timeout: 30_000 })
  expect(
    probe(
      stream,
      listed(stream).filter(({ run }) => run === 1),
    ).codecs,
  ).toEqual(['h264', 'aac'])
})

test('a source that ends ends the playlist, and what there is can be played to its end', async () => {
  const { stream, player } = package_(h264)
  await stream.ready(6000)
  player.end()
  await vi.waitFor(() => expect(stream.playlist(uriOf)).toContain('#EXT-X-ENDLIST'), { timeout: 30_000 })
  expect(stream.ended).toBe(true)
  expect(probe(stream, listed(stream)).frames).toBeGreaterThan(50)
})

test('without ffmpeg nothing is ready, and the reason is known', async () => {
  const without = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'no-such-program', maxChildren: 1 })
  const { stream } = package_(h264, 6, without)
  await vi.waitFor(() => expect(stream.problem).toContain('ffmpeg.path'), { timeout: 30_000 })
  expect(await stream.ready(100)).toBe(false)
})
