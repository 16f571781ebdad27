import { expect, test } from 'vitest'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { vp9Frame } from '../../../src/media/codecs/vp9.ts'
import type { VideoTrack } from '../../../src/media/frame.ts'
import { codecName } from '../../../src/media/hls/sampleEntries.ts'

function nameOf(codec: VideoCodec, config: string): string | null {
  const track: VideoTrack = { kind: 'video', codec, width: 1920, height: 1080, config: Buffer.from(config, 'hex') }
  return codecName(track)
}

test.each([
  ['hevc', '010160000000b000000000005d', 'hvc1.1.6.L93.B0'],
  // ISO/IEC 14496-15 annex E.3 has this example.
  ['hevc', '016482000000b0230000000078', 'hvc1.A4.41.H120.B0.23'],
  ['hevc', '010220000000000000000000ba', 'hvc1.2.4.L186'],
  ['av1', '81040c00', 'av01.0.04M.08'],
  ['av1', '812dc000', 'av01.1.13H.10'],
  ['av1', '815f6000', 'av01.2.31M.12'],
  ['h264', '0164001fff', 'avc1.64001f'],
] as const)('%s with the configuration %s is %s', (codec, config, name) => {
  expect(nameOf(codec, config)).toBe(name)
})

/** The uncompressed header of a keyframe of VP9, in bits after the frame marker: profile, colours, size. */
function vp9Keyframe(profile: string, color: string, width: number, height: number): Buffer {
  const size = [width, height].map((pixels) => (pixels - 1).toString(2).padStart(16, '0')).join('')
  const bits = `10${profile}0010${(0x498342).toString(2).padStart(24, '0')}${color}${size}`.padEnd(128, '0')
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

const vp9NameOf = (frame: Buffer): string | null => {
  const { width = 0, height = 0, config = Buffer.alloc(0) } = vp9Frame(frame)?.format ?? {}
  return codecName({ kind: 'video', codec: 'vp9', width, height, config })
}

test.each([
  [160, 90, 11],
  [1280, 720, 40],
  [1920, 1080, 41],
  [3840, 2160, 51],
  [7680, 4320, 62],
])('VP9 of %i x %i needs level %i at up to 60 frames a second', (width, height, level) => {
  expect(vp9NameOf(vp9Keyframe('00', '0010', width, height))).toBe(`vp09.00.${level}.08`)
})

test.each([
  ['profile 1 with 4:4:4', '10', '0010000', 'vp09.01.40.08.03.02.02.02.00'],
  ['profile 1 with 4:2:2 and full range', '10', '0011100', 'vp09.01.40.08.02.02.02.02.01'],
  ['profile 1 with RGB', '10', '1110', 'vp09.01.40.08.03.01.02.00.01'],
  ['profile 2 with 10 bits', '01', '00010', 'vp09.02.40.10'],
  ['profile 2 with 12 bits of BT.2020', '01', '11010', 'vp09.02.40.12'],
  ['profile 3 with 10 bits of 4:4:0', '110', '00010010', 'vp09.03.40.10.04.02.02.02.00'],
  ['profile 0 with RGB, which it cannot have', '00', '1110', null],
  ['profile 1 with a reserved bit', '10', '0010001', null],
])('VP9 of %s', (_, profile, color, name) => {
  expect(vp9NameOf(vp9Keyframe(profile, color, 1280, 720))).toBe(name)
})

test.each([
  ['hevc', '0101600000'],
  ['av1', ''],
  ['h264', '01'],
  ['vp8', ''],
  ['vp9', ''],
] as const)('%s with the configuration "%s" cannot be in MP4, or not yet', (codec, config) => {
  expect(nameOf(codec, config)).toBeNull()
})
