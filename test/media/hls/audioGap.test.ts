import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { AudioGap } from '../../../src/media/hls/audioGap.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 64, height: 48, config: Buffer.of() }
/** 1024 samples of it last 64 ms. */
const AUDIO: TrackInfo = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 16_000,
  channels: 1,
  config: Buffer.from([0x14, 0x08]),
}
const [AUDIO_MS, VIDEO_MS] = [64, 40]

interface Played {
  tracks: readonly TrackInfo[]
  /** From one frame of video to the next. */
  videoMs: number
  lateMs: (frame: Frame) => number
}

/** Passes on media of `seconds` that arrives as it plays, or later, and returns what comes out: times in milliseconds. */
function played(
  seconds: number,
  comes: (frame: Frame) => boolean,
  { tracks = [VIDEO, AUDIO], videoMs = VIDEO_MS, lateMs = () => 0 }: Partial<Played> = {},
) {
  const clock = new ManualClock()
  let nowMs = 0
  const out: { kind: Frame['kind']; ms: number; isSilence: boolean; lateMs: number }[] = []
  const gap = new AudioGap(
    {
      tracks: () => undefined,
      frame: ({ kind, timeUs, data }) =>
        out.push({
          kind,
          ms: timeUs / 1000,
          isSilence: kind === 'audio' && data.length !== 1,
          lateMs: nowMs - timeUs / 1000,
        }),
      end: () => undefined,
    },
    clock,
  )
  gap.tracks(tracks)
  const times = (everyMs: number): number[] =>
    Array.from({ length: (seconds * 1000) / everyMs }, (_, index) => index * everyMs)
  const frames = (['video', 'audio'] as const)
    .flatMap((kind) => times(kind === 'video' ? videoMs : AUDIO_MS).map((ms) => frameAt(kind, ms)))
    .map((frame) => ({ frame, atMs: frame.timeUs / 1000 + lateMs(frame) }))
    .toSorted((a, b) => a.atMs - b.atMs)
  for (const { frame, atMs } of frames) {
    clock.advance(atMs - nowMs)
    nowMs = atMs
    if (comes(frame)) gap.frame(frame)
  }
  const audio = out.filter(({ kind }) => kind === 'audio')
  return { audio, silence: audio.filter(({ isSilence }) => isSilence), count: out.length }
}

const frameAt = (kind: Frame['kind'], ms: number): Frame => {
  const timeUs = ms * 1000
  return { kind, timeUs, decodeTimeUs: timeUs, key: true, data: Buffer.alloc(1) }
}

const between = ({ timeUs }: Frame, from: number, to: number): boolean => timeUs >= from * 1e6 && timeUs < to * 1e6
const steps = (audio: readonly { readonly ms: number }[]): number[] =>
  audio.slice(1).map(({ ms }, index) => ms - (audio[index]?.ms ?? 0))

test('audio without a gap passes as it is', () => {
  const { silence, count } = played(4, () => true)
  expect([silence, count]).toEqual([[], 100 + 62])
})

test('audio that vanishes becomes silence, a quarter of a second behind the video', () => {
  const { audio } = played(8, (frame) => frame.kind === 'video' || !between(frame, 2, 8))
  expect(new Set(steps(audio))).toEqual(new Set([AUDIO_MS]))
  const behindMs = 8000 - (audio.at(-1)?.ms ?? 0)
  expect(behindMs).toBeGreaterThan(250)
  expect(behindMs).toBeLessThan(500)
})

test('silence is there a part before a low-latency player, 1.5 seconds behind, comes to the end of the audio', () => {
  const { silence } = played(8, (frame) => frame.kind === 'video' || !between(frame, 2, 8))
  expect(Math.max(...silence.map(({ lateMs }) => lateMs))).toBeLessThanOrEqual(1000)
})

test('audio of which a packet comes every 0.7 seconds has no gap', () => {
  const lateMs = ({ kind, timeUs }: Frame): number => (kind === 'audio' ? 700 - ((timeUs / 1000) % 700) : 0)
  expect(played(9, () => true, { lateMs }).silence).toEqual([])
})

test('audio that vanishes beside slides becomes silence up to the latest of them', () => {
  const { audio } = played(40, (frame) => frame.kind === 'video' || !between(frame, 10, 40), { videoMs: 4000 })
  expect(new Set(steps(audio))).toEqual(new Set([AUDIO_MS]))
  expect(audio.at(-1)?.ms).toBeGreaterThan(35_000)
})

test.each([0.3, 5])('a hole of %f seconds is filled when audio is back, to the frame', (seconds) => {
  const { audio, silence } = played(9, (frame) => frame.kind === 'video' || !between(frame, 2, 2 + seconds))
  expect(silence.length).toBeGreaterThan(2)
  expect(audio.at(-1)?.isSilence).toBe(false)
  for (const step of steps(audio)) expect(Math.abs(step - AUDIO_MS)).toBeLessThan(AUDIO_MS)
})

test('audio that is announced and does not come for seconds is silent from the first picture on', () => {
  const { audio } = played(6, (frame) => frame.kind === 'video' || !between(frame, 0, 4))
  expect(audio[0]).toMatchObject({ kind: 'audio', ms: 0, isSilence: true })
  expect(audio.at(-1)?.isSilence).toBe(false)
})

test('audio that begins a little after the video keeps its time: silence ends where it begins', () => {
  const out: Frame[] = []
  const gap = new AudioGap(
    { tracks: () => undefined, frame: (frame) => out.push(frame), end: () => undefined },
    new ManualClock(),
  )
  gap.tracks([VIDEO, AUDIO])
  for (const ms of [0, 40, 80, 120, 160]) gap.frame(frameAt('video', ms))
  gap.frame(frameAt('audio', 170))
  const audio = out.filter(({ kind }) => kind === 'audio').map(({ timeUs }) => timeUs / 1000)
  expect(audio).toEqual([170 - 2 * AUDIO_MS, 170 - AUDIO_MS, 170])
})

test('audio that comes after its time was filled is left out, and the rest is in order', () => {
  // That of three seconds comes at once.
  const lateMs = (frame: Frame): number =>
    frame.kind === 'audio' && between(frame, 2, 5) ? 5000 - frame.timeUs / 1000 : 0
  const { audio } = played(9, () => true, { lateMs })
  for (const step of steps(audio)) expect(Math.abs(step - AUDIO_MS)).toBeLessThan(AUDIO_MS)
  expect(audio.at(-1)?.isSilence).toBe(false)
})

test('a pause of both, and audio or video alone, get no silence', () => {
  expect(played(9, (frame) => !between(frame, 2, 7)).silence).toEqual([])
  expect(played(4, ({ kind }) => kind === 'audio', { tracks: [AUDIO] }).silence).toEqual([])
  expect(played(4, ({ kind }) => kind === 'video', { tracks: [VIDEO] }).audio).toEqual([])
})

test('a source whose times run faster than time gets no more silence than there was time for, and half a minute', () => {
  const clock = new ManualClock()
  let silence = 0
  const count = ({ kind }: Frame): void => void (silence += kind === 'audio' ? 1 : 0)
  const gap = new AudioGap({ tracks: () => undefined, frame: count, end: () => undefined }, clock)
  gap.tracks([VIDEO, AUDIO])
  for (let at = 0; at < 1000; at += 1) {
    clock.advance(10)
    gap.frame(frameAt('video', at * 1400))
  }
  expect(silence).toBeGreaterThan(30_000 / AUDIO_MS)
  expect(silence).toBeLessThan(41_000 / AUDIO_MS)
})
