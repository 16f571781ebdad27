import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import { Hub } from '../../src/media/hub.ts'
import { createFfmpeg, type Ffmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import { MatroskaWriter } from '../../src/media/ffmpeg/matroska.ts'
import { ENDLESS_ROOM } from '../../src/media/convert/encodingRoom.ts'
import { webRtcMedia } from '../../src/media/convert/opus.ts'
import type { VideoCodec } from '../../src/media/codecs/codecs.ts'
import { encoded, oddSides, Player } from '../media/ffmpeg/frames.ts'
import { listenFor, type Place } from '../media/rtmp/publications.ts'
import { pace, until } from '../support/until.ts'
import { silentLog } from '../support/log.ts'
import { offline } from '../support/offline.ts'

let place: Place
let ffmpeg: Ffmpeg
/** Milliseconds by which the clock of the converter is ahead. */
let later = 0
beforeAll(async () => {
  place = await listenFor()
})
afterAll(() => place.stop())
beforeEach(() => {
  place.publications.length = 0
  ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 4, offline })
})
afterEach(() => ffmpeg.stop(0))

class Collected implements FrameSink {
  readonly lists: (readonly TrackInfo[])[] = []
  readonly frames: Frame[] = []
  ended = false
  tracks(tracks: readonly TrackInfo[]): void {
    this.lists.push(tracks)
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
  }
  end(): void {
    this.ended = true
  }
  of(kind: Frame['kind']): Frame[] {
    return this.frames.filter((frame) => frame.kind === kind)
  }
}

/** Of a recording. */
const LENGTH_US = 2_000_000

/** Two seconds of changing video and of silence with a tone from 1.0 s to 1.3 s, as a publisher sends them live. */
async function recorded(video: string): Promise<{ tracks: readonly TrackInfo[]; frames: Frame[] }> {
  const tone = 'aevalsrc=if(between(t\\,1\\,1.3)\\,0.8*sin(2*PI*1000*t)\\,0):s=44100'
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=25', '-f', 'lavfi', '-i', tone, '-t', '2']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', ...video.split(' '), '-c:a', 'aac', '-ac', '2']
  const target = ['-f', 'flv', `rtmp://127.0.0.1:${place.port}/v2/pub/x`]
  await once(
    spawn('ffmpeg', ['-v', 'error', '-nostdin', ...inputs, ...codecs, ...target], { stdio: 'ignore' }),
    'close',
  )
  await until(() => place.publications[0]?.ends === 1)
  const { trackLists, frames } = place.publications[0] ?? { trackLists: [], frames: [] }
  return { tracks: trackLists[0] ?? [], frames }
}

/** The output of a recording that is played into the converter. */
async function converted(video: string, { encodes = true, shiftUs = 0 } = {}) {
  const source = await recorded(video)
  const hub = new Hub()
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + later }
  const encodingRoom = encodes ? ENDLESS_ROOM : null
  const conversion = webRtcMedia(hub, { ffmpeg, clock, log: silentLog, name: 'test', encodingRoom })
  const out = new Collected()
  conversion.media.subscribe(out)
  hub.tracks(source.tracks)
  for (const [at, frame] of source.frames.entries()) {
    hub.frame({ ...frame, timeUs: frame.timeUs + shiftUs, decodeTimeUs: frame.decodeTimeUs + shiftUs })
    // Four times as fast as real time: audio that is converted before the first frame has no viewer.
    if (at % 8 === 0) await pace(25)
  }
  return { source, out, hub, stop: () => conversion.stop() }
}

describe('AAC becomes Opus', () => {
  test('in steps of exactly 20 ms, synchronous with the unchanged video', async () => {
    const shiftUs = 3600e6
    const { source, out, stop } = await converted('-bf 0', { shiftUs })
    await until(() => out.of('audio').length > 85)
    await stop()
    expect(out.lists).toMatchObject([
      [
        { codec: 'h264', width: 160 },
        { codec: 'opus', sampleRate: 48_000 },
      ],
    ])
    expect(out.of('video')).toHaveLength(source.frames.filter(({ kind }) => kind === 'video').length)
    const times = out.of('audio').map(({ timeUs }) => timeUs)
    for (const [at, time] of times.entries()) expect(Math.abs(time - (times[0] ?? 0) - at * 20_000)).toBeLessThan(2)
    const opus = await toneBegins(out.lists[0] ?? [], out.of('audio'))
    const aac = await toneBegins(
      source.tracks,
      source.frames.filter(({ kind }) => kind === 'audio'),
    )
    expect(aac).toBeGreaterThan(0.9)
    expect(Math.abs(opus - shiftUs / 1e6 - aac)).toBeLessThan(0.03)
  })

  test('also without video', async () => {
    const { out, stop } = await converted('-vn')
    await until(() => out.of('audio').length > 60)
    await stop()
    expect(out.lists).toMatchObject([[{ codec: 'opus' }]])
  })

  test('continues after the clock of the publisher was reset', async () => {
    const { source, out, hub, stop } = await converted('-bf 0', { shiftUs: 60e6 })
    await until(() => out.of('audio').length > 80)
    for (const frame of source.frames) hub.frame(frame)
    await until(() => out.of('audio').filter(({ timeUs }) => timeUs < 3e6).length > 80)
    await stop()
  })

  test('starts again after its process died, with a delay', async () => {
    const pids: number[] = []
    const kept = ffmpeg
    ffmpeg = {
      ...kept,
      run: (job) => {
        const started = kept.run(job)
        if (started.ok) pids.push(started.value.pid ?? 0)
        return started
      },
    }
    const { source, out, hub, stop } = await converted('-bf 0')
    await until(() => out.of('audio').length > 80)
    const before = out.of('audio').length
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await until(() => kept.running === 0)
    const again = () => source.frames.filter(({ kind }) => kind === 'audio').forEach((frame) => hub.frame(frame))
    again()
    expect(pids).toHaveLength(1)
    later += 1001
    again()
    await until(() => out.of('audio').length > before + 80)
    expect(pids.length).toBeGreaterThan(1)
    await stop()
    await kept.stop(0)
    expect(out.ended).toBe(true)
  })
})

describe('video with B-frames', () => {
  test('is encoded again without them: the same frames at the same times', async () => {
    const { source, out, hub, stop } = await converted('-bf 2')
    const shown = source.frames.filter(({ kind }) => kind === 'video').map(({ timeUs }) => timeUs)
    // The decoder holds the last ones back, because other frames might have to be shown first.
    await until(() => out.of('video').length >= shown.length - 5)
    // However late the first frame was, audio that is converted after it has a viewer.
    for (const frame of source.frames.filter(({ kind }) => kind === 'audio')) {
      hub.frame({ ...frame, timeUs: frame.timeUs + LENGTH_US, decodeTimeUs: frame.decodeTimeUs + LENGTH_US })
    }
    await until(() => out.of('audio').length > 20)
    await stop()
    expect(out.lists.at(-1)).toMatchObject([{ codec: 'h264', width: 160, height: 120 }, { codec: 'opus' }])
    const video = out.of('video')
    expect(video[0]?.key).toBe(true)
    expect(video.every(({ timeUs, decodeTimeUs }) => timeUs === decodeTimeUs)).toBe(true)
    const inOrder = shown.toSorted((a, b) => a - b)
    for (const [at, { timeUs }] of video.entries()) expect(Math.abs(timeUs - (inOrder[at] ?? 0))).toBeLessThan(2000)
  })

  test('is dropped if the configuration says so, and the audio continues', async () => {
    const { out, stop } = await converted('-bf 2', { encodes: false })
    await until(() => out.of('audio').length > 80)
    await stop()
    expect(out.lists).toMatchObject([[{ codec: 'opus' }]])
    expect(out.of('video')).toEqual([])
  })
})

describe('video of another codec', () => {
  /** Played at four times its speed, so that the conversion has begun while it comes. */
  async function viewed(
    video: VideoCodec,
    encodes: boolean,
    {
      bframes = 2,
      form = 'media',
      filter = 'null',
    }: { bframes?: number; form?: 'media' | 'original'; filter?: string } = {},
  ) {
    const source = await encoded({ video, audio: 'opus', seconds: 3, bframes, gop: 25, filter })
    const player = new Player(source, 4)
    const { stop, ...forms } = webRtcMedia(player, {
      ffmpeg,
      clock: systemClock,
      log: silentLog,
      name: 'test',
      encodingRoom: encodes ? ENDLESS_ROOM : null,
    })
    const [out, announced]: [Collected, (readonly TrackInfo[])[]] = [new Collected(), []]
    const over = [forms[form].subscribe(out), forms[form].announce((tracks) => announced.push(tracks))]
    const end = async (): Promise<void> => {
      for (const leave of over) leave()
      player.end()
      await stop()
    }
    return { source, out, announced, end }
  }

  test.each([
    ['hevc', 160, 'null'],
    ['av1', 160, 'null'],
    ['vp9', 158, oddSides],
  ] as const)('%s becomes H.264 of %i columns, and Opus passes as it is', async (video, width, filter) => {
    const { source, out, announced, end } = await viewed(video, true, { filter })
    await until(() => out.of('video').length > 40 && out.of('audio').length > 40)
    await end()
    expect(announced[0]).toMatchObject([{ codec: 'h264' }, { codec: 'opus' }])
    expect(out.lists.at(-1)).toMatchObject([{ codec: 'h264', width }, { codec: 'opus' }])
    expect(out.of('video')[0]?.key).toBe(true)
    const packets = source.frames
      .filter(({ kind }) => kind === 'audio')
      .map(({ data }) => Buffer.from(data).toString('hex'))
    for (const { data } of out.of('audio')) expect(packets).toContain(Buffer.from(data).toString('hex'))
  })

  test.each(['hevc', 'av1', 'vp9', 'vp8'] as const)('%s passes as it is to viewers who have it', async (video) => {
    const { source, out, announced, end } = await viewed(video, false, { bframes: 0, form: 'original' })
    await until(() => out.of('video').length > 40 && out.of('audio').length > 40)
    await end()
    expect(announced.at(-1)).toMatchObject([{ codec: video, width: 160 }, { codec: 'opus' }])
    expect(out.lists.at(-1)).toMatchObject([{ codec: video, width: 160, height: 120 }, { codec: 'opus' }])
    const sent = source.frames
      .filter(({ kind }) => kind === 'video')
      .map(({ data }) => Buffer.from(data).toString('hex'))
    expect(out.of('video').map(({ data }) => Buffer.from(data).toString('hex'))).toEqual(
      out.of('video').map((_, at) => sent[at % sent.length]),
    )
    expect(ffmpeg.running).toBe(0)
  })

  test.each([
    ['H.264', 'h264', 0],
    ['HEVC with B-frames', 'hevc', 2],
  ] as const)('%s has no such form', async (_, video, bframes) => {
    const { out, announced, end } = await viewed(video, true, { bframes, form: 'original' })
    await until(() => out.lists.at(-1)?.length === 0)
    await end()
    expect(announced).toEqual(announced.map(() => []))
  })

  test('is dropped if the configuration says so, and the audio continues', async () => {
    const { out, announced, end } = await viewed('hevc', false)
    await until(() => out.of('audio').length > 40)
    await end()
    expect(announced[0]).toMatchObject([{ codec: 'opus' }])
    expect(out.lists).toMatchObject([[{ codec: 'opus' }]])
    expect([out.of('video'), ffmpeg.running]).toEqual([[], 0])
  })
})

test('video whose frames are all shown equally late passes unchanged, without a process of its own', async () => {
  const source = await recorded('-bf 0')
  const names: string[] = []
  const counted: Ffmpeg = {
    ...ffmpeg,
    run: (job) => {
      names.push(job.name)
      return ffmpeg.run(job)
    },
  }
  const hub = new Hub()
  const options = { ffmpeg: counted, clock: systemClock, log: silentLog, name: 'test', encodingRoom: ENDLESS_ROOM }
  const conversion = webRtcMedia(hub, options)
  const out = new Collected()
  conversion.media.subscribe(out)
  // Profile main, in which there may be B-frames.
  const main = (track: TrackInfo): TrackInfo =>
    track.kind === 'video'
      ? { ...track, config: Uint8Array.from(track.config, (byte, at) => (at === 1 ? 77 : byte)) }
      : track
  hub.tracks(source.tracks.map(main))
  const video = source.frames.filter(({ kind }) => kind === 'video')
  for (const frame of video) hub.frame({ ...frame, timeUs: frame.decodeTimeUs + 80_000 })
  await conversion.stop()
  expect(out.of('video').map(({ data }) => data)).toEqual(video.map(({ data }) => data))
  expect(names).toEqual([])
})

test('without ffmpeg the video continues, without audio', async () => {
  const source = await recorded('-bf 0')
  ffmpeg = createFfmpeg({
    log: silentLog,
    clock: systemClock,
    binary: 'no-such-program',
    maxChildren: () => 4,
    offline,
  })
  const hub = new Hub()
  const options = { ffmpeg, clock: systemClock, log: silentLog, name: 'test', encodingRoom: ENDLESS_ROOM }
  const conversion = webRtcMedia(hub, options)
  const out = new Collected()
  conversion.media.subscribe(out)
  hub.tracks(source.tracks)
  for (const frame of source.frames) hub.frame(frame)
  hub.end()
  expect(out.of('video')).toHaveLength(source.frames.filter(({ kind }) => kind === 'video').length)
  expect(out.ended).toBe(true)
  await conversion.stop()
})

test('a source that ends also ends its processes', async () => {
  const { out, hub } = await converted('-bf 2')
  await until(() => out.of('video').length > 10)
  expect(ffmpeg.running).toBe(2)
  hub.end()
  expect(out.ended).toBe(true)
  await until(() => ffmpeg.running === 0)
})

test('no process runs without a listener', async () => {
  const hub = new Hub()
  const options = { ffmpeg, clock: systemClock, log: silentLog, name: 'test', encodingRoom: ENDLESS_ROOM }
  const { media, stop } = webRtcMedia(hub, options)
  const { tracks, frames } = await recorded('-bf 0')
  hub.tracks(tracks)
  for (const frame of frames) hub.frame(frame)
  expect(ffmpeg.running).toBe(0)
  for (const _ of ['once', 'again']) {
    const out = new Collected()
    const leave = media.subscribe(out)
    expect(out.of('video').length).toBeGreaterThan(1)
    for (const frame of frames) hub.frame(frame)
    await until(() => out.of('audio').length > 10)
    expect(out.of('video')[0]?.key).toBe(true)
    leave()
    await until(() => ffmpeg.running === 0)
  }
  await stop()
  const late = new Collected()
  media.subscribe(late)
  expect([late.ended, late.lists]).toEqual([true, []])
})

/** When the tone begins, in seconds from the first frame's time, in the decoded frames. */
async function toneBegins(tracks: readonly TrackInfo[], frames: readonly Frame[]): Promise<number> {
  const audio = tracks.filter(({ kind }) => kind === 'audio')
  const writer = new MatroskaWriter(audio)
  const argv = ['-v', 'error', '-f', 'matroska', '-i', 'pipe:0', '-f', 's16le', '-ac', '1', '-ar', '48000', 'pipe:1']
  const child = spawn('ffmpeg', argv, { stdio: ['pipe', 'pipe', 'ignore'] })
  const parts: Buffer[] = []
  child.stdout.on('data', (data: Buffer) => parts.push(data))
  child.stdin.end(Buffer.concat([writer.head(), ...frames.map((frame) => writer.frame(frame))]))
  await once(child, 'close')
  const samples = Buffer.concat(parts)
  let at = 0
  while (at < samples.length && Math.abs(samples.readInt16LE(at)) < 3000) at += 2
  return (frames[0]?.timeUs ?? 0) / 1e6 + at / 2 / 48_000
}
