import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { avcCodec, BadStream, type Mp4Fragment, FragmentReader, type Init } from '../../../src/media/hls/fragments.ts'
import { viewOf } from '../../../src/media/codecs/boxes.ts'

let file: Buffer

beforeAll(() => {
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=64x48:rate=25:duration=4', '-f', 'lavfi', '-i', 'sine=duration=4']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', '-bf', '0', '-c:a', 'aac']
  const output = ['-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov+default_base_moof', '-frag_duration', '400000']
  file = execFileSync('ffmpeg', ['-v', 'error', ...source, ...codecs, ...output, 'pipe:1'], { maxBuffer: 1 << 26 })
})

function readAll(pieces: readonly Buffer[]): { inits: Init[]; fragments: Mp4Fragment[] } {
  const inits: Init[] = []
  const fragments: Mp4Fragment[] = []
  const reader = new FragmentReader(
    (init) => inits.push(init),
    (fragment) => fragments.push(fragment),
  )
  for (const piece of pieces) reader.write(piece)
  return { inits, fragments }
}

test('fragments have no gaps between them, and each says whether it begins with a keyframe', () => {
  const { inits, fragments } = readAll([file])
  expect(inits).toHaveLength(1)
  expect(inits[0]?.tracks.map((track) => track.kind)).toEqual(['video', 'audio'])
  expect(avcCodec(viewOf(inits[0]!.bytes))).toMatch(/^avc1\.[0-9a-f]{6}$/)
  let at = 0
  for (const { start, duration } of fragments) {
    expect(start).toBeCloseTo(at, 3)
    at = start + duration
  }
  expect(at).toBeCloseTo(4, 1)
  expect(fragments.filter(({ key }) => key).map(({ start }) => Math.round(start))).toEqual([0, 1, 2, 3])
})

test('fragments are the same wherever the pipe splits the bytes', () => {
  const whole = readAll([file])
  fc.assert(
    fc.property(fc.array(fc.nat(file.length), { maxLength: 30 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), file.length]
      expect(readAll(at.slice(1).map((end, i) => file.subarray(at[i], end)))).toEqual(whole)
    }),
    { numRuns: 30 },
  )
})

describe('invalid MP4', () => {
  test('a box of an impossible size is refused at once', () => {
    expect(() => readAll([Buffer.from([0x7f, 0, 0, 0, 1, 2, 3, 4])])).toThrow(BadStream)
    expect(() => readAll([Buffer.from([0, 0, 0, 7, 1, 2, 3, 4])])).toThrow(BadStream)
  })

  test('damage anywhere leads to a refusal or to other fragments, and to no other error', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { minLength: 1, maxLength: 8 }), (damage) => {
        const damaged = Buffer.from(file.subarray(0, 4000))
        for (const [at, byte] of damage) damaged[at] = byte
        try {
          readAll([damaged])
        } catch (error) {
          if (!(error instanceof BadStream)) throw error
        }
      }),
      { numRuns: 500 },
    )
  })
})
