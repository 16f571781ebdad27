import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstNumbers, initName, kindOf, numberOf, partName, segmentName } from '../../../src/core/hls/numbers.ts'

test('every name leads back to its kind and number', () => {
  fc.assert(
    fc.property(fc.nat(9_999_999_999), (n) => {
      expect([kindOf(segmentName(n)), numberOf(segmentName(n))]).toEqual(['segment', n])
      expect([kindOf(partName(n)), numberOf(partName(n))]).toEqual(['part', n])
    }),
  )
  expect(kindOf(initName('0a1b2c3d'))).toBe('init')
})

test.each(['s01.m4s', 's.m4s', 's1.mp4', 'p-1.m4s', 'init-0A1B2C3D.mp4', 'init-1.mp4', 'media.m3u8', 's1.m4s?', ''])(
  'another spelling is no piece: %s',
  (name) => expect(kindOf(name)).toBeNull(),
)

test('a stream that begins again later has larger numbers than the one before it could reach', () => {
  const start = Date.UTC(2027, 4, 1)
  fc.assert(
    fc.property(fc.nat(10_000_000), fc.integer({ min: 1, max: 10_000 }), (afterMs, segments) => {
      const first = firstNumbers(start + afterMs)
      // Two seconds a segment, at most seven parts in it.
      const later = firstNumbers(start + afterMs + segments * 2000)
      expect(later.segment).toBeGreaterThanOrEqual(first.segment + segments)
      expect(later.part).toBeGreaterThanOrEqual(first.part + segments * 7)
      expect(later.discontinuity).toBeGreaterThanOrEqual(first.discontinuity)
    }),
  )
})

test('a clock before the epoch begins at zero', () => {
  expect(firstNumbers(0)).toEqual({ segment: 0, part: 0, discontinuity: 0 })
})

test('discontinuities stay few for years, because hls.js looks at all of them with each playlist', () => {
  expect(firstNumbers(Date.UTC(2031, 0, 1)).discontinuity).toBeLessThan(300_000)
})
