import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Measured } from '../../src/services/measured.ts'
import type { LoadControl, LoadVerdict } from '../../src/core/channels/runs/load.ts'
import { type Rung, rungsOf } from '../../src/core/channels/runs/rungs.ts'
import type { TranscodeEvent, TranscodeJob, TranscodeLog } from '../../src/core/channels/runs/transcoder.ts'
import { reachSources } from '../../src/net/reach.ts'
import type { FrameSink } from '../../src/media/frame.ts'
import { createFfmpeg, type Ffmpeg, type FfmpegProcess } from '../../src/media/ffmpeg/ffmpeg.ts'
import { ChannelStreams } from '../../src/media/hls/channelStreams.ts'
import { PushSources } from '../../src/media/transcoder/sources.ts'
import { createTranscoder, type FfmpegTranscoder } from '../../src/media/transcoder/transcoder.ts'
import { encoded, Player, type Recorded } from '../media/ffmpeg/frames.ts'
import { silentLog } from '../support/log.ts'
import { endChildren, ended, plentyOfRoom, until } from '../support/channels.ts'
import { freeUdpPort } from '../support/lossyUdp.ts'

const LADDER = {
  video: [{ id: 're_1', label: 'tiny', width: 96, height: 54, bitrate: 100_000, frameRate: null }],
  audioKbps: 64,
}

let wide: Recorded
let silent: Recorded
let radio: Recorded
let dir: string
let sources: PushSources
let transcoder: FfmpegTranscoder
let streams: ChannelStreams
let scripted: ScriptedLoad
/** Every started process, with the number of running ones at its start. */
let started: { process: FfmpegProcess; beside: number }[]
let events: string[]
let logs: string[]
let measured: Measured
const players: Player[] = []

beforeAll(async () => {
  wide = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '192x108' })
  silent = await encoded({ video: 'h264', seconds: 2, gop: 25, size: '128x128' })
  radio = await encoded({ audio: 'aac', seconds: 2 })
})

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-transcoder-'))
  started = []
  events = []
  logs = []
  measured = new Measured({ clock: systemClock }, '')
  sources = new PushSources()
  const ffmpeg = watched(createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 8 }))
  const tools = { clock: systemClock, log: silentLog }
  const reach = reachSources({ ...tools, allowPrivate: true })
  const plenty = plentyOfRoom()
  scripted = new ScriptedLoad()
  streams = new ChannelStreams(systemClock)
  transcoder = createTranscoder({
    ...tools,
    ffmpeg,
    streams,
    sources,
    reach,
    meter: measured,
    load: { control: (job) => (job.engineId === 'en_2' ? scripted : plenty.control(job)) },
    folder: join(dir, 'channels'),
  })
  await transcoder.start()
  launch('en_1', { kind: 'push', ingestId: 'in_1' }, LADDER)
})
afterEach(async () => {
  endChildren()
  for (const player of players.splice(0)) player.end()
  await transcoder.stop()
  await rm(dir, { recursive: true })
})

function launch(engineId: string, source: TranscodeJob['source'], ladder: TranscodeJob['ladder']): void {
  transcoder.launch({ engineId, name: 'test', source, ladder }, (event: TranscodeEvent | TranscodeLog) => {
    if (event.kind === 'log') logs.push(event.message)
    else events.push(event.kind)
  })
}

/** Does what a test says. */
class ScriptedLoad implements LoadControl {
  rungs: readonly Rung[] = []
  notice = null
  #wanted: readonly Rung[] | null = null

  make(rungs: readonly Rung[]): void {
    this.#wanted = rungs
  }

  look(): LoadVerdict {
    if (this.#wanted === null) return { log: null, restart: false }
    this.rungs = this.#wanted
    this.#wanted = null
    return { log: { level: 'info', message: 'other renditions' }, restart: true }
  }

  begun(): void {}
  counted(): void {}
  over(): void {}
  ended(): void {}
}

function watched(ffmpeg: Ffmpeg): Ffmpeg {
  const run: Ffmpeg['run'] = (job) => {
    const beside = ffmpeg.running
    const result = ffmpeg.run(job)
    if (result.ok) started.push({ process: result.value, beside })
    return result
  }
  return Object.assign(Object.create(ffmpeg) as Ffmpeg, { run })
}

const push = (ingestId = 'in_1'): FrameSink => sources.publish(ingestId, async () => undefined)

/** Plays into a connection, which had other tracks before. */
function play(recorded: Recorded, sink: FrameSink): Player {
  const player = new Player(recorded)
  players.push(player)
  player.subscribe(sink)
  return player
}

const metrics = () => measured.renditions('en_1', 0, Number.MAX_SAFE_INTEGER)[0]?.samples ?? []

const times = (kind: string): number => events.filter((each) => each === kind).length

test('an encoder that changes its size and drops its audio continues in a new process, which starts after the old one has ended', async () => {
  const sink = push()
  const before = play(wide, { ...sink, end: () => undefined })
  await until(() => events.includes('manifest'), 'a manifest')
  before.end()
  play(silent, sink)
  await until(() => times('manifest') === 2, 'a manifest of the new process')
  expect(events).toEqual(['ready', 'source', 'manifest', 'source', 'manifest'])
  expect(started.map(({ beside }) => beside)).toEqual([0, 0])
  // Such a line would be reported as the reason when a process is killed.
  expect((await started[0]?.process.exited)?.tail).toBe('')
  const stream = streams.find('en_1')
  const segments = stream?.facts('0')?.segments ?? []
  // With two tracks and with one: the old segments still decode.
  const inits = [segments[0], segments.at(-1)].map((segment) => {
    const piece = { rendition: '0', kind: 'init', name: `init-${segment?.init}.mp4` } as const
    return stream?.piece(piece)?.toString('latin1').split('trak').length
  })
  expect(inits).toEqual([3, 2])
  expect(segments.map(({ discontinuity }) => discontinuity).filter((is) => is)).toEqual([true])
  expect(segments[0]?.discontinuity).toBe(false)
  await until(() => metrics().length >= 2, 'what the segments of both processes are like')
  const measuredOnce = metrics()
  expect(measuredOnce.length).toBeLessThanOrEqual(stream?.facts('0')?.segments.length ?? 0)
  for (const { framerate } of measuredOnce) expect(Math.abs((framerate ?? 0) - 25)).toBeLessThan(3)
})

test('after a failure the next encoder is tried at once, and fifty in a row start one process a second', async () => {
  play(wide, push())
  await until(() => events.includes('source'), 'a source')
  process.kill(started[0]?.process.pid ?? 0, 'SIGKILL')
  await until(() => events.includes('died'), 'the end of the process')
  const sinceMs = performance.now()
  for (let count = 0; count < 50; count += 1) {
    play(wide, push())
    await new Promise((done) => setTimeout(done, 40))
  }
  await until(() => events.at(-1) === 'manifest', 'frames of the last one')
  const seconds = Math.ceil((performance.now() - sinceMs) / 1000)
  expect(started.length).toBeGreaterThan(1)
  expect(started.length).toBeLessThanOrEqual(2 + seconds)
  expect(new Set(started.map(({ beside }) => beside))).toEqual(new Set([0]))
})

test('an encoder without video is reported once, is no failure, and plays when it sends video', async () => {
  const sink = push()
  const before = play(radio, { ...sink, end: () => undefined })
  await until(() => logs.length > 0, 'a word about it')
  expect(logs.at(-1)).toMatch(/^The source has no video/)
  // Longer than the pause before a retry.
  await new Promise((done) => setTimeout(done, 1500))
  expect([events, logs.filter((text) => text.includes('no video')).length, started]).toEqual([
    ['ready', 'sourceLost'],
    1,
    [],
  ])
  before.end()
  play(wide, sink)
  await until(() => events.includes('manifest'), 'a manifest')
  expect(events).not.toContain('died')
})

/** An engine whose renditions the test changes. */
function launchBoth(source: TranscodeJob['source']): void {
  const [tiny] = LADDER.video
  if (!tiny) throw new Error('no rendition')
  const video = [tiny, { ...tiny, id: 're_2', label: 'tinier', width: 64, height: 36 }]
  scripted.rungs = rungsOf(video)
  launch('en_2', source, { ...LADDER, video })
}

/** The closed segments of a rendition, each with its number and how many discontinuities were before it. */
const listed = (index: number) => {
  const facts = streams.find('en_2')?.facts(String(index))
  let discontinuities = facts?.discontinuitySequence ?? 0
  return (facts?.segments ?? [])
    .filter(({ closed }) => closed)
    .map(({ n, discontinuity }) => ({ n, after: (discontinuities += discontinuity ? 1 : 0) }))
}

/** The renditions of the master playlist. */
const variants = () =>
  streams
    .find('en_2')
    ?.variants()
    .map(({ rendition }) => rendition)
    .join()

test('an engine that pulls its source continues with other renditions, without losing the source', async () => {
  const port = await freeUdpPort()
  const url = `udp://127.0.0.1:${port}`
  const inputs = '-re -f lavfi -i testsrc2=size=192x108:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000'
  const codecs = '-c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -c:a aac'
  ended(spawn('ffmpeg', `-loglevel error ${inputs} ${codecs} -f mpegts ${url}`.split(' '), { stdio: 'ignore' }))
  launchBoth({ kind: 'pull', ingestId: 'in_2', url })
  await until(() => listed(0).length > 0, 'both renditions')
  const [first] = listed(1)
  scripted.make(scripted.rungs.slice(1))
  await until(() => (listed(1).at(-1)?.after ?? 0) > (first?.after ?? 0), 'the rendition that is left')
  expect([listed(0), variants()]).toEqual([[], '1'])
  expect(events.filter((kind) => kind === 'died' || kind === 'sourceLost')).toEqual([])
})

test('a dropped and restored rendition continues with the numbers of the others', async () => {
  launchBoth({ kind: 'push', ingestId: 'in_2' })
  play(wide, push('in_2'))
  await until(() => listed(0).length > 0 && listed(1).length > 0, 'both renditions')
  const [first] = listed(1)
  const all = scripted.rungs
  scripted.make(all.slice(1))
  await until(() => (listed(1).at(-1)?.after ?? 0) > (first?.after ?? 0), 'the rendition that is left')
  expect([listed(0), variants()]).toEqual([[], '1'])
  scripted.make(all)
  await until(() => listed(0).length > 1 && listed(1).at(-1)?.n === listed(0).at(-1)?.n, 'both again')
  expect(variants()).toBe('0,1')
  expect(listed(1)[0]).toEqual(first)
  expect(listed(1).slice(-listed(0).length)).toEqual(listed(0))
  expect(listed(0)[0]?.after).toBe((first?.after ?? 0) + 2)
  expect(events.filter((kind) => kind === 'died' || kind === 'sourceLost')).toEqual([])
})

test('an engine that is killed while its folder is being made leaves none, also when it is started again at once', async () => {
  const video = Array.from(
    { length: 40 },
    (_, n) => ({ ...LADDER.video[0], id: `re_${n}` }) as (typeof LADDER.video)[0],
  )
  const ladder = { ...LADDER, video }
  for (let round = 0; round < 10; round += 1) {
    launch('en_3', { kind: 'push', ingestId: 'in_3' }, ladder)
    const killed = transcoder.kill('en_3')
    launch('en_3', { kind: 'push', ingestId: 'in_3' }, ladder)
    await killed
    await transcoder.kill('en_3')
    expect(existsSync(join(dir, 'channels', 'en_3'))).toBe(false)
  }
})
