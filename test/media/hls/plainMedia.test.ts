import { afterEach, expect, test } from 'vitest'
import { PASSES } from '../../../src/app/feedMedia.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import { PlainMedia } from '../../../src/media/hls/plainMedia.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'
import { until } from '../../support/until.ts'
import { clip } from '../../support/clips.ts'
import { encoded, oddSides, Player, type Recorded, type Wanted } from '../ffmpeg/frames.ts'
import { OWN_LAYOUT, readTs } from '../mpegts/clips.ts'

const ffmpegAt = (binary: string) =>
  createFfmpeg({ log: silentLog, clock: systemClock, binary, maxChildren: () => 4, offline })
const ffmpeg = ffmpegAt('ffmpeg')

const open: Player[] = []
afterEach(async () => {
  for (const player of open.splice(0)) player.end()
  await until(() => ffmpeg.running === 0)
})

class Collected implements FrameSink {
  codecs: string[] = []
  video: TrackInfo | undefined
  audio: TrackInfo | undefined
  readonly frames: Frame[] = []
  readonly problems: string[] = []
  isOver = false
  tracks(tracks: readonly TrackInfo[]): void {
    this.codecs = tracks.map(({ codec }) => codec)
    this.video = tracks.find(({ kind }) => kind === 'video')
    this.audio = tracks.find(({ kind }) => kind === 'audio')
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
  }
  end(): void {
    this.isOver = true
  }
  readonly fail = (problem: string): void => void this.problems.push(problem)
  has(kind: Frame['kind']): boolean {
    return this.frames.some((frame) => frame.kind === kind)
  }
}

const begin = async (wanted: Omit<Wanted, 'seconds'>, binary = ffmpeg) =>
  play(await encoded({ seconds: 4, gop: 25, ...wanted }), binary)

function play(recorded: Recorded, binary = ffmpeg) {
  const source = new Player(recorded, 4)
  open.push(source)
  const plain = new PlainMedia({
    source,
    ffmpeg: binary,
    clock: systemClock,
    log: silentLog,
    passes: PASSES.plain,
    encodingRoom: ENDLESS_ROOM,
    name: 'test',
  })
  const take = () => {
    const sink = new Collected()
    return { sink, leave: plain.subscribe(sink, sink.fail) }
  }
  return { source, take }
}

test('H.264 and AAC pass as they are, without a process', async () => {
  const { take } = await begin({ video: 'h264', audio: 'aac' })
  const { sink } = take()
  await until(() => sink.has('video') && sink.has('audio'))
  expect([sink.codecs, ffmpeg.running]).toEqual([['h264', 'aac'], 0])
})

test.each(['opus', 'pcma', 'pcmu'] as const)(
  '%s becomes AAC beside H.264, once for all subscribers, until the last of them leaves',
  async (audio) => {
    const { source, take } = await begin({ video: 'h264', audio })
    const first = take()
    await until(() => first.sink.has('audio'))
    const second = take()
    await until(() => second.sink.has('audio'))
    expect([first.sink.codecs, second.sink.codecs]).toEqual([
      ['h264', 'aac'],
      ['h264', 'aac'],
    ])
    expect(second.sink.frames[0]).toMatchObject({ kind: 'video', key: true })
    expect([ffmpeg.running, source.subscribers]).toEqual([1, 1])
    first.leave()
    const before = second.sink.frames.length
    await until(() => second.sink.frames.length > before + 20)
    expect(ffmpeg.running).toBe(1)
    second.leave()
    expect(source.subscribers).toBe(0)
    await until(() => ffmpeg.running === 0)
  },
)

test('AAC with a layout of channels of its own, which browsers do not play, becomes plain 5.1', async () => {
  const { take } = play(readTs(clip(`${OWN_LAYOUT} -f mpegts`, 'ts')))
  const { sink } = take()
  await until(() => sink.has('audio'))
  expect(ffmpeg.running).toBe(1)
  expect(sink.audio).toMatchObject({ codec: 'aac', channels: 6 })
})

test('other video becomes H.264 with keyframes and even sides, and its end is passed on', async () => {
  const { source, take } = await begin({ video: 'vp8', audio: 'opus', filter: oddSides })
  const { sink } = take()
  await until(() => sink.frames.filter(({ kind, key }) => kind === 'video' && key).length > 1)
  expect(sink.codecs.toSorted()).toEqual(['aac', 'h264'])
  expect(sink.video).toMatchObject({ width: 158, height: 118 })
  source.end()
  await until(() => sink.isOver)
})

test('a conversion that fails ends for each subscriber, and begins again with the next one', async () => {
  const { source, take } = await begin({ video: 'h264', audio: 'opus' }, ffmpegAt('/nowhere/ffmpeg'))
  const [first, second] = [take(), take()]
  await until(() => second.sink.problems.length > 0)
  expect([first.sink.problems, second.sink.problems]).toEqual([
    [expect.stringContaining('/nowhere/ffmpeg')],
    [expect.stringContaining('/nowhere/ffmpeg')],
  ])
  expect(source.subscribers).toBe(0)
  first.leave()
  second.leave()
  const third = take()
  await until(() => third.sink.problems.length > 0)
})
