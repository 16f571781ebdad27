import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Measured } from '../../src/services/measured.ts'
import { HANG_TEXT } from '../../src/core/channels/runs/hang.ts'
import { rungsOf } from '../../src/core/channels/runs/rungs.ts'
import type { TranscodeEvent, TranscodeJob, TranscodeLog } from '../../src/core/channels/runs/transcoder.ts'
import type { Frame, FrameSink } from '../../src/media/frame.ts'
import { createFfmpeg, type Ffmpeg, type FfmpegProcess } from '../../src/media/ffmpeg/ffmpeg.ts'
import { ChannelStreams } from '../../src/media/hls/channelStreams.ts'
import { PushSources } from '../../src/media/transcoder/sources.ts'
import { EngineOutputs } from '../../src/media/transcoder/engineOutput.ts'
import { createTranscoder, type FfmpegTranscoder } from '../../src/media/transcoder/transcoder.ts'
import { readInit, readMedia } from '../hls/mp4.ts'
import { encoded, Player, type Recorded } from '../media/ffmpeg/frames.ts'
import { freeLoad, neverSlow, ScriptedLoad } from '../support/load.ts'
import { silentLog } from '../support/log.ts'
import { offline } from '../support/offline.ts'
import { endChildren } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { FastClock } from '../support/fastClock.ts'

const TINY = { id: 're_1', label: 'tiny', width: 96, height: 54, bitrate: 100_000, frameRate: null }
const LADDER = { video: [TINY], audioKbps: 64, audioOnly: false }

let wide: Recorded
let silent: Recorded
let radio: Recorded
let dir: string
let sources: PushSources
let transcoder: FfmpegTranscoder
/** Of the sources and of the engines. Processes get real time to end. */
let clock: FastClock
let streams: ChannelStreams
let scripted: ScriptedLoad
/** Every started process, when, and the number of running ones at its start. */
let started: { process: FfmpegProcess; atMs: number; beside: number }[]
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
  clock = new FastClock()
  measured = new Measured({ clock }, '')
  sources = new PushSources(silentLog)
  const ffmpeg = watched(
    createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 8, offline }),
  )
  const tools = { clock, random: systemRandom, log: silentLog }
  const plenty = freeLoad()
  scripted = new ScriptedLoad()
  streams = new ChannelStreams(clock)
  transcoder = createTranscoder({
    ...tools,
    ffmpeg,
    streams,
    outputs: new EngineOutputs(tools),
    sources,
    dial: () => Promise.reject(new Error('these engines are pushed to')),
    meter: measured,
    load: { control: (job) => (job.engineId === 'en_2' ? scripted : neverSlow(plenty.control(job))) },
    folder: join(dir, 'channels'),
    loadSlate: async () => null,
  })
  await transcoder.start()
  launch('en_1', { kind: 'push', ingestId: 'in_1' }, LADDER)
})
afterEach(async () => {
  endChildren()
  for (const player of players.splice(0)) player.end()
  await transcoder.stop()
  clock.close()
  await rm(dir, { recursive: true })
})

function launch(engineId: string, source: TranscodeJob['source'], ladder: TranscodeJob['ladder']): void {
  const job = { engineId, channelId: 'ch_1', accountId: 'a', name: 'test', source, audio: [], ladder }
  transcoder.launch(job, (event: TranscodeEvent | TranscodeLog) => {
    if (event.kind === 'log') logs.push(event.message)
    else events.push(event.kind)
  })
}

function watched(ffmpeg: Ffmpeg): Ffmpeg {
  const run: Ffmpeg['run'] = (job) => {
    const [beside, atMs] = [ffmpeg.running, clock.monotonic()]
    const result = ffmpeg.run(job)
    if (result.ok) started.push({ process: result.value, atMs, beside })
    return result
  }
  return Object.assign(Object.create(ffmpeg) as Ffmpeg, { run })
}

const push = (ingestId = 'in_1'): FrameSink => sources.publish(ingestId, async () => undefined)

/** Plays into a connection, which had other tracks before. */
function play(recorded: Recorded, sink: FrameSink): Player {
  const player = new Player(recorded, 1, clock)
  players.push(player)
  player.subscribe(sink)
  return player
}

const metrics = () => measured.renditions('en_1', 0, Number.MAX_SAFE_INTEGER)[0]?.samples ?? []

const times = (kind: string): number => events.filter((each) => each === kind).length

test('a publisher that changes its size and drops its audio continues in a new process, which starts after the old one has ended', async () => {
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
  // The last segment of the first process has as few frames as there were, which show no rate.
  const isOff = ({ framerate }: { framerate: number | null }): boolean => Math.abs((framerate ?? 0) - 25) >= 3
  expect(measuredOnce.filter(isOff).length).toBeLessThanOrEqual(1)
})

test('after a failure the next publisher is tried at once, and fifty in a row start one process a second of the stream', async () => {
  play(wide, push())
  await until(() => events.includes('source'), 'a source')
  process.kill(started[0]?.process.pid ?? 0, 'SIGKILL')
  await until(() => events.includes('died'), 'the end of the process')
  for (let count = 0; count < 50; count += 1) {
    play(wide, push())
    await clock.sleep(40)
  }
  await until(() => events.at(-1) === 'manifest', 'frames of the last one')
  expect(started.length).toBeGreaterThan(1)
  const pausesMs = started.slice(1).map(({ atMs }, index) => atMs - (started[index]?.atMs ?? 0))
  expect(pausesMs.filter((ms) => ms < 1000)).toEqual([])
  expect(new Set(started.map(({ beside }) => beside))).toEqual(new Set([0]))
})

test('an encoder that hangs is killed, and the next one goes on with the same source and renditions', async () => {
  play(wide, push())
  await until(() => events.includes('manifest'), 'a manifest')
  const hung = started[0]?.process
  process.kill(hung?.pid ?? 0, 'SIGSTOP')
  await until(() => times('manifest') === 2, 'a manifest of the next process')
  expect((await hung?.exited)?.signal).toBe('SIGKILL')
  expect(logs).toContain(HANG_TEXT)
  expect(events).toEqual(['ready', 'source', 'manifest', 'notice', 'source', 'manifest'])
  expect(started.map(({ beside }) => beside)).toEqual([0, 0])
})

/** The media playlist of a variant, as kinds of segments: `mp4a.40.2` or `avc1…`, with `|` at each discontinuity. */
function codecsListed(): string {
  const stream = streams.find('en_1')
  const segments = stream?.facts('0')?.segments.filter(({ closed }) => closed) ?? []
  const kinds = segments.map(({ init, discontinuity }) => {
    const bytes = stream?.piece({ rendition: '0', kind: 'init', name: `init-${init}.mp4` })?.toString('latin1') ?? ''
    return `${discontinuity ? '|' : ''}${bytes.includes('avc1') ? 'v' : ''}${bytes.includes('mp4a') ? 'a' : ''}`
  })
  return kinds.join('').replaceAll(/(va|a)\1+/g, '$1')
}

const facts = () => streams.find('en_1')?.variants() ?? []

test('a publisher without video plays as audio, and video comes and goes between publishers after discontinuities', async () => {
  const sink = push()
  const first = play(radio, { ...sink, end: () => undefined })
  await until(() => events.includes('manifest'), 'a manifest of the audio')
  const audio = 64_000
  const bandwidth = Math.ceil(audio * 1.1 * 1.02 + 8000)
  const none = { size: null, frameRate: null, range: 'SDR' }
  expect(facts()).toEqual([{ ...none, rendition: '0', bandwidth, averageBandwidth: audio + 8000, codecs: 'mp4a.40.2' }])
  expect(streams.find('en_1')?.facts('0')).toMatchObject({ targetSeconds: 2, partSeconds: 0.35 })
  first.end()
  const second = play(wide, { ...sink, end: () => undefined })
  await until(() => codecsListed() === 'a|va', 'video')
  expect(facts()).toMatchObject([{ codecs: expect.stringMatching(/^avc1.*mp4a/), size: { width: 96 } }])
  expect(Math.abs((facts()[0]?.frameRate ?? 0) - 25)).toBeLessThan(3)
  await until(() => streams.find('en_1')?.thumbnail, 'a thumbnail')
  second.end()
  play(radio, sink)
  await until(() => codecsListed() === 'a|va|a', 'audio again')
  expect(facts()).toMatchObject([{ codecs: 'mp4a.40.2', size: null, frameRate: null, bandwidth }])
  expect([
    events.filter((kind) => kind === 'died'),
    logs.filter((line) => line.startsWith('The source has no')),
  ]).toEqual([[], []])
  expect(streams.find('en_1')?.thumbnail).toBeNull()
})

test('every part of the audio of a publisher without video is independent, and the master names the smallest rendition', async () => {
  const video = [TINY, { ...TINY, id: 're_2', bitrate: 50_000 }]
  launch('en_4', { kind: 'push', ingestId: 'in_4' }, { ...LADDER, video })
  play(radio, push('in_4'))
  const stream = () => streams.find('en_4')
  await until(() => stream()?.isLive === true && stream()?.lists(2) === true, 'two segments')
  expect(stream()?.variants()).toMatchObject([{ rendition: '1', codecs: 'mp4a.40.2' }])
  const parts =
    stream()
      ?.facts('1')
      ?.segments.flatMap((segment) => segment.parts) ?? []
  expect(parts.length).toBeGreaterThan(10)
  expect(parts.every(({ independent }) => independent)).toBe(true)
})

test('a publisher without video is reported once when the ladder has no audio, and plays when it sends video', async () => {
  launch('en_4', { kind: 'push', ingestId: 'in_4' }, { ...LADDER, audioKbps: null })
  events = []
  const sink = push('in_4')
  const before = play(radio, { ...sink, end: () => undefined })
  await until(() => logs.length > 0, 'a word about it')
  expect(logs.at(-1)).toMatch(/^The source has no video, and the ABR ladder of this engine has no audio/)
  // Longer than the pause before a retry.
  await clock.sleep(1500)
  expect([events.filter((kind) => kind !== 'ready'), logs.length, started]).toEqual([['sourceLost'], 1, []])
  before.end()
  play(wide, sink)
  await until(() => events.includes('manifest'), 'a manifest')
  expect(events).not.toContain('died')
})

test('audio after a long gap begins in a new process, which makes no silence for the gap', async () => {
  const sink = { ...push(), end: () => undefined }
  const player = play(radio, sink)
  await until(() => started.length === 1, 'a process')
  player.end()
  const [frame] = radio.frames
  if (frame === undefined) throw new Error('no frame')
  sink.frame({ ...frame, timeUs: 3_600_000_000, decodeTimeUs: 3_600_000_000 })
  await started[0]?.process.exited
  play(radio, sink)
  await until(() => events.includes('manifest'), 'a manifest')
  expect(streams.find('en_1')?.facts('0')?.segments.length).toBeLessThan(20)
})

test('audio that a publisher stops sending goes on as silence beside its video', async () => {
  const sink = push()
  const isThere = ({ kind, timeUs }: Frame): boolean => kind === 'video' || timeUs < 3_000_000
  play(wide, { ...sink, frame: (frame) => isThere(frame) && sink.frame(frame) })
  const closed = () =>
    streams
      .find('en_1')
      ?.facts('0')
      ?.segments.filter((segment) => segment.closed) ?? []
  await until(() => closed().length >= 4, 'segments without audio of the publisher')
  const piece = (kind: 'init' | 'segment', name: string) =>
    streams.find('en_1')?.piece({ rendition: '0', kind, name }) ?? Buffer.alloc(0)
  const tracks = closed().map(({ n, init }) =>
    readMedia(piece('segment', `s${n}.m4s`), readInit(piece('init', `init-${init}.mp4`))),
  )
  for (const all of tracks) expect(all.map(({ samples }) => samples.length > 20)).toEqual([true, true])
  expect(started).toHaveLength(1)
})

const COPY_LADDER = {
  ...LADDER,
  video: [
    { ...TINY, copy: true as const },
    { ...TINY, id: 're_2' },
  ],
}

/** The samples of video in the closed segments of a rendition, one after the other. */
const videoOf = (engineId: string, rendition: string): Buffer => {
  const stream = streams.find(engineId)
  const closed = stream?.facts(rendition)?.segments.filter((segment) => segment.closed) ?? []
  return Buffer.concat(
    closed.map(({ n }) => stream?.piece({ rendition, kind: 'segment', name: `s${n}.m4s` }) ?? Buffer.alloc(0)),
  )
}

test('a copied rendition has the frames of the source as they are, and the others its keyframes', async () => {
  const bFrames = await encoded({ video: 'h264', audio: 'aac', seconds: 4, gop: 60, bframes: 2, size: '192x108' })
  launch('en_6', { kind: 'push', ingestId: 'in_6' }, COPY_LADDER)
  play(bFrames, push('in_6'))
  const stream = () => streams.find('en_6')
  await until(() => stream()?.isLive === true && stream()?.lists(2) === true, 'two segments')
  const bytes = videoOf('en_6', '0')
  const frames = bFrames.frames.filter(({ kind }) => kind === 'video').slice(1, 60)
  expect(frames.filter(({ data }) => !bytes.includes(Buffer.from(data)))).toEqual([])
  const [copied, follows] = ['0', '1'].map((rendition) => stream()?.facts(rendition)?.segments.slice(0, 2) ?? [])
  expect(copied?.map(({ n, independent }) => [n, independent])).toEqual(
    follows?.map(({ n, independent }) => [n, independent]),
  )
  expect(copied?.every(({ independent }) => independent)).toBe(true)
  for (const [at, segment] of (copied ?? []).entries())
    expect(Math.abs(segment.duration - (follows?.[at]?.duration ?? 0))).toBeLessThan(0.1)
  expect(stream()?.variants()).toMatchObject([
    { size: { width: 192, height: 108 } },
    { size: { width: 96, height: 54 } },
  ])
  expect(logs.filter((line) => !line.startsWith('The source has'))).toEqual([])
})

test('what cannot be copied is encoded with the figures of the ladder, and the log says why', async () => {
  const rare = await encoded({ video: 'h264', audio: 'aac', seconds: 16, gop: 1000, size: '192x108' })
  launch('en_6', { kind: 'push', ingestId: 'in_6' }, COPY_LADDER)
  const player = new Player(rare, 1, clock)
  players.push(player)
  player.subscribe(push('in_6'))
  const isEncoded = () => streams.find('en_6')?.variants()[0]?.size?.width === 96
  await until(() => streams.find('en_6')?.isLive === true && isEncoded(), 'the encoded rendition')
  const about = logs.filter((line) => !line.startsWith('The source has'))
  expect(about).toEqual([
    expect.stringMatching(/^gop_too_long: /),
    expect.stringMatching(/^The encoder sent no keyframe for 10 s: .*, so tiny is encoded and not copied$/),
  ])
})

/** An engine whose renditions the test changes. */
function launchBoth(source: TranscodeJob['source']): void {
  const video = [TINY, { ...TINY, id: 're_2', label: 'tinier', width: 64, height: 36 }]
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
  const video = Array.from({ length: 40 }, (_, n) => ({ ...TINY, id: `re_${n}` }))
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
