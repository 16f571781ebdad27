import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { ChannelStreams } from '../../../src/media/hls/channelStreams.ts'
import { createFfmpeg, type Ffmpeg, type FfmpegExit } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { SlateShow } from '../../../src/media/slate/show.ts'
import { clip } from '../../support/clips.ts'
import { until } from '../../support/until.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { StagedEngine } from '../../support/stagedEngine.ts'

const RUNGS = [
  { index: 0, id: 're_1', label: 'a', width: 160, height: 90, bitrate: 150_000, frameRate: null },
  { index: 1, id: 're_2', label: 'b', width: 96, height: 54, bitrate: 80_000, frameRate: { value: 15, scale: 1 } },
]
const PNG = clip('-f lavfi -i testsrc2=s=64x36 -frames:v 1', 'png')

let folder: string
let clock: ManualClock
let ffmpeg: Ffmpeg
let engine: StagedEngine
let show: SlateShow
let slates: Map<string, Buffer>
let loads: number
/** How many processes have ended. */
let encoded: number

function counted(run: ReturnType<Ffmpeg['run']>): typeof run {
  if (run.ok) void run.value.exited.then(() => (encoded += 1))
  return run
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-show-'))
  clock = new ManualClock(Date.UTC(2026, 10, 23))
  const real = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 4, offline })
  encoded = 0
  ffmpeg = { ...real, run: (job) => counted(real.run(job)) }
  engine = new StagedEngine(new ChannelStreams(clock), 'en_1', { rungs: RUNGS, hasAudio: true })
  slates = new Map([['sl_1', PNG]])
  loads = 0
  const load = async (slateId: string) => {
    loads += 1
    const bytes = slates.get(slateId)
    const media = { mediaType: 'image/png', width: 64, height: 36, durationMs: null, hasAudio: false } as const
    return bytes ? { bytes, media } : null
  }
  const { stream } = engine
  const parts = {
    ffmpeg,
    clock,
    log: silentLog,
    stream,
    engineId: 'en_1',
    rungs: RUNGS,
    audioKbps: 64,
    audioOnly: null,
    folder,
    load,
  }
  show = new SlateShow(parts)
})
afterEach(async () => {
  await show.stop()
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

/** Lets this time pass in steps, and the work of each step be done. */
async function pass(ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 100) {
    clock.advance(100)
    await new Promise((done) => setImmediate(done))
  }
}

/** A viewer comes, and the slate is encoded. */
async function view(slateId: string | null = 'sl_1'): Promise<void> {
  const before = encoded
  show.viewed(slateId)
  await until(() => encoded > before && readdirSync(folder).length === 0, 'the slate is encoded')
}

const segmentsOf = (rendition: string) => engine.stream.facts(rendition)?.segments.filter(({ closed }) => closed) ?? []

test('a channel without a broadcast shows three segments at once, up to now, the same in all renditions', async () => {
  await view()
  await pass(100)
  expect(engine.stream.showsSlate).toBe(true)
  expect(engine.stream.isLive).toBe(false)
  const [first, second] = [segmentsOf('0'), segmentsOf('1')]
  const shape = (segments: typeof first) => segments.map(({ n, startMs, duration }) => [n, startMs, duration])
  expect(shape(first)).toEqual(shape(second))
  expect(first.map(({ duration }) => duration)).toEqual([2, 2, 2])
  const end = (first[2]?.startMs ?? 0) + 2000
  expect([end > clock.now() - 1000, end <= clock.now()]).toEqual([true, true])
})

test('parts are regular for the targets of a broadcast before it, and for those that a slate chooses', async () => {
  engine.begin().play(2)
  engine.end()
  clock.advance(60_000)
  await view()
  await pass(4000)
  for (const rendition of ['0', '1']) {
    const { partSeconds = 0, segments = [] } = engine.stream.facts(rendition) ?? {}
    expect(partSeconds).toBe(0.35)
    const parts = segments.slice(-2)[0]?.parts.map(({ duration }) => duration) ?? []
    expect(parts.slice(0, -1).every((seconds) => seconds > 0.85 * 0.35 && seconds <= 0.35 + 1e-9)).toBe(true)
    expect(parts.length).toBeGreaterThan(4)
  }
})

test('a blip that is shorter than the time to reconnect shows no slate, a longer one does', async () => {
  engine.begin().play(2)
  engine.end()
  await view()
  await pass(3500)
  expect(engine.stream.showsSlate).toBe(false)
  engine.begin().play(1)
  engine.end()
  show.viewed('sl_1')
  await pass(3500)
  expect(engine.stream.showsSlate).toBe(false)
  await pass(1000)
  expect(engine.stream.showsSlate).toBe(true)
})

test('a process without media does not end the slate, and its first frame does', async () => {
  await view()
  await pass(1000)
  const run = { rungs: RUNGS, audio: 0, audioOnly: null, segment: () => undefined, playable: () => undefined }
  engine.stream.begin(run)
  await pass(3000)
  expect([engine.stream.showsSlate, engine.stream.isLive]).toEqual([true, false])
  engine.stream.end()
  await pass(1000)
  expect(engine.stream.showsSlate).toBe(true)
  const before = segmentsOf('0').length
  engine.stream.begin(run)
  engine.stream.observe({ kind: 'video', timeUs: 5_000_000 })
  expect(engine.stream.showsSlate).toBe(false)
  await pass(3000)
  // What had begun was closed, and nothing came after it.
  expect(segmentsOf('0').length - before).toBeLessThan(2)
  engine.begin().play(2)
  expect(segmentsOf('0').at(-2)).toMatchObject({ discontinuity: true })
  expect(engine.stream.isLive).toBe(true)
})

test('it ends when the viewers are gone, and comes again with them', async () => {
  await view()
  await pass(29_000)
  expect(engine.stream.showsSlate).toBe(true)
  await pass(2000)
  expect(engine.stream.showsSlate).toBe(false)
  const last = segmentsOf('0').at(-1)?.n ?? 0
  await pass(5000)
  expect(segmentsOf('0').at(-1)?.n).toBe(last)
  await view()
  await pass(2500)
  expect(engine.stream.showsSlate).toBe(true)
  expect(segmentsOf('0').find(({ n }) => n === last + 1)).toMatchObject({ discontinuity: true })
})

test('what cannot be encoded is tried again after a pause that grows', async () => {
  slates.set('sl_1', Buffer.from('no picture'))
  await view()
  for (let at = 0; at < 9; at += 1) {
    await pass(100)
    show.viewed('sl_1')
  }
  expect(loads).toBe(1)
  await pass(200)
  await view()
  expect(loads).toBe(2)
  await pass(1500)
  show.viewed('sl_1')
  expect(loads).toBe(2)
  slates.set('sl_1', PNG)
  await pass(600)
  await view()
  await pass(200)
  expect([loads, engine.stream.showsSlate]).toEqual([3, true])
})

/** A process that does nothing until it is killed. */
function hanging(): ReturnType<Ffmpeg['run']> {
  const { promise: exited, resolve } = Promise.withResolvers<FfmpegExit>()
  const stop = (): typeof exited => (resolve({ code: null, signal: 'SIGKILL', tail: '' }), exited)
  return { ok: true, value: { pid: null, progress: {}, write: () => false, end: () => undefined, exited, stop } }
}

test('an ffmpeg that hung kept a slate from ever being shown, and is killed after a minute', async () => {
  const real = { ...ffmpeg }
  let hangs = 0
  ffmpeg.run = () => ((hangs += 1), counted(hanging()))
  show.viewed('sl_1')
  await until(() => hangs === 1, 'ffmpeg hangs')
  await pass(59_000)
  expect(encoded).toBe(0)
  await pass(2000)
  expect(encoded).toBe(1)
  await until(() => readdirSync(folder).length === 0, 'the failure is noticed')
  ffmpeg.run = (job) => real.run(job)
  await pass(1100)
  await view()
  await pass(200)
  expect(engine.stream.showsSlate).toBe(true)
})
