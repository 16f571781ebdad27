import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Cutter, isGap, longestSegmentOf, partTargetOf, targetDurationOf } from '../../../src/core/hls/cutter.ts'

const RULES = { segmentSeconds: 2, maxSeconds: longestSegmentOf(2), partSeconds: 0.35 }

interface CutFrame {
  seconds: number
  key: boolean
}

/** The segments into which these frames are cut, and their parts. */
function cut(frames: readonly CutFrame[], lead: 'video' | 'audio' = 'video'): CutFrame[][][] {
  const cutter = new Cutter(RULES, lead)
  const segments: CutFrame[][][] = [[[]]]
  for (const frame of frames) {
    if (cutter.endsSegment(frame.key, frame.seconds)) {
      segments.push([[]])
      cutter.segmentEnded()
    } else if (cutter.endsPart(frame.key, frame.seconds)) {
      segments.at(-1)!.push([])
      cutter.partEnded()
    }
    cutter.add(frame.seconds, frame.key)
    segments.at(-1)!.at(-1)!.push(frame)
  }
  return segments
}

const lengthOf = (frames: readonly CutFrame[]): number => frames.reduce((sum, { seconds }) => sum + seconds, 0)

const frame = fc.record({ seconds: fc.integer({ min: 16, max: 52 }).map((ms) => ms / 1000), key: fc.boolean() })

test('for any frames of a steady camera, parts and segments keep their bounds', () => {
  fc.assert(
    fc.property(fc.array(frame, { minLength: 50, maxLength: 400, size: 'max' }), (frames) => {
      const segments = cut(frames)
      expect(segments.flat(2)).toEqual(frames)
      for (const parts of segments.slice(0, -1)) {
        expect(Math.round(lengthOf(parts.flat()))).toBeLessThanOrEqual(2)
        for (const [index, part] of parts.entries()) {
          expect(lengthOf(part)).toBeLessThanOrEqual(0.35 + 1e-6)
          if (index < parts.length - 1) expect(lengthOf(part)).toBeGreaterThanOrEqual(0.35 * 0.85 - 0.052)
        }
      }
    }),
  )
})

/** Frames of 40 ms with keyframes this far apart. */
const gops = (lengths: readonly number[]): CutFrame[] =>
  lengths.flatMap((length) => Array.from({ length }, (_, at) => ({ seconds: 0.04, key: at === 0 })))

test('a segment begins with a keyframe while they come often enough, also where an encoder adds some', () => {
  const added = fc.array(fc.integer({ min: 5, max: 50 }), { minLength: 5, maxLength: 100, size: 'max' })
  fc.assert(
    fc.property(added, (lengths) => {
      // The longest distance is seen in each half minute.
      const seen = lengths.flatMap((length, at) => (at % 10 === 0 ? [50, length] : [length]))
      const segments = cut(gops([50, ...seen]))
      for (const [first] of segments) expect(first?.[0]?.key).toBe(true)
    }),
  )
})

test('a segment ends at a keyframe if the next one would come too late, as far apart as the first two', () => {
  expect(cut(gops([31, 31, 31])).map((parts) => parts.flat().length)).toEqual([31, 31, 31])
})

test('a part that is long enough ends before a keyframe, so that players can begin there', () => {
  const frames = Array.from({ length: 90 }, (_, at) => ({ seconds: 0.02, key: at % 15 === 0 }))
  for (const [first] of cut(frames).flat()) expect(first?.key).toBe(true)
})

test('without keyframes a segment ends when it has to, and at the next keyframe', () => {
  expect(cut(gops([100, 50, 50])).map((parts) => parts.flat().length)).toEqual([61, 39, 50, 50])
})

test('a keyframe that comes a frame early ends a segment too', () => {
  const frames = Array.from({ length: 200 }, (_, at) => ({ seconds: 0.04, key: at % 49 === 0 }))
  expect(cut(frames).map((parts) => parts.flat().length)).toEqual([49, 49, 49, 49, 4])
})

test.each([
  [[0.033], 0.35],
  [[0.05], 0.35],
  [[0.067], 0.5],
  [[0.1], 0.7],
  [[0.15], 1],
  [[0.5], 1],
  [[1.25], 1.3],
  // One late frame in twenty.
  [[...Array.from({ length: 19 }, () => 0.033), 0.2], 0.35],
  [[...Array.from({ length: 18 }, () => 0.033), 0.2, 0.2], 1],
])('the part target for frames of %j s is %d s', (seconds, target) => expect(partTargetOf(seconds)).toBe(target))

describe('the target duration', () => {
  test.each([
    [2, 2.04, 2],
    [2, 3.6, 4],
    [2, 1.1, 2],
    [1, 0.4, 1],
    [6, 6, 6],
  ])('for segments of %d s of which the first lasts %d s is %d s', (segment, first, target) => {
    expect(targetDurationOf(segment, first)).toBe(target)
    expect(Math.round(longestSegmentOf(target))).toBe(target)
  })
})

test('a gap is longer than a second and than four frames, or the clock went back', () => {
  expect(isGap(0.9, 0.033, 2)).toBe(false)
  expect(isGap(1.1, 0.033, 2)).toBe(true)
  expect(isGap(1.1, 1, 2)).toBe(false)
  expect(isGap(3, 3, 2)).toBe(true)
  expect(isGap(3, 3, 4)).toBe(false)
  expect(isGap(-0.2, 0.033, 2)).toBe(false)
  expect(isGap(-2, 0.033, 2)).toBe(true)
})
