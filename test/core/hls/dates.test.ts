import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { MediaDates } from '../../../src/core/hls/dates.ts'

const CAMERA_MS = 1_800_000_000_000

test('cached frames, which arrive late, do not shift the dates: the frame with the least delay counts', () => {
  const dates = new MediaDates()
  // Two seconds of frames arrive at once, the last of them 40 ms after the camera.
  for (let mediaMs = 0; mediaMs <= 2000; mediaMs += 40) dates.observe(mediaMs, CAMERA_MS + 2040)
  expect(dates.dateOf(0)).toBe(CAMERA_MS + 40)
})

test('whatever the delays, the dates of successive segments differ from their length by 5 ms at most', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { minLength: 20, maxLength: 100, size: 'max' }), (delaysMs) => {
      const dates = new MediaDates()
      let before: number | null = null
      for (const [index, delayMs] of delaysMs.entries()) {
        dates.observe(index * 2000, CAMERA_MS + index * 2000 + delayMs)
        const date = dates.dateOf(index * 2000)
        if (before !== null) expect(Math.abs(date - before - 2000)).toBeLessThanOrEqual(5)
        before = date
      }
    }),
  )
})

test('while frames arrive within 100 ms the dates do not move at all', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(99), { minLength: 2, maxLength: 50, size: 'max' }), (delaysMs) => {
      const dates = new MediaDates()
      const offsets = delaysMs.map((delayMs, index) => {
        dates.observe(index * 2000, CAMERA_MS + index * 2000 + delayMs)
        return dates.dateOf(index * 2000) - index * 2000
      })
      expect(new Set(offsets).size).toBe(1)
    }),
  )
})

test('frames that the network held for a moment do not shift the dates, whenever they come', () => {
  const dates = new MediaDates()
  const offsets = Array.from({ length: 90 }, (_, second) => {
    const delayMs = second > 0 && second % 10 === 0 ? 500 : 0
    dates.observe(second * 1000, CAMERA_MS + second * 1000 + delayMs)
    return dates.dateOf(second * 1000) - second * 1000
  })
  expect(new Set(offsets)).toEqual(new Set([CAMERA_MS]))
})

test('a clock that drifts is followed, and a network that was slow once is forgotten after a minute', () => {
  const dates = new MediaDates()
  for (let at = 0; at < 600; at++) {
    // The camera is 0.1% slow.
    dates.observe(at * 1000, CAMERA_MS + at * 1001)
    if (at > 100) expect(Math.abs(dates.dateOf(at * 1000) - (CAMERA_MS + at * 1001))).toBeLessThan(200)
  }
})

test('after a discontinuity the dates may jump, and a clock that was set back has dates at once', () => {
  const dates = new MediaDates()
  dates.observe(5_000_000, CAMERA_MS)
  expect(dates.dateOf(5_000_000)).toBe(CAMERA_MS)
  dates.observe(0, CAMERA_MS + 1000)
  dates.reset()
  expect(dates.dateOf(0)).toBe(CAMERA_MS + 1000)
})
