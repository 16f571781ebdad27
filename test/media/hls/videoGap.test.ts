import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { hlsPlaylist } from '../../../src/core/hls/playlist.ts'
import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../../../src/media/frame.ts'
import { ChannelStreams } from '../../../src/media/hls/channelStreams.ts'
import { FrameSampler } from '../../../src/media/hls/frameSampler.ts'
import { HlsPackager } from '../../../src/media/hls/packager.ts'
import { MemoryStore } from '../../../src/media/hls/store.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { HlsStream } from '../../../src/media/hls/stream.ts'
import { checkContinuity, type SegmentFacts } from '../../hls/media.ts'
import { readInit, readMedia } from '../../hls/mp4.ts'
import { checkPlaylist } from '../../hls/onePlaylist.ts'
import { type MediaPlaylist, readMediaPlaylist } from '../../hls/playlist.ts'
import { checkSuccessor } from '../../hls/twoPlaylists.ts'
import { lineOf, type Violation } from '../../hls/violation.ts'
import { StagedEngine } from '../../support/stagedEngine.ts'

const VIDEO: VideoTrack = { kind: 'video', codec: 'h264', width: 64, height: 48, config: Buffer.from([1, 66, 0, 30]) }
const AUDIO: TrackInfo = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 48_000,
  channels: 2,
  config: Buffer.from([0x11, 0x90]),
}
const AUDIO_SECONDS = 1024 / 48_000
/** A slice of an IDR picture, and of another one, with its length before it. */
const [IDR, OTHER] = [Buffer.from([0, 0, 0, 2, 0x65, 0x88]), Buffer.from([0, 0, 0, 2, 0x41, 0x9a])]

const frame = (kind: 'video' | 'audio', seconds: number, key = true): Frame => {
  const timeUs = Math.round(seconds * 1e6)
  return { kind, timeUs, decodeTimeUs: timeUs, key, data: kind === 'audio' ? Buffer.alloc(9) : key ? IDR : OTHER }
}

/** Frames of a broadcast, with the seconds at which each arrives. A keyframe comes every two seconds. */
function broadcast({ seconds, fps = 25 }: { seconds: number; fps?: number }) {
  const video = Array.from({ length: seconds * fps }, (_, at) => frame('video', at / fps, at % (2 * fps) === 0))
  const audio = Array.from({ length: Math.floor(seconds / AUDIO_SECONDS) }, (_, at) =>
    frame('audio', at * AUDIO_SECONDS),
  )
  return [...video, ...audio].map((each) => ({ frame: each, at: each.timeUs / 1e6 }))
}

const between = (seconds: number, from: number, to: number): boolean => seconds >= from && seconds < to

type Arriving = ReturnType<typeof broadcast>

const inOrder = (arriving: Arriving): Arriving => arriving.toSorted((a, b) => a.at - b.at)

/** A feed that is watched: frames go in, and every new playlist is judged. */
function watchedFeed() {
  const clock = new ManualClock(Date.UTC(2027, 0, 1))
  const limits = { listed: 60, maxBytes: 1e7 }
  const numbers = new StreamNumbers(clock)
  const stream = new HlsStream({ id: 'feed', clock, store: new MemoryStore(), numbers, renditions: ['v0'], ...limits })
  const rendition = stream.rendition('v0')!
  const packager = new HlsPackager(rendition, { segmentSeconds: 2, parts: true }, () => stream.changed())
  const startMs = clock.now()
  let shown = 0
  const sampler = new FrameSampler({
    packager,
    dateOf: (ms) => startMs + ms,
    hasGap: () => undefined,
    nowMs: () => clock.monotonic(),
    taken: () => (shown += 1),
  })
  sampler.tracks([VIDEO, AUDIO])
  const watch = new Watch(stream)
  const play = (arriving: Arriving): void => {
    for (const { frame: each, at } of inOrder(arriving)) {
      clock.advance(Math.max(0, startMs + at * 1000 - clock.now()))
      sampler.frame(each)
      watch.look(at)
    }
  }
  return { watch, play, sampler, shown: () => shown }
}

/** What a player sees of a rendition. */
class Watch {
  readonly violations: Violation[] = []
  /** The longest time without a change, seconds. */
  longest = 0
  readonly #stream: Pick<HlsStream, 'facts' | 'piece'>
  readonly #rendition: string
  #before: MediaPlaylist | null = null
  #changedAt: number | null = null

  constructor(stream: Pick<HlsStream, 'facts' | 'piece'>, rendition = 'v0') {
    this.#stream = stream
    this.#rendition = rendition
  }

  look(at: number): void {
    const facts = this.#stream.facts(this.#rendition)
    if (facts === undefined) return
    const text = hlsPlaylist(facts, { window: 60 })
    if (text === this.#before?.text) return
    this.longest = Math.max(this.longest, at - (this.#changedAt ?? at))
    this.#changedAt = at
    const playlist = readMediaPlaylist(text)
    this.violations.push(...checkPlaylist(playlist, 'v0'))
    if (this.#before) this.violations.push(...checkSuccessor(this.#before, playlist, 'v0'))
    this.#before = playlist
  }

  get playlist(): MediaPlaylist {
    if (this.#before === null) throw new Error('there is no playlist')
    return this.#before
  }

  /** The whole segments, as they are in their bytes. */
  get media(): SegmentFacts[] {
    const bytesOf = (kind: 'init' | 'segment', name: string) =>
      this.#stream.piece({ kind, name, rendition: this.#rendition })!
    return this.playlist.segments.map((segment) => {
      const init = readInit(bytesOf('init', segment.mapUri!))
      const bytes = bytesOf('segment', segment.uri)
      return { ...segment, init, bytes: bytes.length, tracks: readMedia(bytes, init) }
    })
  }

  /** Breaks in the media, and the rules that the playlists broke. */
  get broken(): string[] {
    const { media } = this
    const breaks = media.slice(1).flatMap((segment, at) => checkContinuity(media[at]!, segment, 'v0'))
    return [...this.violations, ...breaks].map(lineOf)
  }
}

const seconds = (watch: Watch): number =>
  watch.playlist.segments.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0)

describe('while a feed has no video', () => {
  const hasVideo = ({ frame: { kind }, at }: Arriving[number]) => kind === 'audio' || !between(at, 7, 12)

  test('its audio goes on, with the latest keyframe: players get parts, without a discontinuity', () => {
    const { watch, play } = watchedFeed()
    play(broadcast({ seconds: 20 }).filter(hasVideo))
    expect(watch.broken).toEqual([])
    expect(watch.longest).toBeLessThan(2)
    expect(watch.playlist.segments.filter(({ discontinuity }) => discontinuity)).toEqual([])
    expect(seconds(watch)).toBeGreaterThan(17)
    const samples = watch.media.flatMap(({ tracks }) => tracks[0]?.samples ?? [])
    const shown = samples.filter(({ key }) => key).length
    expect(shown).toBeGreaterThan(20)
    expect(shown).toBeLessThan(40)
  })

  test('a keyframe is waited for when it is back, and the audio goes on until then', () => {
    const { watch, play } = watchedFeed()
    play(broadcast({ seconds: 20 }).filter(({ frame: { kind }, at }) => kind === 'audio' || !between(at, 7, 8.5)))
    expect(watch.broken).toEqual([])
    expect(watch.longest).toBeLessThan(2)
    expect(watch.playlist.segments.filter(({ discontinuity }) => discontinuity)).toEqual([])
    // 1.5 seconds without video, and the half second after it that no decoder could show.
    const others = watch.media.flatMap(({ tracks }) => tracks[0]?.samples ?? []).filter(({ key }) => !key).length
    expect(others).toBeLessThanOrEqual((18 - 3) * 25)
  })

  test.each([0.01, 0.05, 0.12, 0.2, 0.29])(
    'all parts but the last of a segment are long enough, %f s after one',
    (restSeconds) => {
      const { watch, play } = watchedFeed()
      const shifted = ({ frame: each, at }: Arriving[number]): Arriving[number] => {
        const isLater = each.kind === 'video' && at >= 12
        const timeUs = each.timeUs + restSeconds * 1e6
        return isLater
          ? { frame: { ...each, timeUs, decodeTimeUs: timeUs }, at: at + restSeconds }
          : { frame: each, at }
      }
      play(broadcast({ seconds: 20 }).filter(hasVideo).map(shifted))
      expect(watch.broken).toEqual([])
    },
  )

  test('a frame that an encoder gives only with the next one ends nothing', () => {
    const { watch, play } = watchedFeed()
    const late = { frame: frame('video', 7, true), at: 11.99 }
    play([...broadcast({ seconds: 20 }).filter(hasVideo), late])
    expect(watch.broken).toEqual([])
    expect(watch.playlist.segments.filter(({ discontinuity }) => discontinuity)).toEqual([])
  })
})

test('audio that a source sends far ahead of its video is no gap', () => {
  const { watch, play } = watchedFeed()
  play(
    broadcast({ seconds: 20 }).map(({ frame: each, at }) => ({
      frame: each,
      at: at + (each.kind === 'video' ? 3 : 0),
    })),
  )
  expect(watch.broken).toEqual([])
  const samples = watch.media.flatMap(({ tracks }) => tracks[0]?.samples ?? [])
  expect(new Set(samples.map(({ duration }) => duration)).size).toBe(1)
})

test('a server that was busy for two seconds, and reads the audio of that time first, shows every frame', () => {
  const { watch, play } = watchedFeed()
  const delayed = ({ frame: each, at }: Arriving[number]): Arriving[number] => {
    const readAt = each.kind === 'audio' ? 8.99 : 8.995
    return { frame: each, at: between(at, 7, 9) ? readAt : at }
  }
  play(broadcast({ seconds: 20 }).map(delayed))
  expect(watch.broken).toEqual([])
  const samples = watch.media.flatMap(({ tracks }) => tracks[0]?.samples ?? [])
  expect(new Set(samples.map(({ duration }) => duration)).size).toBe(1)
})

test('audio that is behind its video is complete while there is no video', () => {
  const { watch, play } = watchedFeed()
  const behind = broadcast({ seconds: 20 }).filter(({ frame: { kind }, at }) => kind === 'audio' || !between(at, 7, 12))
  play(behind.map(({ frame: each, at }) => ({ frame: each, at: each.kind === 'audio' ? at + 1.5 : at })))
  expect(watch.broken).toEqual([])
  expect(seconds(watch)).toBeGreaterThan(16)
  const lengths = watch.media.flatMap(({ tracks }) => tracks[1]?.samples.map(({ duration }) => duration) ?? [])
  expect(new Set(lengths)).toEqual(new Set([1024]))
  expect(lengths.length * AUDIO_SECONDS).toBeGreaterThan(seconds(watch) - 2.5)
})

test('where both jump ahead, nothing is filled: a discontinuity follows', () => {
  const { watch, play } = watchedFeed()
  const later = ({ frame: each, at }: Arriving[number]): Arriving[number] => {
    const jumpUs = at < 7 ? 0 : 8_000_000
    const jumped = { ...each, timeUs: each.timeUs + jumpUs, decodeTimeUs: each.decodeTimeUs + jumpUs }
    // Audio comes a little before its video.
    return { frame: jumped, at: each.kind === 'audio' ? at - 0.2 : at }
  }
  play(broadcast({ seconds: 20 }).map(later))
  expect(watch.broken).toEqual([])
  expect(watch.playlist.segments.filter(({ discontinuity }) => discontinuity)).toHaveLength(1)
  const samples = watch.media.flatMap(({ tracks }) => tracks[0]?.samples ?? [])
  expect(new Set(samples.map(({ duration }) => duration)).size).toBe(1)
})

test('video that comes back much later than audio is shown after a discontinuity, not left out for ever', () => {
  const { watch, play } = watchedFeed()
  play(
    broadcast({ seconds: 40 }).map(({ frame: each, at }) => ({
      frame: each,
      at: at + (each.kind === 'video' && at >= 7 ? 3 : 0),
    })),
  )
  expect(watch.broken).toEqual([])
  expect(watch.playlist.segments.filter(({ discontinuity }) => discontinuity)).toHaveLength(1)
  const last = watch.media.at(-1)?.tracks[0]?.samples ?? []
  expect(last.filter(({ key }) => key)).toHaveLength(1)
})

test.each([0, 0.3])(
  'renditions with different frame rates have the same segments while the source has no video, one %s s late',
  (late) => {
    const clock = new ManualClock(Date.UTC(2027, 0, 1))
    const startMs = clock.now()
    const engine = new StagedEngine(new ChannelStreams(clock), 'en_1', { hasAudio: true }).begin()
    const watches = ['0', '1'].map((rendition) => new Watch(engine.stream, rendition))
    const hasVideo = ({ frame: { kind }, at }: Arriving[number]) => kind === 'audio' || !between(at, 7, 13)
    const frames = [25, 15].map((fps) => broadcast({ seconds: 20, fps }).filter(hasVideo))
    const isLate = ({ frame: { kind }, at }: Arriving[number], rung: number) =>
      rung === 1 && kind === 'video' && between(at, 6, 7)
    const all = frames.flatMap((arriving, rung) =>
      arriving.map((each) => ({ ...each, rung, at: each.at + (isLate(each, rung) ? late : 0) })),
    )
    const sinks: Pick<FrameSink, 'frame'>[] = [...engine.sink.rungs]
    let wasMissing = false
    for (const { frame: each, at, rung } of all.toSorted((a, b) => a.at - b.at)) {
      clock.advance(Math.max(0, startMs + at * 1000 - clock.now()))
      engine.stream.observe(each)
      // The lockstep of the encoder finds the gap when both have their next keyframe.
      if (each.kind === 'video' && at >= 13 && !wasMissing) {
        engine.sink.discontinue('gap')
        wasMissing = true
      }
      if (each.kind === 'video' && at >= 13 && at < 14) continue
      sinks[rung]?.frame(each)
      for (const watch of watches) watch.look(at)
    }
    const [one, other] = watches.map(({ playlist }) => playlist.segments)
    for (const watch of watches) {
      expect(watch.broken).toEqual([])
      expect(watch.longest).toBeLessThan(2.5)
    }
    expect(one?.length).toBeGreaterThan(8)
    expectSame(one ?? [], other ?? [])
  },
)

/** What the validator asks of the same segments of two renditions (rule V22). */
function expectSame(one: MediaPlaylist['segments'], other: MediaPlaylist['segments']): void {
  for (const [at, segment] of other.entries()) {
    const { number, discontinuity, dateMs, durationSeconds } = one[at] ?? {}
    expect([segment.number, segment.discontinuity]).toEqual([number, discontinuity])
    expect(Math.abs((dateMs ?? 0) - (segment.dateMs ?? 0))).toBeLessThan(80)
    expect(Math.abs((durationSeconds ?? 0) - segment.durationSeconds)).toBeLessThan(0.08)
  }
}

/** Plays what two renditions of a channel get, and compares their segments. Returns what came out. */
function expectSameSegments(renditions: readonly Arriving[]): Watch[] {
  const clock = new ManualClock(Date.UTC(2027, 0, 1))
  const startMs = clock.now()
  const engine = new StagedEngine(new ChannelStreams(clock), 'en_1', { hasAudio: true }).begin()
  const watches = ['0', '1'].map((rendition) => new Watch(engine.stream, rendition))
  const all = renditions.flatMap((arriving, rung) => arriving.map((each) => ({ ...each, rung })))
  for (const { frame: each, at, rung } of all.toSorted((a, b) => a.at - b.at)) {
    clock.advance(Math.max(0, startMs + at * 1000 - clock.now()))
    if (rung === 0) engine.stream.observe(each)
    engine.sink.rungs[rung]?.frame(each)
    for (const watch of watches) watch.look(at)
  }
  const [one, other] = watches.map(({ playlist }) => playlist.segments)
  expect(watches.flatMap(({ broken }) => broken)).toEqual([])
  expect(one?.length).toBeGreaterThan(10)
  expectSame(one ?? [], other ?? [])
  return watches
}

test('a rendition whose video comes later than that of another one keeps its segments and all frames', () => {
  /** From the seventh second on it comes three seconds late, and from the fifteenth on it catches up. */
  const burst = (at: number): number => (at < 15 ? at + 3 : Math.max(at, 18 + (at - 15) / 10))
  const late = ({ frame: each, at }: Arriving[number]): Arriving[number] => ({
    frame: each,
    at: each.kind === 'video' && at >= 7 ? burst(at) : at,
  })
  const watches = expectSameSegments([broadcast({ seconds: 26 }), broadcast({ seconds: 26 }).map(late)])
  const durations = watches.flatMap(({ media }) => media.flatMap(({ tracks }) => tracks[0]?.samples ?? []))
  expect(new Set(durations.map(({ duration }) => duration)).size).toBe(1)
})

test('a gap of a whole segment makes no second segment of a millisecond where the times of a rendition are rounded', () => {
  const missing = broadcast({ seconds: 26 }).filter(
    ({ frame: { kind }, at }) => kind === 'audio' || !between(at, 8, 10),
  )
  // The frame before the gap is a millisecond early, so the gap is two milliseconds longer.
  const rounded = ({ frame: each, at }: Arriving[number]): Arriving[number] => ({
    frame: each.kind === 'video' && each.timeUs === 7_960_000 ? frame('video', 7.959, false) : each,
    at,
  })
  expectSameSegments([missing.map(rounded), missing])
})

test('audio whose times run faster than time shows a keyframe for as long as there was time, and half a minute', () => {
  const { play, sampler, shown } = watchedFeed()
  play(broadcast({ seconds: 8 }))
  const before = shown()
  play(Array.from({ length: 500 }, (_, at) => ({ frame: frame('audio', 8 + at * 0.4), at: 8 + at * 0.02 })))
  sampler.discontinue()
  expect(shown() - before).toBeGreaterThan(30 / 0.4)
  expect(shown() - before).toBeLessThan(45 / 0.3)
})
