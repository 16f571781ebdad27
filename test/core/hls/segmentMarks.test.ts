import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyframeWatch } from '../../../src/core/hls/keyframes.ts'
import { SegmentMarks } from '../../../src/core/hls/segmentMarks.ts'

const RULES = { segmentSeconds: 2, maxSeconds: 4 }

/** Where segments begin in a rendition with this many frames a second, seconds. */
function begins(
  marks: SegmentMarks,
  rendition: number,
  keys: (at: number) => boolean,
  frames = 500,
  fps = 25,
): number[] {
  const found: number[] = []
  for (let at = 0; at < frames; at++) {
    const timeUs = Math.round((at / fps) * 1e6)
    if (marks.begins(rendition, { timeUs, key: keys(at) })) found.push(at / fps)
  }
  return found
}

test('a segment begins at the first keyframe after two seconds, whatever the distance of keyframes', () => {
  const everySeconds = (seconds: number) =>
    begins(new SegmentMarks(1, RULES), 0, (at) => at % (seconds * 25) === 0, 250)
  expect(everySeconds(1)).toEqual([0, 2, 4, 6, 8])
  expect(everySeconds(2)).toEqual([0, 2, 4, 6, 8])
  expect(everySeconds(3)).toEqual([0, 3, 6, 9])
  expect(everySeconds(0.04)).toEqual([0, 1.92, 3.84, 5.76, 7.68, 9.6])
})

test('without a keyframe none is longer than four seconds, and the next keyframe begins another one', () => {
  expect(begins(new SegmentMarks(1, RULES), 0, (at) => at % 250 === 0)).toEqual([0, 4, 8, 10, 14, 18])
  expect(begins(new SegmentMarks(1, RULES), 0, (at) => at % 225 === 0)).toEqual([0, 4, 8, 9, 13, 17, 18])
})

test('all renditions begin segments at the same frames, although their times are inexact and they take turns', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 300, maxLength: 300 }), fc.nat(100), (leads, seed) => {
      const marks = new SegmentMarks(2, RULES)
      const found: number[][] = [[], []]
      const next = [0, 0]
      const take = (rendition: number): void => {
        const at = next[rendition]!++
        // The times of the second one are rounded otherwise.
        const timeUs = at * 40_000 + (rendition === 0 ? 0 : ((at * seed) % 1000) - 500)
        if (marks.begins(rendition, { timeUs, key: (at * 7 + seed) % 53 === 0 })) found[rendition]!.push(at)
      }
      for (const lead of leads) {
        const rendition = lead ? 0 : 1
        // One may be ahead by less than a segment.
        if (next[rendition]! - next[1 - rendition]! < 30) take(rendition)
      }
      const shared = Math.min(next[0]!, next[1]!)
      const [one, other] = found.map((frames) => frames.filter((at) => at < shared))
      expect(one).toEqual(other)
    }),
  )
})

test('after a discontinuity each rendition begins a segment with its next frame', () => {
  const marks = new SegmentMarks(2, RULES)
  for (const rendition of [0, 1]) marks.begins(rendition, { timeUs: 0, key: true })
  marks.restart()
  expect([0, 1].map((rendition) => marks.begins(rendition, { timeUs: 5_000_000, key: true }))).toEqual([true, true])
  expect([0, 1].map((rendition) => marks.begins(rendition, { timeUs: 5_040_000, key: true }))).toEqual([false, false])
})

test('a long distance of keyframes is found once, and one that is too long before its keyframe comes', () => {
  const watch = new KeyframeWatch()
  const found = (seconds: number, key: boolean) => watch.look(seconds * 1_000_000, key)
  expect([found(0, true), found(4, true), found(8.1, true), found(12.3, true)]).toEqual([null, null, 'long', null])
  expect([found(22.2, false), found(22.4, false), found(23, true)]).toEqual([null, 'too_long', null])
})
