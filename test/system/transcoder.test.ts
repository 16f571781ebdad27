import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Measured } from '../../src/commands/v2life/measured.ts'
import type { TranscodeEvent, TranscodeLog } from '../../src/core/life/transcoder.ts'
import { reachSources } from '../../src/delivery/reach.ts'
import type { FrameSink } from '../../src/media/frame.ts'
import { createFfmpeg, type Ffmpeg, type FfmpegProcess } from '../../src/media/packager/ffmpeg.ts'
import { PushSources } from '../../src/media/transcoder/sources.ts'
import { createTranscoder, type FfmpegTranscoder } from '../../src/media/transcoder/transcoder.ts'
import { encoded, Player, type Recorded } from '../media/packager/frames.ts'
import { silentLog } from '../support/app.ts'
import { until } from '../support/channels.ts'

const LADDER = {
  video: [{ id: 're_1', label: 'tiny', width: 96, height: 54, bitrate: 100_000, frameRate: null }],
  audioKbps: 64,
}

let wide: Recorded
let silent: Recorded
let dir: string
let sources: PushSources
let transcoder: FfmpegTranscoder
/** Every process that was started, and how many were running then. */
let started: { process: FfmpegProcess; beside: number }[]
let told: string[]
let measured: Measured
const players: Player[] = []

beforeAll(async () => {
  wide = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '192x108' })
  silent = await encoded({ video: 'h264', seconds: 2, gop: 25, size: '128x128' })
})

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-transcoder-'))
  started = []
  told = []
  measured = new Measured({ clock: systemClock }, '')
  sources = new PushSources()
  const ffmpeg = watched(createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: 8 }))
  const tools = { clock: systemClock, log: silentLog }
  const reach = reachSources({ ...tools, allowPrivate: false })
  transcoder = createTranscoder({ ...tools, ffmpeg, sources, reach, meter: measured, folder: join(dir, 'live') })
  await transcoder.start()
  const source = { kind: 'push', ingestId: 'in_1' } as const
  transcoder.launch(
    { engineId: 'en_1', name: 'test', source, ladder: LADDER },
    ({ kind }: TranscodeEvent | TranscodeLog) => {
      if (kind !== 'log') told.push(kind)
    },
  )
})
afterEach(async () => {
  for (const player of players.splice(0)) player.end()
  await transcoder.stop()
  await rm(dir, { recursive: true })
})

function watched(ffmpeg: Ffmpeg): Ffmpeg {
  const run: Ffmpeg['run'] = (job) => {
    const beside = ffmpeg.running
    const result = ffmpeg.run(job)
    if (result.ok) started.push({ process: result.value, beside })
    return result
  }
  return Object.assign(Object.create(ffmpeg) as Ffmpeg, { run })
}

const push = (): FrameSink => sources.publish('in_1', async () => undefined)

/** Plays into a connection; what it sent before that has other tracks. */
function play(recorded: Recorded, sink: FrameSink): Player {
  const player = new Player(recorded)
  players.push(player)
  player.subscribe(sink)
  return player
}

const metrics = () => measured.renditions('en_1', 0, Number.MAX_SAFE_INTEGER)[0]?.samples ?? []

const times = (kind: string): number => told.filter((each) => each === kind).length

test('an encoder that changes its size and drops its sound goes on in a new process, which begins when the old one is gone', async () => {
  const sink = push()
  const before = play(wide, { ...sink, end: () => undefined })
  await until(() => told.includes('manifest'), 'a manifest')
  before.end()
  play(silent, sink)
  await until(() => times('manifest') === 2, 'a manifest of the new process')
  expect(told).toEqual(['ready', 'source', 'manifest', 'source', 'manifest'])
  expect(started.map(({ beside }) => beside)).toEqual([0, 0])
  const folder = join(transcoder.folderOf('en_1'), '0')
  // Of two tracks and of one: the old segments can be decoded still.
  const [first, second] = await Promise.all(
    ['0_0.mp4', '1_0.mp4'].map((name) => readFile(join(folder, name), 'latin1')),
  )
  expect([first?.split('trak').length, second?.split('trak').length]).toEqual([3, 2])
  const playlist = await readFile(join(folder, 'index.m3u8'), 'utf8')
  expect(playlist).toMatch(/m4s[^]*#EXT-X-DISCONTINUITY[^]*m4s/)
  await until(() => metrics().length >= 2, 'what the segments of both processes are like')
  const measuredOnce = metrics()
  const listed = (await readFile(join(folder, 'index.m3u8'), 'utf8')).match(/m4s$/gm) ?? []
  expect(measuredOnce.length).toBeLessThanOrEqual(listed.length)
  for (const { framerate } of measuredOnce) expect(Math.abs((framerate ?? 0) - 25)).toBeLessThan(3)
})

test('after a failure the next encoder is tried at once, and fifty that come in a row start one process a second', async () => {
  play(wide, push())
  await until(() => told.includes('source'), 'a source')
  process.kill(started[0]?.process.pid ?? 0, 'SIGKILL')
  await until(() => told.includes('died'), 'the end of the process')
  const sinceMs = performance.now()
  for (let count = 0; count < 50; count += 1) {
    play(wide, push())
    await new Promise((done) => setTimeout(done, 40))
  }
  await until(() => told.at(-1) === 'manifest', 'pictures of the last one')
  const seconds = Math.ceil((performance.now() - sinceMs) / 1000)
  expect(started.length).toBeGreaterThan(1)
  expect(started.length).toBeLessThanOrEqual(2 + seconds)
  expect(new Set(started.map(({ beside }) => beside))).toEqual(new Set([0]))
})
