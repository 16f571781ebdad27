import { describe, expect, it } from 'vitest'
import { type BitrateSlot, healthOf, rangeOf, type StreamHealth } from '../../../src/core/streams/health.ts'
import { readStoredReading, sumOfViewing, viewersOf } from '../../../src/core/streams/reading.ts'

const slots = (...megabits: number[]): BitrateSlot[] =>
  megabits.map((bitrate, at) => ({ atMs: at * 10_000, bitrate: bitrate * 1_000_000 }))
const health = (of: BitrateSlot[], before: StreamHealth = 'steady', silentMs = 0) => healthOf(of, { silentMs, before })

describe('the health of a broadcast', () => {
  it('is uneven when the bitrate varies by more than a quarter of its mean, however high it is', () => {
    expect(health(slots(2.1, 4.4, 6.8, 4.4, 2.4, 6.1))).toBe('uneven')
    expect(health(slots(0.21, 0.44, 0.68, 0.44, 0.24, 0.61))).toBe('uneven')
    expect(health(slots(4.4, 4.2, 4.6, 4.5, 4.3, 4.4))).toBe('steady')
    // One short gap in five minutes is no uneven publisher.
    expect(health(slots(...Array.from({ length: 29 }, () => 4.4), 2))).toBe('steady')
  })

  it('stays uneven until it varies clearly less, so that it does not change back and forth', () => {
    const between = slots(3.2, 4, 4.8, 3, 5, 4.4)
    expect([health(between), health(between, 'uneven')]).toEqual(['steady', 'steady'])
    const near = slots(3, 4, 5, 3, 5, 4)
    expect([health(near), health(near, 'uneven')]).toEqual(['steady', 'uneven'])
  })

  it('is steady while there are too few slots to judge by', () => {
    expect(health(slots(1, 9, 1, 9, 1))).toBe('steady')
    expect(rangeOf(slots(1, 9, 1, 9, 1))).toBeNull()
    expect(rangeOf(slots(1, 9, 1, 9, 1, 2))).toEqual({ lowest: 1_000_000, highest: 9_000_000 })
  })

  it('is impaired while something is wrong with media that comes evenly', () => {
    const of = (slots: BitrateSlot[], silentMs = 0) => healthOf(slots, { silentMs, before: 'steady', isImpaired: true })
    expect([of([]), of(slots(1, 9, 1, 9, 1, 9)), of([], 5000)]).toEqual(['impaired', 'uneven', 'stalled'])
  })

  it('is stalled after five seconds without media, whatever came before; and silence from the start is not uneven', () => {
    expect(health(slots(4, 4, 4, 4, 4, 4), 'steady', 4999)).toBe('steady')
    expect(health(slots(4, 4, 4, 4, 4, 4), 'steady', 5000)).toBe('stalled')
    expect(health(slots(0, 0, 0, 0, 0, 0))).toBe('steady')
  })
})

it('a reading of another version is read as far as it is known', () => {
  expect(readStoredReading(null)).toBeNull()
  const later = { videoCodec: 'h265', width: '1280', frameRate: 30, health: 'splendid', whep: 3 }
  expect(readStoredReading(JSON.stringify(later))).toEqual({
    videoCodec: 'h265',
    audioCodec: null,
    width: null,
    height: null,
    frameRate: 30,
    bitrateIn: null,
    bitrateLowest: null,
    bitrateHighest: null,
    health: 'steady',
    source: {},
    findings: [],
  })
})

it('findings and targets of another version are left out, those that are whole are kept', () => {
  const [found, target] = [
    { code: 'link_slow', value: 1, sinceMs: 2 },
    { status: 'live', index: 0 },
  ]
  const findings = [
    found,
    ...['code', 'value', 'sinceMs'].map((name) => ({ ...found, [name]: 'another' })),
    'x',
    5,
    null,
  ]
  const stored = { findings, targets: [target, { status: 'another' }, {}, 'x', null], health: 'uneven' }
  expect(readStoredReading(JSON.stringify(stored))).toMatchObject({
    findings: [found],
    targets: [target],
    health: 'uneven',
  })
  expect(readStoredReading('{"findings":{},"targets":{}}')).toMatchObject({ findings: [] })
  expect(readStoredReading('{"targets":{}}')).not.toHaveProperty('targets')
  for (const none of ['5', 'null', '"x"']) expect(readStoredReading(none)).toBeNull()
  const source = { videoProfile: 'High', keyframeMs: 2000, videoLevel: 4.1, skewMs: '7', another: 1, more: 'x' }
  expect(readStoredReading(JSON.stringify({ source }))?.source).toEqual({ videoProfile: 'High', keyframeMs: 2000 })
})

it('viewers of two nodes are counted together, and of all protocols', () => {
  const [one, other] = [
    { whep: 1, hls: 2, bitrateOut: 4 },
    { whep: 8, hls: 16, bitrateOut: 32 },
  ]
  expect([sumOfViewing(one, other), viewersOf(one)]).toEqual([{ whep: 9, hls: 18, bitrateOut: 36 }, 3])
})
