import { expect, test } from 'vitest'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import type { VideoTrack } from '../../../src/media/frame.ts'
import { codecName } from '../../../src/media/hls/sampleEntries.ts'

function nameOf(codec: VideoCodec, config: string, width = 1920, height = 1080): string | null {
  const track: VideoTrack = { kind: 'video', codec, width, height, config: Buffer.from(config, 'hex') }
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

test.each([
  [160, 90, 11],
  [1280, 720, 40],
  [1920, 1080, 41],
  [3840, 2160, 51],
  [7680, 4320, 62],
])('VP9 of %i x %i needs level %i at up to 60 frames a second', (width, height, level) => {
  expect(nameOf('vp9', '', width, height)).toBe(`vp09.00.${level}.08`)
})

test.each([
  ['hevc', '0101600000'],
  ['av1', ''],
  ['h264', '01'],
  ['vp8', ''],
] as const)('%s with the configuration "%s" cannot be in MP4, or not yet', (codec, config) => {
  expect(nameOf(codec, config)).toBeNull()
  expect(nameOf('vp9', '', 0, 0)).toBeNull()
})
