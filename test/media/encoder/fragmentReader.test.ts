import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FragmentReader } from '../../../src/media/encoder/fragmentReader.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { initOf, mp4Tracks, partOf } from '../../../src/media/hls/fmp4.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 64, height: 48, config: Buffer.from([1, 66, 0, 30]) }
const AUDIO: TrackInfo = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 48_000,
  channels: 2,
  config: Buffer.from([17, 144]),
}

const sample = (at: number, pts = at) => ({
  dts: 900_000 + at * 3600,
  pts: 900_000 + pts * 3600,
  duration: 3600,
  key: at % 3 === 0,
  data: Buffer.alloc(20 + at, at),
})

/** An init and one frame in each fragment. */
const video = (): Buffer =>
  Buffer.concat([
    initOf(mp4Tracks([VIDEO])),
    ...[0, 1, 2, 3].map((at) => partOf(at, [{ id: 1, samples: [sample(at, at === 2 ? 1 : at)] }])),
  ])

function reader() {
  const tracks: TrackInfo[] = []
  const frames: Frame[] = []
  const made = new FragmentReader({
    offsetUs: 10_000_000,
    track: (track) => void tracks.push(track),
    frame: (frame) => void frames.push({ ...frame, data: Uint8Array.from(frame.data) }),
  })
  return { tracks, frames, push: (chunk: Buffer) => made.push(chunk) }
}

test('the track and all frames come out, with times less the offset, however the bytes are cut', () => {
  const bytes = video()
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20, size: 'max' }), (cuts) => {
      const { tracks, frames, push } = reader()
      const ends = [...cuts.toSorted((a, b) => a - b), bytes.length]
      for (const [at, end] of ends.entries()) expect(push(bytes.subarray(ends[at - 1] ?? 0, end)).ok).toBe(true)
      expect(tracks).toEqual([{ ...VIDEO, config: Uint8Array.from(VIDEO.config) }])
      expect(frames.map(({ decodeTimeUs, timeUs, key }) => [decodeTimeUs, timeUs, key])).toEqual([
        [0, 0, true],
        [40_000, 40_000, false],
        [80_000, 40_000, false],
        [120_000, 120_000, true],
      ])
      expect(frames.map(({ data }) => [data.length, data[0]])).toEqual([
        [20, 0],
        [21, 1],
        [22, 2],
        [23, 3],
      ])
    }),
    { numRuns: 50 },
  )
})

test('audio comes out with its configuration, and every frame of it is a beginning', () => {
  const { tracks, frames, push } = reader()
  const samples = [{ dts: 480_000, pts: 480_000, duration: 1024, key: false, data: Buffer.from([1, 2, 3]) }]
  push(Buffer.concat([initOf(mp4Tracks([AUDIO])), partOf(0, [{ id: 1, samples }])]))
  expect(tracks).toEqual([{ ...AUDIO, config: Uint8Array.from(AUDIO.config) }])
  expect(frames).toMatchObject([{ kind: 'audio', key: true, timeUs: 0, data: Uint8Array.from([1, 2, 3]) }])
})

function box(type: string, ...fields: (number | Buffer)[]): Buffer {
  const payload = Buffer.concat(
    fields.map((field) => {
      if (typeof field !== 'number') return field
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(field)
      return bytes
    }),
  )
  const head = Buffer.alloc(8)
  head.writeUInt32BE(payload.length + 8)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, payload])
}

test('a fragment whose size, duration and flags stand in the defaults of its track is read', () => {
  const { frames, push } = reader()
  push(initOf(mp4Tracks([VIDEO])))
  const [tfhd, tfdt] = [box('tfhd', 0x2_00_38, 1, 3600, 5, 0x1_01_00_00), box('tfdt', 0x1_00_00_00, 0, 900_000)]
  const moof = box('moof', box('traf', tfhd, tfdt, box('trun', 0x4, 2, 0x2_00_00_00)))
  push(Buffer.concat([moof, box('mdat', Buffer.from('firstother'))]))
  expect(frames.map(({ data, key }) => [Buffer.from(data).toString(), key])).toEqual([
    ['first', true],
    ['other', false],
  ])
  expect(frames.map(({ decodeTimeUs }) => decodeTimeUs)).toEqual([0, 40_000])
})

test('anything else is refused or ignored, and nothing throws', () => {
  expect(reader().push(Buffer.from([0, 0, 0, 4, 1, 2, 3, 4]))).toMatchObject({ ok: false })
  expect(reader().push(Buffer.from([255, 0, 0, 0, 1, 2, 3, 4]))).toMatchObject({ ok: false })
  const bytes = video()
  const change = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(change, (changes) => {
      const changed = Buffer.from(bytes)
      for (const [at, value] of changes) changed[at] = value
      const { frames, push } = reader()
      push(changed)
      expect(frames.length).toBeLessThan(10_000)
    }),
    { numRuns: 500 },
  )
})
