import { expect, test } from 'vitest'
import type { Frame, VideoTrack } from '../../src/media/frame.ts'
import { Reordering } from '../../src/media/reordering.ts'

const track = (profile: number): VideoTrack => ({
  kind: 'video',
  codec: 'h264',
  width: 64,
  height: 48,
  config: Uint8Array.of(1, profile, 0, 30),
})
const [BASELINE, HIGH] = [66, 100]

const frames = (offsets: readonly number[]): Frame[] =>
  offsets.map((offsetMs, at) => {
    const decodeTimeUs = at * 40_000
    return {
      kind: 'video',
      timeUs: decodeTimeUs + offsetMs * 1000,
      decodeTimeUs,
      key: at === 0,
      data: new Uint8Array(),
    }
  })

test.each([
  ['frames that are all shown 80 ms after they are decoded', HIGH, [80, 80, 80], ['undecided', 'no', 'no']],
  ['the same, rounded to milliseconds', HIGH, [33, 34, 33], ['undecided', 'no', 'no']],
  ['baseline, whatever its offsets are', BASELINE, [80, 0, 120], ['no', 'no', 'no']],
  ['B-frames', HIGH, [80, 200, 0], ['undecided', 'yes', 'yes']],
  ['B-frames of an encoder whose first picture has no offset', HIGH, [0, 0, 120], ['no', 'no', 'yes']],
])('%s', (_, profile, offsets, found) => {
  const reordering = new Reordering()
  reordering.tracks([track(profile)])
  expect(frames(offsets).map((frame) => reordering.look(frame))).toEqual(found)
})

test('two frames show it, where it can be at all', () => {
  const reordering = new Reordering()
  const decided = (video: VideoTrack): boolean[] => {
    reordering.tracks([video])
    const before = reordering.isDecided
    return [
      before,
      ...frames([80, 80]).map((frame) => {
        reordering.look(frame)
        return reordering.isDecided
      }),
    ]
  }
  expect(decided(track(HIGH))).toEqual([false, false, true])
  expect(decided({ ...track(HIGH), codec: 'hevc' })).toEqual([false, false, true])
  expect(decided(track(BASELINE))).toEqual([true, true, true])
  for (const codec of ['av1', 'vp9', 'vp8'] as const) expect(decided({ ...track(HIGH), codec })[0]).toBe(true)
})

test('audio never counts, and other tracks begin again', () => {
  const reordering = new Reordering()
  reordering.tracks([track(HIGH)])
  const [first, second] = frames([80, 200])
  expect(reordering.look({ ...first!, kind: 'audio' })).toBe('no')
  reordering.look(first!)
  reordering.tracks([track(HIGH)])
  expect(reordering.look(second!)).toBe('undecided')
})
