import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { type Found, FindingWatch } from '../../../src/core/streams/findings.ts'
import type { SourceReading } from '../../../src/core/streams/source.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { TsIngest } from '../../../src/media/mpegts/ingest.ts'
import { SourceMeter } from '../../../src/media/measure/sourceMeter.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'
import { adts, BOTH, keyframe, TsMuxer } from '../mpegts/muxer.ts'
import { ticks } from '../mpegts/seen.ts'
import { type EncoderName, ENCODER_NAMES, ENCODERS, recordedBy } from '../../support/encoders.ts'

const LOOK_MS = 2000
const RECORDED_MS = 30_000
const isFrame = ({ type, payload }: Message): boolean => type !== MESSAGE.data && payload[1] === 1

interface Watched {
  readonly codes: ReadonlySet<string>
  /** When the finding of the encoder came first, milliseconds; null: never. */
  readonly firstMs: number | null
  readonly reading: SourceReading
}

/** Sends a recording again and again on a clock that a test moves. @param slowness of the link: media comes so many times later */
function watch(name: EncoderName, seconds: number, slowness = 1): Watched {
  const clock = new ManualClock(1_700_000_000_000)
  const meter = new SourceMeter()
  const findings = new FindingWatch()
  const began = clock.monotonic()
  const sink: FrameSink = {
    tracks: (tracks) => meter.tracks(tracks),
    frame: (frame) => meter.frame(frame, clock.monotonic()),
    end: () => undefined,
  }
  const ingest = new RtmpIngest(sink, { clock, leftOut: () => undefined })
  const codes = new Set<string>()
  let [firstMs, lookedAtMs]: [number | null, number] = [null, began + 5000]
  const look = (): void => {
    if (clock.monotonic() - lookedAtMs < LOOK_MS) return
    lookedAtMs = clock.monotonic()
    findings.look({ protocol: 'rtmp', source: meter.reading() }, clock.now(), clock.monotonic())
    const found: Found[] = findings.found()
    for (const { code } of found) codes.add(code)
    if (found.some(({ code }) => code === ENCODERS[name].finding)) firstMs ??= clock.monotonic() - began
  }
  const recorded = recordedBy(name)
  const lengthMs = lengthMsOf(name, recorded)
  for (let round = 0; round * lengthMs < seconds * 1000; round++)
    for (const [at, message] of recorded.filter((one) => round === 0 || isFrame(one)).entries()) {
      const dueMs = began + (round * lengthMs + sentAtMs(name, recorded, message, at)) * slowness
      if (dueMs > clock.monotonic()) clock.advance(dueMs - clock.monotonic())
      ingest.take({ ...message, timestamp: message.timestamp + round * lengthMs })
      look()
    }
  return { codes, firstMs, reading: meter.reading() }
}

/** Timestamps that an encoder changes say nothing of its length: those of 0 would be sent again hundreds of times. */
function lengthMsOf(name: EncoderName, recorded: readonly Message[]): number {
  return 'times' in ENCODERS[name] ? RECORDED_MS : Math.max(...recorded.map(({ timestamp }) => timestamp)) + 40
}

/** A clock that was set, or sound that is late, is sent when it is made. */
function sentAtMs(name: EncoderName, all: readonly Message[], message: Message, at: number): number {
  if (!('times' in ENCODERS[name])) return message.timestamp
  return (at * RECORDED_MS) / all.length
}

const bad = ENCODER_NAMES.filter((name) => ENCODERS[name].finding !== null && name !== '2 Mbit/s')
const good = ENCODER_NAMES.filter((name) => ENCODERS[name].finding === null)

describe('of an encoder', () => {
  it.each(bad)('with %s, this is found within 15 s, and nothing else', (name) => {
    const { codes, firstMs } = watch(name, 25)
    expect([...codes]).toEqual([ENCODERS[name].finding])
    expect(firstMs).toBeLessThanOrEqual(15_000)
  })

  it.each(good)('that is %s, nothing is found in 30 minutes', (name) => {
    expect([...watch(name, 1800).codes]).toEqual([])
  })

  it('whose link carries half of what it sends, it is found that media comes later and later', () => {
    const { codes, firstMs, reading } = watch('2 Mbit/s', 25, 2)
    expect([...codes]).toEqual(['link_slow'])
    expect(firstMs).toBeLessThanOrEqual(15_000)
    expect(reading.behindMs).toBeGreaterThan(5000)
    expect([...watch('2 Mbit/s', 25).codes]).toEqual([])
  })

  it('that loses one packet in twenty, this is found within 15 s, and nothing else', () => {
    const [meter, findings] = [new SourceMeter(), new FindingWatch()]
    const seen: string[] = []
    for (let ms = 0; ms <= 15_000; ms += 1000) {
      const packets = ms / 10
      meter.link({ packets, lost: Math.floor(packets / 20) }, ms)
      if (ms < 5000 || ms % LOOK_MS !== 0) continue
      findings.look({ protocol: 'srt', source: meter.reading() }, ms, ms)
      seen.push(...findings.found().map(({ code }) => code))
    }
    expect([...new Set(seen)]).toEqual(['packet_loss'])
  })

  it('that says how loud its packets are, sound that is cut off and silence are found, and usual sound is not', () => {
    const meter = new SourceMeter()
    meter.tracks([{ kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() }])
    // No silence by its bytes.
    const data = new Uint8Array(60).fill(0x55)
    let nowMs = 0
    const codesOf = (levels: readonly number[]): string[] => {
      for (let packet = 0; packet < 12 * 50; packet++, nowMs += 20) {
        meter.level(levels[packet % levels.length] ?? 0)
        meter.frame({ kind: 'audio', timeUs: nowMs * 1000, decodeTimeUs: nowMs * 1000, key: true, data }, nowMs)
      }
      const findings = new FindingWatch()
      for (const ms of [0, LOOK_MS]) findings.look({ protocol: 'whip', source: meter.reading() }, ms, ms)
      return findings.found().map(({ code }) => code)
    }
    expect(meter.reading()).not.toHaveProperty('audioLevelDb')
    expect(codesOf([40, 12, 30, 127])).toEqual([])
    expect(meter.reading()).toMatchObject({ audioLevelDb: -12, clippedAudio: 0, silentMs: 20 })
    expect(codesOf([0, 20, 20, 20, 20, 20, 20, 20, 20, 2])).toEqual(['audio_clipped'])
    expect(meter.reading()).toMatchObject({ audioLevelDb: 0, clippedAudio: 0.2, silentMs: 0 })
    expect(codesOf([127])).toEqual(['audio_silent'])
  })

  it('of video in layers the main one is measured, and those are counted that come', () => {
    const meter = new SourceMeter()
    const layer = (name: string, height: number): TrackInfo => ({
      kind: 'video',
      codec: 'h264',
      width: height,
      height,
      config: new Uint8Array(),
      layer: name,
    })
    const frame = (name: string, ms: number): Frame => ({
      kind: 'video',
      layer: name,
      timeUs: ms * 1000,
      decodeTimeUs: ms * 1000,
      key: ms % 1000 === 0,
      data: new Uint8Array(1),
    })
    meter.tracks([layer('0', 720), layer('1', 360)])
    const send = (names: readonly string[], fromMs: number): void => {
      for (let ms = fromMs; ms < fromMs + 5000; ms += 40) for (const name of names) meter.frame(frame(name, ms), ms)
    }
    send(['0', '1'], 0)
    expect(meter.reading()).toMatchObject({ layers: 2, sentFrameRate: 25, clockJumps: 0 })
    send(['0'], 5000)
    expect(meter.reading()).toMatchObject({ layers: 1, sentFrameRate: 25 })
    meter.tracks([layer('1', 360), layer('0', 720)])
    send(['1'], 10_000)
    expect(meter.reading()).toMatchObject({ layers: 1, sentFrameRate: 25 })
  })

  it('whose pictures come once a second, their sound was said to come a second too early, since each ends with the next', () => {
    const [meter, findings, ts] = [new SourceMeter(), new FindingWatch(), new TsMuxer()]
    let nowMs = 0
    const sink: FrameSink = {
      tracks: (tracks) => meter.tracks(tracks),
      frame: (frame) => meter.frame(frame, nowMs),
      end: () => undefined,
    }
    const clock = { monotonic: () => nowMs }
    const ingest = new TsIngest(sink, { clock, maxFrameBytes: 100_000, leftOut: () => undefined })
    ingest.take(ts.tables(BOTH))
    for (; nowMs < 20_000; nowMs += 20) {
      if (nowMs % 1000 === 0) ingest.take(ts.video(keyframe(), ticks(nowMs)))
      ingest.take(ts.audio(adts(), ticks(nowMs)))
      if (nowMs % LOOK_MS === 0) findings.look({ protocol: 'srt', source: meter.reading() }, nowMs, nowMs)
    }
    expect(findings.found().map(({ code }) => code)).toEqual(['frame_rate', 'video_gaps'])
    expect(meter.reading()).toMatchObject({ skewMs: 0, behindMs: 0, sentFrameRate: 1 })
  })

  it('the figures are those that ffmpeg was told', () => {
    const { reading } = watch('good, High, 50 frames a second', 25)
    expect(reading).toMatchObject({
      videoProfile: 'High',
      declaredFrameRate: 50,
      sentFrameRate: 50,
      keyframeMs: 2000,
      longestKeyframeMs: 2000,
      bFrames: 0,
      videoGaps: 0,
      sampleRate: 48_000,
      clockJumps: 0,
    })
    expect(reading.unevenFrames).toBe(0)
    expect(reading.silentMs).toBeLessThan(100)
  })
})
