import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { Measured } from '../../src/services/measured.ts'

const AT = Date.UTC(2026, 0, 1)
const ALL = [0, Number.MAX_SAFE_INTEGER] as const

function begin() {
  const clock = new ManualClock(AT)
  return { clock, measured: new Measured({ clock }, 'node') }
}

test('the loss of a publisher is that of the packets since the last sample, where its protocol counts them', () => {
  const { clock, measured } = begin()
  const publisher = measured.connected('in_1', null)
  for (const link of [
    { packets: 1000, lost: 25, roundTripMs: 40.4 },
    { packets: 1500, lost: 25 },
    { packets: 1500, lost: 25, roundTripMs: 41 },
    { packets: 1510, lost: 90, roundTripMs: 41 },
  ]) {
    clock.advance(1000)
    publisher.received(clock.now(), link)
  }
  const { samples } = measured.ingest('in_1', ...ALL)
  expect(samples.map(({ packetLoss, roundTripMs }) => [packetLoss, roundTripMs])).toEqual([
    [0.025, 40],
    [0, null],
    [null, 41],
    [1, 41],
  ])
})

describe('the bit rate of a publisher', () => {
  test('is measured once a second, by the bytes since the last sample', () => {
    const { clock, measured } = begin()
    const publisher = measured.connected('in_1', '192.0.2.7')
    for (const [ms, bytes] of [
      [500, 100_000],
      [500, 250_000],
      [999, 300_000],
      [1001, 500_000],
    ] as const) {
      clock.advance(ms)
      publisher.received(bytes)
    }
    expect(measured.ingest('in_1', ...ALL)).toEqual({
      sinceMs: AT,
      samples: [
        { atMs: AT + 1000, bitrate: 2_000_000, address: '192.0.2.7', packetLoss: null, roundTripMs: null },
        { atMs: AT + 3000, bitrate: 1_000_000, address: '192.0.2.7', packetLoss: null, roundTripMs: null },
      ],
    })
    expect(measured.ingest('in_1', AT + 1001, AT + 3001).samples).toHaveLength(1)
    expect(measured.ingest('in_2', ...ALL)).toEqual({ sinceMs: null, samples: [] })
  })

  test('comes from the newer connection when the older one ends, and stays for five minutes after the last', () => {
    const { clock, measured } = begin()
    const older = measured.connected('in_1', null)
    clock.advance(2000)
    const newer = measured.connected('in_1', null)
    older.ended()
    expect(measured.ingest('in_1', ...ALL).sinceMs).toBe(AT + 2000)
    clock.advance(1000)
    newer.received(1000)
    newer.ended()
    expect(measured.ingest('in_1', ...ALL)).toMatchObject({ sinceMs: null, samples: [{ bitrate: 8000 }] })
    clock.advance(300_000)
    measured.connected('in_2', null)
    expect(measured.ingest('in_1', ...ALL).samples).toHaveLength(1)
    clock.advance(1)
    measured.connected('in_2', null)
    expect(measured.ingest('in_1', ...ALL).samples).toEqual([])
  })
})

test('renditions follow the order of the ladder, and those of an older ladder are gone', () => {
  const { clock, measured } = begin()
  const sample = { atMs: AT, framerate: 25, bitrate: 1 }
  measured.segment('en_1', { index: 1, name: '90p' }, sample)
  measured.segment('en_1', { index: 0, name: '180p' }, sample)
  measured.segment('en_1', { index: 1, name: '90p' }, { ...sample, atMs: AT + 2000 })
  expect(measured.renditions('en_1', ...ALL).map(({ name, samples }) => [name, samples.length])).toEqual([
    ['180p', 1],
    ['90p', 2],
  ])
  measured.segment('en_1', { index: 1, name: '120p' }, sample)
  expect(measured.renditions('en_1', ...ALL).map(({ name }) => name)).toEqual(['180p', '120p'])
  clock.advance(302_001)
  measured.segment('en_2', { index: 0, name: 'x' }, { ...sample, atMs: clock.now() })
  expect(measured.renditions('en_1', ...ALL)).toEqual([])
})
