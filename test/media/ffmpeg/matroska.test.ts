import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writeAvcConfig } from '../../../src/media/codecs/h264Config.ts'
import type { AudioCodec, VideoCodec } from '../../../src/media/codecs/codecs.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { MatroskaWriter } from '../../../src/media/ffmpeg/matroska.ts'
import { encoded, type Recorded } from './frames.ts'

interface ProbedPacket {
  codec_type: string
  pts_time: string
  flags: string
  size: string
  data_hash: string
}

function written({ tracks, frames }: Recorded): Buffer {
  const writer = new MatroskaWriter(tracks)
  return Buffer.concat([writer.head(), ...frames.map((frame) => writer.frame(frame))])
}

function probe(file: Buffer): { streams: Record<string, unknown>[]; packets: ProbedPacket[] } {
  const args = ['-v', 'error', '-show_streams', '-show_packets', '-show_data_hash', 'md5', '-of', 'json', 'pipe:0']
  return JSON.parse(execFileSync('ffprobe', args, { input: file, maxBuffer: 1 << 26 }).toString())
}

const CASES: [VideoCodec | undefined, AudioCodec | undefined, number][] = [
  ['h264', 'aac', 0],
  ['h264', 'aac', 2],
  ['vp8', 'opus', 0],
  ['vp9', 'opus', 0],
  ['av1', undefined, 0],
  ['hevc', undefined, 2],
  [undefined, 'opus', 0],
  ['h264', 'pcma', 0],
  [undefined, 'pcmu', 0],
]

/** As ffmpeg calls them. */
const NAMES: Readonly<Record<string, string>> = { pcma: 'pcm_alaw', pcmu: 'pcm_mulaw' }

describe('ffprobe reads every packet back unchanged', () => {
  test.each(CASES)('%s and %s, %i B-frames', async (video, audio, bframes) => {
    const wanted = { ...(video ? { video } : {}), ...(audio ? { audio } : {}), seconds: 3, bframes }
    const recorded = await encoded(wanted)
    const { streams, packets } = probe(written(recorded))
    const names = [video, audio].flatMap((codec) => (codec === undefined ? [] : (NAMES[codec] ?? codec)))
    expect(streams.map((stream) => stream['codec_name'])).toEqual(names)
    if (video) expect(streams[0]).toMatchObject({ width: 160, height: 120 })
    expect(packets).toHaveLength(recorded.frames.length)
    for (const [index, frame] of recorded.frames.entries()) {
      const packet = packets[index]
      expect(packet).toMatchObject({ codec_type: frame.kind, size: String(frame.data.length) })
      expect(Math.abs(Number(packet?.pts_time) * 1e6 - frame.timeUs)).toBeLessThanOrEqual(50)
      if (frame.kind === 'video') expect(packet?.flags.startsWith('K')).toBe(frame.key)
    }
  })
})

test('a decoder reads all frames without an error', async () => {
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, bframes: 2 })
  const args = ['-v', 'error', '-i', 'pipe:0', '-f', 'framemd5', '-map', '0:v', '-']
  const decoded = execFileSync('ffmpeg', args, { input: written(recorded) }).toString()
  expect(decoded.split('\n').filter((line) => line.startsWith('0,'))).toHaveLength(50)
})

test('a file that is truncated anywhere is readable up to its end', async () => {
  const recorded = await encoded({ video: 'vp8', audio: 'opus', seconds: 2 })
  const file = written(recorded)
  for (const share of [0.3, 0.61, 0.97]) {
    const { packets } = probe(file.subarray(0, Math.floor(file.length * share)))
    expect(packets.length).toBeGreaterThan(recorded.frames.length * share * 0.5)
  }
})

const TRACKS: TrackInfo[] = [
  { kind: 'video', codec: 'vp8', width: 0, height: 0, config: new Uint8Array() },
  { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() },
]

/** Reads with the rules of EBML alone. */
function parse(bytes: Uint8Array): { timeUs: number; track: number; key: boolean; data: Uint8Array }[] {
  const found: ReturnType<typeof parse> = []
  let at = 0
  let cluster = 0
  const number = (keepMarker: boolean): number => {
    const first = bytes[at] ?? 0
    const length = Math.clz32(first) - 23
    let value = keepMarker ? first : first & (0xff >> length)
    let ones = !keepMarker && value === 0xff >> length
    for (const byte of bytes.subarray(at + 1, at + length)) {
      value = value * 256 + byte
      ones &&= byte === 0xff
    }
    at += length
    return ones && length === 8 ? Number.POSITIVE_INFINITY : value
  }
  while (at < bytes.length) {
    const id = number(true)
    const size = number(false)
    if (size === Number.POSITIVE_INFINITY) continue
    const payload = bytes.subarray(at, at + size)
    at += size
    if (id === 0xe7) cluster = payload.reduce((value, byte) => value * 256 + byte, 0)
    if (id === 0xa3) {
      const offset = new DataView(payload.buffer, payload.byteOffset).getInt16(1)
      const track = (payload[0] ?? 0) & 0x7f
      found.push({
        timeUs: (cluster + offset) * 100,
        track,
        key: ((payload[3] ?? 0) & 0x80) !== 0,
        data: payload.subarray(4),
      })
    }
  }
  return found
}

const anyFrame: fc.Arbitrary<Frame> = fc
  .record({
    kind: fc.constantFrom('video' as const, 'audio' as const),
    timeUs: fc.nat(4_000_000_000),
    key: fc.boolean(),
    data: fc.oneof(fc.uint8Array({ maxLength: 300, size: 'max' }), fc.constant(new Uint8Array(70_000))),
  })
  .map((frame) => ({ ...frame, decodeTimeUs: frame.timeUs }))

test('any frames with any timestamps are read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 40, size: 'max' }), (frames) => {
      const back = parse(written({ tracks: TRACKS, frames }))
      expect(back).toHaveLength(frames.length)
      for (const [index, frame] of frames.entries()) {
        const got = back[index]
        expect(got).toMatchObject({ track: frame.kind === 'video' ? 1 : 2, key: frame.key })
        expect(Math.abs((got?.timeUs ?? 0) - frame.timeUs)).toBeLessThanOrEqual(50)
        expect(Buffer.from(got?.data ?? []).equals(frame.data)).toBe(true)
      }
    }),
  )
})

test('frames of an undeclared track are dropped', () => {
  const writer = new MatroskaWriter(TRACKS.slice(0, 1))
  expect(writer.frame({ kind: 'audio', timeUs: 0, decodeTimeUs: 0, key: true, data: Uint8Array.of(1) })).toHaveLength(0)
})

describe('the header has a frame rate', () => {
  const headOf = (codec: VideoCodec, config: Uint8Array = new Uint8Array()): string =>
    Buffer.from(new MatroskaWriter([{ kind: 'video', codec, width: 0, height: 0, config }]).head()).toString('hex')
  const avcConfig = (sps: string): Uint8Array =>
    writeAvcConfig({ sps: [Buffer.from(sps, 'hex')], pps: [Buffer.from('68ce3c80', 'hex')] })!
  /** DefaultDuration of 33,333,333 ns. */
  const THIRTY = '23e3838401fca055'

  test.each<VideoCodec>(['vp8', 'vp9', 'av1'])('of %s', (codec) => {
    expect(headOf(codec)).toContain(THIRTY)
  })

  test.each([
    ['says none', '6742c01e8c8d40501e900f08846a', true],
    ['says 25', '674d401fe8802802dd80b501010140000003004000000c83c60c4480', false],
    ['says the 90,000 units of its timestamps', '6764000aacb42136022000000300200057e401e244d4', true],
  ])('of H.264 that %s', (_, sps, has) => {
    expect(headOf('h264', avcConfig(sps)).includes('23e383')).toBe(has)
  })
})
