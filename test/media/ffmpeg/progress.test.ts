import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Progress, progressReader } from '../../../src/media/ffmpeg/progress.ts'

const BLOCK = [
  'frame=76',
  'fps=25.10',
  'stream_0_0_q=-1.0',
  'bitrate= 530.1kbits/s',
  'total_size=199548',
  'out_time_us=3011000',
  'out_time_ms=3011000',
  'out_time=00:00:03.011000',
  'dup_frames=0',
  'drop_frames=2',
  'speed=1.01x',
  'progress=continue',
  '',
].join('\n')

const EXPECTED: Progress = { outTimeMs: 3011 }

function readAll(pieces: readonly string[]): Progress[] {
  const said: Progress[] = []
  const read = progressReader((progress) => said.push(progress))
  for (const piece of pieces) read(piece)
  return said
}

test('a block is read wherever the pipe splits it', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(BLOCK.length), { maxLength: 6 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), BLOCK.length]
      const pieces = at.slice(1).map((end, i) => BLOCK.slice(at[i], end))
      expect(readAll([...pieces, BLOCK])).toEqual([EXPECTED, EXPECTED])
    }),
  )
})

test('unknown values are absent', () => {
  expect(readAll(['bitrate=N/A\ntotal_size=N/A\nout_time_us=-9223372036854775807\nspeed=N/A\nprogress=end\n'])).toEqual(
    [{}],
  )
})

test('any input is read without an error', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 50 }), { maxLength: 10 }), (pieces) => {
      expect(() => readAll(pieces)).not.toThrow()
    }),
  )
})
