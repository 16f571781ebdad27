import { expect, test } from 'vitest'
import { BitReader } from '../../../src/media/codecs/bits.ts'
import { hevcFormatOf, hevcParameterSets } from '../../../src/media/codecs/hevc.ts'
import { readTransfer } from '../../../src/media/codecs/hevcTransfer.ts'
import type { VideoTrack } from '../../../src/media/frame.ts'
import { videoRangeOf } from '../../../src/media/hls/videoRange.ts'
import { encoded } from '../ffmpeg/frames.ts'

test.each([
  ['hevc', 'smpte2084', 'PQ'],
  ['hevc', 'arib-std-b67', 'HLG'],
  ['hevc', 'bt709', 'SDR'],
  ['av1', 'smpte2084', 'PQ'],
  ['av1', 'arib-std-b67', 'HLG'],
  ['av1', 'bt709', 'SDR'],
  ['h264', 'smpte2084', 'SDR'],
] as const)('%s with the transfer function %s is %s', async (video, transfer, range) => {
  const { tracks } = await encoded({ video, audio: 'opus', seconds: 1, gop: 25, transfer })
  expect(videoRangeOf(tracks)).toBe(range)
})

test('a stream that says no transfer function, or is cut off before it, is SDR', async () => {
  const { tracks } = await encoded({ video: 'hevc', seconds: 1, gop: 25, transfer: 'smpte2084' })
  const [track] = tracks
  const nals = hevcParameterSets(Buffer.from(track?.config ?? [])) ?? []
  const rangeOf = (cut: number) => {
    const sets = nals.map((nal) => (nal.readUInt8(0) >> 1 === 33 ? nal.subarray(0, nal.length - cut) : nal))
    const { config = Buffer.alloc(0) } = hevcFormatOf(sets) ?? {}
    return videoRangeOf([{ ...(track as VideoTrack), config }])
  }
  const whole = nals.find((nal) => nal.readUInt8(0) >> 1 === 33)?.length ?? 0
  const ranges = Array.from({ length: whole }, (_, cut) => rangeOf(cut))
  expect(ranges.slice(0, 2)).toEqual(['PQ', 'PQ'])
  expect(ranges.at(-1)).toBe('SDR')
  expect(ranges.indexOf('SDR')).toBe(ranges.lastIndexOf('PQ') + 1)
  expect((await encoded({ video: 'hevc', seconds: 1, gop: 25 })).tracks.map((one) => videoRangeOf([one]))).toEqual([
    'SDR',
  ])
})

/** Exp-Golomb code, ue(v). */
const ue = (value: number): string => (value + 1).toString(2).padStart(2 * (value + 1).toString(2).length - 1, '0')
const several = (count: number, bits: string): string => bits.repeat(count)

/** The rest of an SPS after the bits of its samples, with all that may come before the transfer function. */
const REST = {
  order: ue(4) + '1' + several(6, ue(1)),
  sizes: several(6, ue(2)),
  scaling: [
    '11',
    several(6, `0${ue(1)}`),
    `1${several(64, ue(3))}`,
    several(5, `0${ue(0)}`),
    `1${several(65, ue(2))}`,
    several(7, `0${ue(0)}`),
  ].join(''),
  tools: '11',
  pcm: `1${several(8, '0')}${ue(0)}${ue(2)}1`,
  // Three frames; three of them and a fourth that is not used, predicted; one frame.
  sets: [ue(3), ue(2) + ue(1) + several(3, `${ue(0)}1`), `10${ue(0)}1`, '01001', `0${ue(1)}${ue(0)}${ue(0)}1`].join(''),
  longTerm: `1${ue(2)}${several(18, '1')}`,
  more: '00',
  vui: ['11', several(8, '1'), several(32, '0'), '1110000', '1', '00001001', '00010010', '00001001'].join(''),
}

const transferIn = (rest: Partial<typeof REST>): number | null => {
  const bits = Object.values({ ...REST, ...rest })
    .join('')
    .padEnd(4096, '0')
  return readTransfer(new BitReader(Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])), 1)
}

test('the transfer function of an SPS is found behind all that may come before it', () => {
  expect(transferIn({})).toBe(18)
  const without = { order: ue(4) + '0' + several(3, ue(1)), scaling: '0', pcm: '0', sets: ue(0), longTerm: '0' }
  expect(transferIn(without)).toBe(18)
  for (const [part, bits] of Object.entries(without)) expect(transferIn({ [part]: bits })).toBe(18)
  expect(transferIn({ scaling: '10' })).toBe(18)
})

test.each([
  ['no further facts', { vui: '0' }],
  ['facts without a signal', { vui: '1000' }],
  ['a signal without colours', { vui: '100100000' }],
  ['more reference sets than there may be', { sets: ue(65) + several(65, `0${ue(0)}${ue(0)}`) }],
  ['more pictures in a set than there may be', { sets: ue(1) + ue(20) + ue(0) }],
  ['more long-term pictures than there may be', { longTerm: `1${ue(33)}` }],
])('an SPS with %s says none', (_, rest) => {
  expect(transferIn(rest)).toBeNull()
})
