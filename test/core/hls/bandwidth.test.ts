import { expect, test } from 'vitest'
import { audioBandwidth, BandwidthMeter, encodedBandwidth } from '../../../src/core/hls/bandwidth.ts'

/** Adds segments of these bytes and seconds. */
function meterOf(segments: readonly (readonly [bytes: number, seconds: number])[]): BandwidthMeter {
  const meter = new BandwidthMeter()
  for (const [bytes, seconds] of segments) meter.add(bytes, seconds, 2)
  return meter
}

test('the peak has room for larger segments and never falls; the average is what was sent', () => {
  const meter = meterOf([
    [250_000, 2],
    [50_000, 8],
    [50_000, 0],
  ])
  expect(meter.bandwidth(0)).toEqual({ peak: 1_250_000, average: 240_000 })
  expect(meter.measuredPeak).toBe(1_000_000)
})

test('both have more room while little was sent, because the first segments say little', () => {
  expect(meterOf([[250_000, 2]]).bandwidth(0)).toEqual({ peak: 1_500_000, average: 1_250_000 })
  expect(meterOf(Array.from({ length: 5 }, () => [250_000, 2] as const)).bandwidth(0)).toEqual({
    peak: 1_250_000,
    average: 1_000_000,
  })
})

test('the peak is that of half to one and a half target durations: a short segment counts with those beside it', () => {
  const short = meterOf([
    [250_000, 2],
    [90_000, 0.1],
    [250_000, 2],
  ])
  expect(short.measuredPeak).toBe(Math.ceil((340_000 * 8) / 2.1))
  const each = [100_000, 0.5] as const
  expect(meterOf([each, each, each]).measuredPeak).toBe(1_600_000)
  expect(meterOf([[250_000, 2.9]]).measuredPeak).toBe(Math.ceil((250_000 * 8) / 2.9))
})

test('segments that are all short still say something', () => {
  const meter = meterOf([[100_000, 0.5]])
  expect([meter.bandwidth(0), meter.measuredPeak]).toEqual([{ peak: 2_400_000, average: 2_000_000 }, 0])
})

test('what an encoder declares may come in any segment, with its full buffer, whatever came so far', () => {
  const grey = meterOf([
    [1000, 4],
    [1000, 2],
    [1000, 4],
  ])
  expect(grey.bandwidth(1_000_000)).toEqual({ peak: 1_546_000, average: 1_016_000 })
  const more = meterOf([[500_000, 2]])
  expect(more.bandwidth(1_000_000)).toEqual(more.bandwidth(0))
  expect(meterOf([]).bandwidth(1_000_000).peak).toBe(1_036_000)
})

test('what our encoder keeps to has room for the boxes, which a small rendition needs most', () => {
  // A full buffer, the maximal rate, audio and its share, and the boxes.
  expect(encodedBandwidth(50_000, 0, 2)).toEqual({ peak: 84_850, average: 66_000 })
  expect(encodedBandwidth(50_000, 128_000, 2)).toEqual({ peak: 228_466, average: 194_000 })
})

test('audio is never less than ffmpeg makes', () => {
  expect(encodedBandwidth(50_000, 8000, 2)).toEqual(encodedBandwidth(50_000, 25_000, 2))
  expect(audioBandwidth(8000)).toEqual(audioBandwidth(25_000))
})
