import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { samplesIn } from '../../../src/media/codecs/audioFrames.ts'
import { silentFrame } from '../../../src/media/codecs/silence.ts'
import { type AudioTrack, rtpAudioTrack } from '../../../src/media/frame.ts'

/** 44.1 kHz. */
const RATE_INDEX = 4

const aac = (objectType: number, layout: number): AudioTrack => ({
  kind: 'audio',
  codec: 'aac',
  sampleRate: 44_100,
  channels: layout === 7 ? 8 : layout,
  config: Uint8Array.of((objectType << 3) | (RATE_INDEX >> 1), ((RATE_INDEX & 1) << 7) | (layout << 3)),
})

/** A frame of AAC-LC with the header of an ADTS stream (ISO/IEC 13818-7 section 6.2). */
function adts(frame: Uint8Array, layout: number): Buffer {
  const length = frame.length + 7
  const lengthBits = [(layout & 3) << 6, (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f]
  return Buffer.from([0xff, 0xf1, (1 << 6) | (RATE_INDEX << 2) | (layout >> 2), ...lengthBits, 0xfc, ...frame])
}

test.each([1, 2, 3, 4, 5, 6, 7])('a silent frame of AAC in layout %i decodes to silence', (layout) => {
  const track = aac(2, layout)
  const frame = silentFrame(track)!
  const input = Buffer.concat(Array.from({ length: 4 }, () => adts(frame, layout)))
  const args = '-v error -xerror -f aac -i pipe:0 -f s16le pipe:1'.split(' ')
  const { stdout, stderr } = spawnSync('ffmpeg', args, { input })
  expect(stderr.toString()).toBe('')
  expect(stdout.length).toBe(4 * samplesIn(track, frame) * track.channels * 2)
  expect(stdout.every((byte) => byte === 0)).toBe(true)
})

test('there is none for AAC whose layout is in its frames, nor for other kinds of AAC', () => {
  expect(silentFrame(aac(2, 0))).toBeNull()
  expect(silentFrame(aac(23, 2))).toBeNull()
})

test.each([
  ['opus', 48_000],
  ['pcma', 8000],
  ['pcmu', 8000],
] as const)('that of %s lasts 20 ms', (codec, rate) => {
  const track = rtpAudioTrack(codec, rate)
  expect(samplesIn(track, silentFrame(track)!) / rate).toBe(0.02)
})
