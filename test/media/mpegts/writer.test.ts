import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { noticeText } from '../../../src/core/notices.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { TsWriter } from '../../../src/media/mpegts/writer.ts'
import { PACKET_BYTES } from '../../../src/media/mpegts/packets.ts'
import { clip } from '../../support/clips.ts'
import { H264_AAC, HEVC_OPUS, type Media, readTs } from './clips.ts'

function written({ tracks, frames }: Media): Buffer {
  const writer = new TsWriter()
  expect(writer.setTracks(tracks).ok).toBe(true)
  return Buffer.concat(frames.map((frame) => writer.frames([frame]) ?? Buffer.alloc(0)))
}

/** Microseconds are rounded down to ticks, and ahead of them. */
const factsOf = ({ kind, key, timeUs, decodeTimeUs, data }: Frame, first: Frame | undefined) => ({
  kind,
  key,
  delay: Math.round((timeUs - decodeTimeUs) / 100),
  at: Math.round((decodeTimeUs - (first?.decodeTimeUs ?? 0)) / 100),
  data: Buffer.from(data).toString('base64'),
})
const allFacts = ({ frames }: Media) => frames.map((frame) => factsOf(frame, frames[0]))

describe.each([
  ['H.264 and AAC', H264_AAC],
  ['HEVC and Opus', HEVC_OPUS],
])('a transport stream of %s', (_, args) => {
  const source = readTs(clip(args, 'ts'))
  const bytes = written(source)

  test('has the same frames and times when it is read', () => {
    const again = readTs(bytes)
    expect(again.leftOut).toEqual([])
    expect(again.tracks).toEqual(source.tracks)
    expect(bytes.length % PACKET_BYTES).toBe(0)
    const [was, is] = [allFacts(source), allFacts(again)]
    // What is shorter than 65,536 bytes ends with its own packet: none waits for the next.
    expect(is.map(({ data }) => data)).toEqual(was.map(({ data }) => data))
    for (const [at, fact] of is.entries()) {
      const before = was[at]
      expect([fact.kind, fact.key]).toEqual([before?.kind, before?.key])
      expect(Math.abs(fact.at - (before?.at ?? 0))).toBeLessThanOrEqual(1)
      expect(Math.abs(fact.delay - (before?.delay ?? 0))).toBeLessThanOrEqual(1)
    }
  })

  test('is one that ffmpeg decodes without a complaint, all of it', () => {
    const { stdout, stderr } = spawnSync(
      'ffmpeg',
      ['-v', 'warning', '-f', 'mpegts', '-i', '-', '-map', '0', '-f', 'framecrc', '-'],
      { input: bytes },
    )
    expect(stderr.toString()).toBe('')
    const lines = stdout.toString().split('\n')
    expect(lines.filter((line) => line.startsWith('0,'))).toHaveLength(
      source.frames.filter(({ kind }) => kind === 'video').length,
    )
  })
})

const VIDEO = (config: Uint8Array): TrackInfo => ({ kind: 'video', codec: 'h264', width: 16, height: 16, config })
const frameOf = (kind: Frame['kind'], timeUs: number, data: Buffer, key = true): Frame => ({
  kind,
  timeUs,
  decodeTimeUs: timeUs,
  key,
  data,
})
/** Network abstraction layer units with their lengths. */
const nals = (...units: readonly number[][]): Buffer =>
  Buffer.concat(units.flatMap((unit) => [Buffer.from([0, 0, 0, unit.length]), Buffer.from(unit)]))

/** The payload of the PES packets of a PID, without their heads. */
function payloadOf(bytes: Buffer, pid: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += PACKET_BYTES) {
    const word = bytes.readUInt32BE(at)
    if (((word >> 8) & 0x1fff) !== pid || (word & 0x10) === 0) continue
    const field = (word & 0x20) === 0 ? 0 : 1 + bytes.readUInt8(at + 4)
    parts.push(bytes.subarray(at + 4 + field, at + PACKET_BYTES))
  }
  return Buffer.concat(parts)
}

/** The clocks of a stream, whether each is another one, and how far the time of each frame was ahead of the latest; ticks of 90 kHz. */
function clocksOf(frames: readonly Buffer[]) {
  const [clocks, jumps, ahead]: [number[], boolean[], number[]] = [[], [], []]
  const bytes = Buffer.concat(frames)
  for (let at = 0; at < bytes.length; at += PACKET_BYTES) {
    const word = bytes.readUInt32BE(at)
    const field = (word & 0x20) === 0 ? 0 : 1 + bytes.readUInt8(at + 4)
    if (field > 6 && (bytes.readUInt8(at + 5) & 0x10) !== 0) {
      clocks.push(bytes.readUInt32BE(at + 6) * 2 + (bytes.readUInt8(at + 10) >> 7))
      jumps.push((bytes.readUInt8(at + 5) & 0x80) !== 0)
    }
    const pes = at + 4 + field
    const isMedia = (word & 0x40_0010) === 0x40_0010 && ((word >> 8) & 0x1fff) < 0x1000 && (word & 0x1f_ff00) !== 0
    if (!isMedia) continue
    const [high, low] = [bytes.readUInt16BE(pes + 10) >> 1, bytes.readUInt16BE(pes + 12) >> 1]
    ahead.push(((bytes.readUInt8(pes + 9) >> 1) & 7) * 2 ** 30 + high * 2 ** 15 + low - (clocks.at(-1) ?? 0))
  }
  return { clocks, jumps, ahead }
}

describe('a writer', () => {
  test('writes one delimiter, first, and parameter sets at keyframes that lack them', () => {
    const config = Buffer.from([1, 66, 0, 30, 0xff, 0xe1, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0x99])
    const writer = new TsWriter()
    writer.setTracks([VIDEO(config)])
    const texts = [
      frameOf('video', 0, nals([9, 0xf0], [0x65, 1])),
      frameOf('video', 40_000, nals([0x67, 66, 0, 30], [0x68, 0x99], [0x65, 2])),
      frameOf('video', 80_000, nals([0x41, 3]), false),
    ].map((frame) => payloadOf(writer.frames([frame]) ?? Buffer.alloc(0), 0x100).toString('hex', 14))
    const [delimiter, sets] = ['0000000109f0', '000000016742001e000000016899']
    expect(texts).toEqual([
      `${delimiter}${sets}000000016501`,
      `${delimiter}${sets}000000016502`,
      `${delimiter}000000014103`,
    ])
  })

  test('repeats the tables at keyframes and each half second, and the clock each 80 ms where pictures are rare', () => {
    const writer = new TsWriter()
    writer.setTracks([
      VIDEO(Buffer.alloc(0)),
      { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: Buffer.alloc(0) },
    ])
    const bytes = Buffer.concat([
      writer.frames([frameOf('video', 0, nals([0x65, 1]))]) ?? Buffer.alloc(0),
      ...Array.from(
        { length: 50 },
        (_, at) => writer.frames([frameOf('audio', at * 20_000, Buffer.from([0xfc, 1]))]) ?? Buffer.alloc(0),
      ),
    ])
    const heads: number[] = []
    for (let at = 0; at < bytes.length; at += PACKET_BYTES) heads.push(bytes.readUInt32BE(at))
    const ofPid = (pid: number) => heads.filter((word) => ((word >> 8) & 0x1fff) === pid)
    expect([ofPid(0).length, ofPid(0x1000).length]).toEqual([2, 2])
    // The picture, and each fifth packet of audio after it; none of those counts.
    const clocks = ofPid(0x100)
    expect(clocks).toHaveLength(10)
    expect(clocks.map((word) => word & 15)).toEqual(clocks.map(() => 0))
  })

  const OPUS: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: Buffer.alloc(0) }
  const audioAt = (timeUs: number) => frameOf('audio', timeUs, Buffer.from([0xfc, 1]))
  const videoAt = (timeUs: number) => frameOf('video', timeUs, nals([0x41, 1]), false)

  test('has a clock that never goes back, and times ahead of it, where audio comes in bursts of 350 ms', () => {
    const writer = new TsWriter()
    writer.setTracks([VIDEO(Buffer.alloc(0)), OPUS])
    const frames = Array.from({ length: 120 }, (_, at) => {
      const endUs = at * 16_667
      const burst =
        at % 21 === 20 ? Array.from({ length: 17 }, (__, one) => audioAt(endUs - 350_000 + one * 20_000)) : []
      return [videoAt(endUs), ...burst]
    }).flat()
    const { clocks, ahead } = clocksOf(frames.map((frame) => writer.frames([frame]) ?? Buffer.alloc(0)))
    expect(clocks).toEqual(clocks.toSorted((a, b) => a - b))
    expect(clocks).toHaveLength(120)
    expect(Math.min(...ahead)).toBeGreaterThan(0)
  })

  test('has a clock that goes on with audio that comes before video of its time', () => {
    const writer = new TsWriter()
    writer.setTracks([VIDEO(Buffer.alloc(0)), OPUS])
    const frames = [videoAt(0), audioAt(100_000), videoAt(40_000), videoAt(80_000), videoAt(120_000)]
    const { clocks } = clocksOf(frames.map((frame) => writer.frames([frame]) ?? Buffer.alloc(0)))
    expect(clocks).toEqual([0, 9000, 10_800])
  })

  test('says that its clock is another one where that of a source follows that was ahead of it by minutes', () => {
    const writer = new TsWriter()
    writer.setTracks([VIDEO(Buffer.alloc(0)), OPUS])
    const frames = [videoAt(300_000_000), audioAt(40_000), videoAt(60_000)]
    const { clocks, jumps } = clocksOf(frames.map((frame) => writer.frames([frame]) ?? Buffer.alloc(0)))
    expect([clocks, jumps]).toEqual([
      [27_000_000, 3600, 5400],
      [false, true, false],
    ])
  })

  test('writes frames that leave together as it does one after the other', () => {
    const frames = [
      frameOf('video', 0, nals([0x65, 1])),
      frameOf('audio', 10_000, Buffer.from([0xfc, 1])),
      frameOf('video', 40_000, nals([0x41, 2]), false),
      frameOf('audio', 200_000, Buffer.from([0xfc, 2])),
      frameOf('video', 600_000, nals([0x41, 3]), false),
    ]
    const opus: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: Buffer.alloc(0) }
    const written = (...groups: Frame[][]): Buffer => {
      const writer = new TsWriter()
      writer.setTracks([VIDEO(Buffer.alloc(0)), opus])
      return Buffer.concat(groups.map((group) => writer.frames(group) ?? Buffer.alloc(0)))
    }
    expect(written(frames)).toEqual(written(...frames.map((frame) => [frame])))
    expect(written(frames.slice(0, 1), frames.slice(1, 3), frames.slice(3))).toEqual(written(frames))
  })

  test('leaves out what does not fit, and goes on', () => {
    const writer = new TsWriter()
    writer.setTracks([
      VIDEO(Buffer.alloc(0)),
      { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: Buffer.from([0x12, 0x10]) },
    ])
    expect(writer.frames([frameOf('video', 0, Buffer.from([0, 0, 0, 9, 1]))])).toBeNull()
    expect(writer.frames([frameOf('video', 0, Buffer.alloc(0))])).toBeNull()
    expect(writer.frames([frameOf('audio', 0, Buffer.alloc(8185))])).toBeNull()
    expect(writer.frames([frameOf('audio', 0, Buffer.alloc(8184))])).not.toBeNull()
  })

  test('names what MPEG-TS does not carry', () => {
    const writer = new TsWriter()
    const refusal = (track: TrackInfo) => {
      const set = writer.setTracks([track])
      return set.ok ? '' : noticeText([set.error])
    }
    const none = new Uint8Array()
    expect(refusal({ kind: 'video', codec: 'vp8', width: 1, height: 1, config: none })).toMatch(
      /^The video is VP8, and/,
    )
    const audio = { kind: 'audio', sampleRate: 8000, channels: 1 } as const
    expect(refusal({ ...audio, codec: 'pcmu', config: none })).toMatch(/^The audio is PCMU, and/)
    // Another object type, and a layout of channels of its own.
    for (const config of [Uint8Array.of(0xf8, 0x10), Uint8Array.of(0x11, 0x80)])
      expect(refusal({ ...audio, codec: 'aac', config })).toMatch(/^The audio is a kind of AAC/)
  })
})
