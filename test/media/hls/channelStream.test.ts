import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { encodedBandwidth } from '../../../src/core/hls/bandwidth.ts'
import { ChannelStreams } from '../../../src/media/hls/channelStreams.ts'
import type { ChannelStream } from '../../../src/media/hls/channelStream.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { RUNGS, StagedEngine, type StagedOptions } from '../../support/stagedEngine.ts'

const START = Date.UTC(2026, 10, 22)

function staged(options: StagedOptions = {}) {
  const clock = new ManualClock(START)
  const streams = new ChannelStreams(clock)
  return { clock, streams, engine: new StagedEngine(streams, 'en_1', options) }
}

/** What two renditions must have in common: numbers, dates and discontinuities. */
function segmentsOf(stream: ChannelStream, rendition: string) {
  const facts = stream.facts(rendition)
  let number = facts?.discontinuitySequence ?? 0
  return (facts?.segments ?? [])
    .filter(({ closed }) => closed)
    .map(({ n, startMs, discontinuity }) => ({ n, startMs, number: (number += discontinuity ? 1 : 0) }))
}

test('all renditions have the same segments, over a restart of the encoder and a rendition that is left out for a while', () => {
  const { engine, clock } = staged()
  const { stream } = engine
  engine.begin().play(3)
  expect(segmentsOf(stream, '0')).toHaveLength(3)
  expect(segmentsOf(stream, '1')).toEqual(segmentsOf(stream, '0'))
  engine.end()
  clock.advance(10_000)
  engine.begin(RUNGS.slice(1)).play(2)
  expect([stream.facts('0'), stream.variants().map(({ rendition }) => rendition)]).toEqual([undefined, ['1']])
  engine.end()
  clock.advance(10_000)
  engine.begin().play(2)
  engine.end()
  const [resumed, all] = [segmentsOf(stream, '0'), segmentsOf(stream, '1')]
  // Each end of a process also ends the frame that `play` has begun.
  expect(all.map(({ n }) => n)).toEqual(Array.from({ length: 10 }, (_, at) => (all[0]?.n ?? 0) + at))
  expect(resumed).toHaveLength(3)
  expect(all.slice(-3)).toEqual(resumed)
  expect(new Set(all.map(({ number }) => number)).size).toBe(3)
  // Parts are numbered on, so no name comes again.
  expect(stream.facts('0')?.segments[0]?.parts[0]?.n).toBeGreaterThan(stream.facts('1')?.segments[0]?.parts[0]?.n ?? 0)
})

test('after a restart all renditions have one date, although they ended at different times and the source repeats itself', () => {
  const { engine } = staged()
  const { stream } = engine
  const { rungs } = engine.begin().play(2).sink
  // Only the first one got these before its process died.
  for (let at = 1; at <= 5; at++) {
    const timeUs = 4_000_000 + at * 40_000
    rungs[0]?.frame({ kind: 'video', key: false, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(9) })
  }
  stream.end()
  engine.begin().play(2)
  const [one, other] = ['0', '1'].map((rendition) => segmentsOf(stream, rendition))
  expect(other).toEqual(one)
  expect(new Set(one?.map(({ number }) => number)).size).toBe(2)
})

test('while a source pauses, a rendition that repeats frames begins its segment by the pause earlier, and no other one', () => {
  const { engine } = staged()
  const { rungs } = engine.begin().sink
  engine.stream.observe({ kind: 'video', timeUs: 0 })
  const show = (at: number, times: readonly number[]): void => {
    let segment = -1
    for (const seconds of times) {
      const [timeUs, key] = [Math.round(seconds * 1e6), Math.floor(seconds / 2) > segment]
      segment = Math.floor(seconds / 2)
      rungs[at]?.frame({ kind: 'video', key, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(9) })
    }
  }
  const every = (step: number, from: number, until: number): number[] =>
    Array.from({ length: Math.round((until - from) / step) }, (_, at) => from + at * step)
  // 25 frames a second with a pause from 1.96 to 2.09, and 15 without one.
  show(0, [...every(0.04, 0, 2), ...every(0.04, 2.09, 8)])
  show(1, every(1 / 15, 0, 8))
  const [first, second] = ['0', '1'].map((rendition) => segmentsOf(engine.stream, rendition))
  expect(first?.map(({ startMs }, at) => Math.round(startMs - (second?.[at]?.startMs ?? 0)))).toEqual([0, 90, 10])
  expect(first?.map(({ n, number }) => [n, number])).toEqual(second?.map(({ n, number }) => [n, number]))
})

test('it is live when each rendition has a segment of the present process, and says so once', () => {
  const calls: string[] = []
  const run = { playable: () => void calls.push('playable') }
  const { engine } = staged({ run })
  const { stream } = engine
  engine.begin()
  expect([stream.isLive, stream.lists(1)]).toEqual([false, false])
  engine.play(2)
  expect([stream.isLive, stream.lists(2), stream.lists(3), calls]).toEqual([true, true, false, ['playable']])
  engine.end()
  expect([stream.isLive, stream.lists(2)]).toEqual([false, true])
  engine.begin()
  expect(stream.isLive).toBe(false)
  engine.play(1)
  expect([stream.isLive, calls]).toEqual([true, ['playable', 'playable']])
})

test('the numbers of a stream that begins again are higher, also in the process of another server', () => {
  const { engine, streams, clock } = staged()
  engine.begin().play(5)
  engine.end()
  const before = segmentsOf(engine.stream, '0').at(-1)
  clock.advance(15_000)
  streams.close('en_1')
  const restarted = new StreamNumbers(clock)
  restarted.raise((before?.number ?? 0) + 1)
  for (const again of [streams, new ChannelStreams(clock, restarted)]) {
    const after = segmentsOf(new StagedEngine(again, 'en_1').begin().play(1).stream, '0')[0]
    expect(after?.n).toBeGreaterThan(before?.n ?? 0)
    expect(after?.number).toBeGreaterThan(before?.number ?? 0)
  }
})

test('BANDWIDTH is what the encoder keeps to, AVERAGE-BANDWIDTH what it aims at, and frame rates are usual ones', () => {
  const { engine } = staged({ run: { audio: 128_000 } })
  const [first, second] = engine.begin().play(1).stream.variants()
  expect(first).toMatchObject({ bandwidth: 3_602_116, averageBandwidth: 2_644_000, frameRate: 25 })
  expect(first).toMatchObject({ codecs: 'avc1.64001f', size: { width: 1280, height: 720 } })
  expect(second).toMatchObject({ bandwidth: 1_123_516, averageBandwidth: 844_000 })
})

test('BANDWIDTH grows with what an encoder makes that exceeds its rate', () => {
  const { engine } = staged({ frameBytes: 12_000 })
  const [first, second] = engine.begin().play(2).stream.variants()
  // 25 frames a second and the boxes around them: less than the larger rendition may have, more than the smaller one.
  expect(first?.bandwidth).toBe(encodedBandwidth(2_500_000, 0, 2).peak)
  expect(second?.bandwidth).toBeGreaterThan(25 * 12_000 * 8)
})

test('segments are measured, and pieces know how long they play', () => {
  const measured: unknown[] = []
  const segment = (index: number, { frames, seconds }: { frames: number; seconds: number }): void =>
    void measured.push([index, frames, seconds])
  const { engine } = staged({ run: { segment } })
  const { stream } = engine
  engine.begin().play(1).playOn(1)
  expect(measured).toEqual([
    [0, 50, 2],
    [1, 50, 2],
  ])
  const [closed, open] = stream.facts('0')?.segments ?? []
  const [part] = open?.parts ?? []
  const playsMs = (kind: 'segment' | 'part', n = 0): number => stream.playsMs('0', kind, n)
  expect([playsMs('segment', closed?.n), playsMs('part', part?.n), playsMs('part', 5)]).toEqual([2000, 320, 0])
})

test('a stream that is closed answers waiting requests, and a process that ends late writes into nothing', async () => {
  const { engine, streams } = staged()
  const { stream } = engine
  engine.begin().play(1)
  const waiting = stream.reached('0', stream.facts('0')?.nextSegment ?? 0, 0, 60_000)
  streams.close('en_1')
  expect(await waiting).toBe('late')
  engine.play(1)
  expect([streams.find('en_1'), stream.facts('0'), stream.variants()]).toEqual([undefined, undefined, []])
})

/** The audio of a staged engine, 1024 samples a frame, in turns with its video. */
function playWithAudio(engine: StagedEngine, segments: number, isThere = (_seconds: number) => true): void {
  const { rungs } = engine.sink
  for (let at = 0; at < segments * 2; at += 1024 / 48_000) {
    const timeUs = Math.round(at * 1e6)
    const frame = { kind: 'audio', key: true, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(50) } as const
    if (isThere(at)) for (const rung of rungs) rung.frame(frame)
  }
  engine.play(segments)
}

const AUDIO_RUN = { audio: 128_000, audioOnly: 2 }

test('the audio alone is a rendition with the segments and parts of the others, and every part is independent', () => {
  const { engine, clock } = staged({ hasAudio: true, run: AUDIO_RUN })
  const { stream } = engine
  playWithAudio(engine.begin(), 3)
  const [video, audio] = ['0', '2'].map((rendition) => stream.facts(rendition)?.segments.filter(({ closed }) => closed))
  expect(audio).toHaveLength(3)
  const shape = (segments: typeof video) =>
    segments?.map(({ n, startMs, duration, parts }) => [n, startMs, duration, parts.map((part) => part.duration)])
  expect(shape(audio)).toEqual(shape(video))
  expect(audio?.flatMap(({ parts }) => parts).every(({ independent }) => independent)).toBe(true)
  expect(audio?.every(({ bytes }, at) => bytes < (video?.[at]?.bytes ?? 0))).toBe(true)
  expect(stream.variants().at(-1)).toEqual({
    rendition: '2',
    bandwidth: 151_616,
    range: 'SDR',
    averageBandwidth: 136_000,
    codecs: 'mp4a.40.2',
    size: null,
    frameRate: null,
  })
  engine.end()
  clock.advance(10_000)
  // Another rung leads now.
  engine.begin(RUNGS.slice(1)).play(2)
  expect(segmentsOf(stream, '2')).toEqual(segmentsOf(stream, '1'))
})

test('the rendition with the audio alone has silence where no audio comes, so that it goes on with the others', () => {
  const { engine } = staged({ hasAudio: true, run: AUDIO_RUN })
  const { stream } = engine
  playWithAudio(engine.begin(), 4, (seconds) => seconds < 2.5 || seconds > 4.2)
  expect(segmentsOf(stream, '2')).toEqual(segmentsOf(stream, '0'))
  const parts = stream.facts('2')?.segments.flatMap((segment) => segment.parts) ?? []
  // A fragment without samples has no bytes of media.
  expect(Math.min(...parts.map(({ bytes }) => bytes))).toBeGreaterThan(100)
})

test('audio that comes a frame too late for its part moves no part of the audio alone by more than a frame', () => {
  const { engine } = staged({ hasAudio: true, run: AUDIO_RUN })
  const { stream } = engine
  engine.begin()
  const { rungs } = engine.sink
  let audioAt = (0.8 * 1024) / 48_000
  for (let at = 0; at <= 8; at += 0.04) {
    const frame = (kind: 'video' | 'audio', seconds: number) => {
      const timeUs = Math.round(seconds * 1e6)
      const key = kind === 'audio' || Math.round(at * 25) % 50 === 0
      return { kind, key, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(50) }
    }
    for (const rung of rungs) rung.frame(frame('video', at))
    // It is late at each second boundary of segments, and in time at the others.
    const lateSeconds = at % 4 > 1 && at % 4 < 3 ? 0.06 : -0.06
    for (; audioAt < at - lateSeconds; audioAt += 1024 / 48_000)
      for (const rung of rungs) rung.frame(frame('audio', audioAt))
  }
  const segments = stream.facts('2')?.segments.filter(({ closed }) => closed) ?? []
  expect(segments.length).toBeGreaterThan(2)
  for (const { n, duration } of segments) {
    const bytes = stream.piece({ rendition: '2', kind: 'segment', name: `s${n}.m4s` }) ?? Buffer.alloc(0)
    expect(Math.abs((framesIn(bytes) * 1024) / 48_000 - duration)).toBeLessThan(1024 / 48_000)
  }
})

/** The samples of all fragments: the count is the first number of each `trun` after its flags. */
function framesIn(bytes: Buffer): number {
  let frames = 0
  for (let at = bytes.indexOf('trun'); at >= 0; at = bytes.indexOf('trun', at + 4)) frames += bytes.readUInt32BE(at + 8)
  return frames
}

test('the rendition with the audio alone is gone while there is no audio, and comes back with the numbers of the others', () => {
  const { engine, clock } = staged({ hasAudio: true, run: AUDIO_RUN })
  const { stream } = engine
  playWithAudio(engine.begin(), 2)
  engine.end()
  clock.advance(10_000)
  const silent = stream.begin({
    rungs: RUNGS,
    audio: 0,
    audioOnly: null,
    segment: () => undefined,
    playable: () => undefined,
  })
  expect([stream.facts('2'), stream.variants().map(({ rendition }) => rendition), silent.rungs.length]).toEqual([
    undefined,
    ['0', '1'],
    2,
  ])
  stream.end()
  engine.begin().play(2)
  expect(segmentsOf(stream, '2')).toHaveLength(2)
  expect(segmentsOf(stream, '0').slice(-2)).toEqual(segmentsOf(stream, '2'))
})
