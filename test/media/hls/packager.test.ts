import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { hlsPlaylist } from '../../../src/core/hls/playlist.ts'
import type { Frame, TrackInfo, VideoTrack } from '../../../src/media/frame.ts'
import { FrameSampler } from '../../../src/media/hls/frameSampler.ts'
import { HlsPackager } from '../../../src/media/hls/packager.ts'
import { MemoryStore } from '../../../src/media/hls/store.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { HlsStream } from '../../../src/media/hls/stream.ts'
import { mediaSeconds, readInit, readMedia } from '../../hls/mp4.ts'
import { playingSeconds, readMediaPlaylist } from '../../hls/playlist.ts'
import { pieceOf } from '../../../src/edge/http/hls/names.ts'
import { type Listed, readPlaylist } from './readPlaylist.ts'

const LIMITS = { listed: 4, maxBytes: 10_000 }
const VIDEO: VideoTrack = { kind: 'video', codec: 'h264', width: 64, height: 48, config: Buffer.from([1, 66, 0, 30]) }
const AAC_LC = Buffer.from([0x11, 0x90])
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 48_000, channels: 2, config: AAC_LC }

/** A stream without a process: frames go in. */
function packaged({
  tracks = [VIDEO],
  parts = true,
  maxBytes = LIMITS.maxBytes,
}: {
  tracks?: TrackInfo[]
  parts?: boolean
  maxBytes?: number
} = {}) {
  const clock = new ManualClock(Date.UTC(2027, 0, 1))
  const numbers = new StreamNumbers(clock)
  const options = { id: 'feed', clock, store: new MemoryStore(), numbers, renditions: ['v0'], ...LIMITS, maxBytes }
  const stream = new HlsStream(options)
  const packager = new HlsPackager(stream.rendition('v0')!, { segmentSeconds: 2, parts }, () => stream.changed())
  const sampler = new FrameSampler({
    packager,
    dateOf: (sourceMs) => clock.now() + sourceMs,
    hasGap: () => undefined,
  })
  sampler.tracks(tracks)
  const text = (): string => hlsPlaylist(stream.facts('v0')!, { window: LIMITS.listed })
  return { clock, stream, sampler, text, playlist: () => readPlaylist(text()) }
}

const frame = (kind: 'video' | 'audio', seconds: number, key = true, bytes = 10): Frame => {
  const timeUs = Math.round(seconds * 1e6)
  return { kind, timeUs, decodeTimeUs: timeUs, key, data: Buffer.alloc(bytes, 7) }
}

/** Video at a constant rate with a keyframe every `gop` frames. */
function play(sampler: FrameSampler, { from = 0, seconds = 20, fps = 25, gop = 50 } = {}): void {
  for (let at = 0; at < seconds * fps; at++) sampler.frame(frame('video', from + at / fps, at % gop === 0))
}

type Step = { kind: 'change' } | { kind: 'frame'; key: boolean; stepMs: number; bytes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'change' }) },
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constant('frame' as const),
      key: fc.boolean(),
      // With pauses, with a clock that stands still, and with one that is set back.
      stepMs: fc.oneof(
        { weight: 20, arbitrary: fc.integer({ min: 20, max: 400 }) },
        { weight: 1, arbitrary: fc.constantFrom(0, -200, -5000, 3000) },
      ),
      bytes: fc.nat(600),
    }),
  },
)

const bytesOf = (stream: HlsStream, name: string): Buffer | undefined =>
  stream.piece({ ...pieceOf(name)!, rendition: 'v0' })

/** The init of the last segment that it lists, the open one included. */
const lastMap = (text: string): string => text.match(/#EXT-X-MAP.*/g)?.at(-1) ?? ''

test('for any frames, playlists agree with each other and with the pieces', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 120, size: 'max' }), (steps) => {
      const { stream, sampler, text } = packaged()
      /** What every segment ever listed was: it must never change (RFC 8216 section 6.2.1). */
      const seen = new Map<number, Listed & { discontinuityNumber: number }>()
      let [atMs, width, first, hinted, init] = [10_000, 64, 0, '', lastMap('')]
      const heads = new Set<string>()
      for (const next of steps) {
        if (next.kind === 'change') sampler.tracks([{ ...VIDEO, width: (width += 2) }])
        else sampler.frame(frame('video', (atMs += next.stepMs) / 1000, next.key, next.bytes))
        if (stream.facts('v0') === undefined) continue
        const playlist = readPlaylist(text())
        heads.add(playlist.rules.join())
        expect(playlist.mediaSequence).toBeGreaterThanOrEqual(first)
        first = playlist.mediaSequence
        const [before, isNew] = [init, hinted !== '' && playlist.hint !== hinted]
        init = lastMap(text())
        if (isNew && init === before) expect(bytesOf(stream, hinted)).toBeDefined()
        hinted = playlist.hint
        let number = playlist.discontinuitySequence
        for (const [index, segment] of playlist.segments.entries()) {
          expect(segment.n).toBe(first + index)
          if (segment.discontinuity) number += 1
          const { parts: _, ...lasting } = segment
          const was = seen.get(segment.n) ?? { ...segment, discontinuityNumber: number }
          expect({ ...lasting, parts: was.parts, discontinuityNumber: number }).toEqual(was)
          seen.set(segment.n, was)
          expect(Math.round(segment.duration)).toBeLessThanOrEqual(playlist.targetDuration)
          expect(bytesOf(stream, segment.name)).toBeDefined()
          expect(bytesOf(stream, segment.init)).toBeDefined()
          const parts = segment.parts.map(({ name }) => bytesOf(stream, name)!)
          if (parts.length > 0) expect(Buffer.concat(parts).equals(bytesOf(stream, segment.name)!)).toBe(true)
        }
        expect(playlist.segments.length).toBeLessThanOrEqual(LIMITS.listed)
      }
      // TARGETDURATION, PART-TARGET and the hold-backs never change.
      expect(heads.size).toBeLessThanOrEqual(1)
    }),
    { numRuns: 40, endOnFailure: true },
  )
})

test.each([
  [30, 0.35],
  [25, 0.35],
  [15, 0.5],
  [10, 0.7],
  [7, 1],
])(
  'at %d frames a second parts last up to %d s, and never less than 85% of it but at the end of a segment',
  (fps, target) => {
    const { sampler, playlist } = packaged({ maxBytes: 1e9 })
    play(sampler, { fps, gop: fps * 2 })
    const { partTarget, segments } = playlist()
    expect(partTarget).toBe(target)
    const parts = segments.flatMap((segment) => segment.parts.slice(0, -1))
    expect(parts.length).toBeGreaterThan(1)
    for (const { duration } of parts) {
      expect(duration).toBeLessThanOrEqual(target)
      expect(duration).toBeGreaterThanOrEqual(target * 0.85)
    }
  },
)

test('parts are numbered through the stream: the hint before the end of a segment is the first part of the next one', () => {
  const { sampler, text } = packaged()
  play(sampler, { seconds: 6 })
  const hints: string[] = []
  const listed = new Set<string>()
  for (let at = 0; at < 200; at++) {
    sampler.frame(frame('video', 6 + at / 25, at % 50 === 0))
    const { hint, all } = readPlaylist(text())
    if (hint !== hints.at(-1)) hints.push(hint)
    for (const name of all) listed.add(name)
  }
  expect(hints.length).toBeGreaterThan(20)
  expect(hints.slice(0, -1).filter((name) => !listed.has(name))).toEqual([])
})

describe('a gap in the video', () => {
  test('ends the segment with a last frame of the usual length, and a discontinuity follows', () => {
    const { sampler, playlist } = packaged({ maxBytes: 1e9 })
    play(sampler, { seconds: 5 })
    play(sampler, { from: 13, seconds: 5 })
    const { segments } = playlist()
    expect(segments.map(({ duration, discontinuity }) => [duration, discontinuity])).toEqual([
      [2, false],
      [1, false],
      [2, true],
      [2, false],
    ])
    expect(segments[2]!.date - segments[1]!.date).toBe(9000)
  })

  test.each([
    ['which has whole frames', 0.015, 186],
    ['of which an encoder kept a frame', 0.055, 183],
  ])('leaves no hole in the audio, %s: it begins and ends with the video', (_name, begins, count) => {
    const { sampler, stream, playlist } = packaged({ tracks: [VIDEO, AUDIO], maxBytes: 1e9 })
    for (const from of [0, 13]) {
      const video = Array.from({ length: 100 }, (_, n) => frame('video', from + n / 25, n % 50 === 0))
      const audio = Array.from({ length: count }, (_, n) => frame('audio', from + begins + (n * 1024) / 48_000))
      for (const one of [...video, ...audio].sort((a, b) => a.timeUs - b.timeUs)) sampler.frame(one)
    }
    sampler.discontinue()
    const { segments } = playlist()
    expect(segments.map(({ discontinuity }) => discontinuity)).toEqual([false, false, true, false])
    const init = readInit(bytesOf(stream, segments[0]!.init)!)
    const audio = segments.map(({ name }) => {
      const track = readMedia(bytesOf(stream, name)!, init)[1]!
      const from = track.start / init[1]!.timescale
      return [from, from + mediaSeconds(track, init[1]!)].map((seconds) => Math.round(seconds * 100))
    })
    expect([audio[0]![0], audio[1]![1], audio[2]![0], audio[3]![1]]).toEqual([0, 400, 400, 800])
  })

  test.each([
    [0.8, 4, 4],
    [0.2, 1, 5],
    [0.125, 2, 8],
  ])('is no gap at a low frame rate: %d a second, with a keyframe every %d', (fps, gop, target) => {
    const { sampler, playlist } = packaged()
    play(sampler, { fps, gop, seconds: 120 })
    const { segments, targetDuration } = playlist()
    // The first step looks like a pause, since nothing came before it.
    expect(segments.slice(1).filter(({ discontinuity }) => discontinuity)).toEqual([])
    expect([segments.length, targetDuration]).toEqual([4, target])
  })
})

test('a source with another configuration in each keyframe plays, with a segment for each', () => {
  const { sampler, stream, playlist } = packaged({ maxBytes: 1e6 })
  for (let at = 0; at < 300; at++) {
    if (at % 25 === 0) sampler.tracks([{ ...VIDEO, config: Buffer.from([1, 66, at % 50 === 0 ? 0 : 1, 30]) }])
    sampler.frame(frame('video', at / 25, at % 25 === 0))
  }
  expect(stream.facts('v0')).toBeDefined()
  expect(playlist().segments.map(({ duration }) => Math.round(duration * 100))).toEqual([100, 100, 100, 100])
})

test('a part that was announced is never one of another configuration: players would decode it with the init before', () => {
  const { sampler, stream, text } = packaged({ maxBytes: 1e6 })
  const announced = new Map<string, string>()
  const came = new Map<string, string>()
  for (let at = 0; at < 200; at++) {
    if (at === 120) sampler.tracks([{ ...VIDEO, width: 128 }])
    sampler.frame(frame('video', at / 25, at % 40 === 0))
    if (stream.facts('v0') === undefined) continue
    const { hint, all } = readPlaylist(text())
    if (!announced.has(hint)) announced.set(hint, lastMap(text()))
    for (const name of all) if (!came.has(name)) came.set(name, lastMap(text()))
  }
  const decodedWrongly = [...came].filter(([name, init]) => (announced.get(name) ?? init) !== init)
  expect(decodedWrongly).toEqual([])
  const missing = [...announced.keys()].filter((name) => !came.has(name))
  expect(missing).toHaveLength(2) // The one of the change, and the last one.
  expect(bytesOf(stream, missing[0]!)).toBeUndefined()
})

test('what follows a jump of the clock comes after a discontinuity, with times that go on', () => {
  const { sampler, playlist } = packaged({ tracks: [VIDEO, AUDIO], maxBytes: 1e6 })
  for (let at = 0; at < 400; at++) {
    const isJump = at === 250
    sampler.frame({ ...frame('video', at / 25, at % 50 === 0), isJump })
    sampler.frame({ ...frame('audio', at / 25), isJump })
  }
  expect(playlist().segments.map(({ discontinuity }) => discontinuity)).toEqual([false, false, true, false])
})

test('without keyframes a segment is cut at twice the target, and the next keyframe begins one', () => {
  const { sampler, text, playlist } = packaged()
  play(sampler, { fps: 2, gop: 1000, seconds: 30 })
  expect(playlist().segments.map(({ duration }) => duration)).toEqual([4, 4, 4, 4])
  expect(text()).not.toContain('#EXT-X-INDEPENDENT-SEGMENTS')
  for (let at = 0; at < 12; at++) sampler.frame(frame('video', 30 + at / 2, at === 3))
  expect(playlist().segments.map(({ duration }) => duration)).toEqual([4, 4, 3.5, 4])
  expect(playlist().segments.at(-1)!.parts[0]!.independent).toBe(true)
})

test('audio alone is cut into segments of the target, and every part is independent', () => {
  const { sampler, playlist } = packaged({ tracks: [AUDIO], maxBytes: 1e9 })
  // Whole milliseconds, as RTMP has them.
  for (let at = 0; at < 600; at++) sampler.frame(frame('audio', Math.round((at * 1024) / 48) / 1000))
  const { segments } = playlist()
  expect(segments).toHaveLength(4)
  for (const { duration, parts } of segments) {
    expect(duration).toBeCloseTo((94 * 1024) / 48_000, 4)
    expect(parts.every(({ independent }) => independent)).toBe(true)
  }
})

test.each([50, 70])(
  'a segment that has left the playlist stays for its length and that of the longest playlist, with %i frames a GOP',
  (gop) => {
    const { stream, sampler, text } = packaged({ maxBytes: 1e6 })
    /** By name: how long it has to be there, in seconds of the stream. */
    const until = new Map<string, number>()
    let [gone, kept] = [0, 0]
    for (let at = 0; at < 80 * 25; at++) {
      sampler.frame(frame('video', at / 25, at % gop === 0))
      if (stream.facts('v0') === undefined) continue
      const playlist = readMediaPlaylist(text())
      const seconds = playingSeconds(playlist)
      for (const { uri, durationSeconds } of playlist.segments)
        until.set(uri, Math.max(until.get(uri) ?? 0, at / 25 + durationSeconds + seconds))
      for (const [name, end] of until) {
        const isThere = bytesOf(stream, name) !== undefined
        if (at / 25 < end) expect([name, isThere]).toEqual([name, true])
        else if (isThere) kept += 1
        else gone += 1
      }
    }
    expect(gone).toBeGreaterThan(kept)
  },
)

test('audio of a low rate follows its frames, and keeps its time where something short of a frame is missing', () => {
  const samples: number[] = []
  const packager = {
    begin: () => undefined,
    discontinue: () => undefined,
    before: () => undefined,
    add: (id: number, { dts }: { dts: number }) => id === 2 && samples.push(dts),
  } as unknown as HlsPackager
  const sampler = new FrameSampler({ packager, dateOf: () => 0, hasGap: () => undefined })
  // 1024 samples last 64 ms.
  sampler.tracks([VIDEO, { ...AUDIO, sampleRate: 16_000, config: Buffer.from([0x14, 0x10]) }])
  sampler.frame(frame('video', 0))
  const aac = (ms: number): void => sampler.frame(frame('audio', ms / 1000))
  for (const ms of [0, 65, 127, 192]) aac(ms)
  for (const ms of [256 + 40, 320 + 40]) aac(ms)
  expect(samples.map((dts) => dts / 16)).toEqual([0, 64, 128, 192, 296, 360])
})

test('segments in memory never exceed the bound', () => {
  const { stream, sampler, playlist } = packaged()
  for (let at = 0; at < 400; at++) sampler.frame(frame('video', at, true, 1500))
  const { mediaSequence } = playlist()
  const sizes = Array.from({ length: 400 }, (_, at) => bytesOf(stream, `s${mediaSequence - 300 + at}.m4s`)?.length ?? 0)
  const kept = sizes.reduce((sum, size) => sum + size, 0)
  expect(kept).toBeLessThanOrEqual(LIMITS.maxBytes)
  expect(kept).toBeGreaterThan(LIMITS.maxBytes / 3)
})
