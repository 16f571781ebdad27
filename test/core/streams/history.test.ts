import { describe, expect, it } from 'vitest'
import { type FeedPoint, figuresOf, historiesOf, readHistoryQuery } from '../../../src/core/streams/history.ts'
import { readStoredReading } from '../../../src/core/streams/reading.ts'

const NOW = Date.UTC(2026, 0, 1, 12)
const HOUR = 3_600_000

describe('the range of a history', () => {
  it.each([
    [{}, { fromMs: NOW + 1 - HOUR, untilMs: NOW + 1, slotMs: 10_000 }],
    [{ from: '2026-01-01T11:30:00Z' }, { fromMs: NOW - HOUR / 2, untilMs: NOW + 1, slotMs: 10_000 }],
    [{ from: '2025-12-31T12:00:00Z' }, { fromMs: NOW - 24 * HOUR, untilMs: NOW + 1, slotMs: 240_000 }],
    [{ until: '2026-01-01T10:00:00Z' }, { fromMs: NOW - 3 * HOUR, untilMs: NOW - 2 * HOUR, slotMs: 10_000 }],
    [
      { from: '2026-01-01T09:00:00Z', until: '2026-01-01T10:00:10Z' },
      { fromMs: NOW - 3 * HOUR, untilMs: NOW - 2 * HOUR + 10_000, slotMs: 20_000 },
    ],
    [
      { from: '2026-01-01T09:00:00Z', until: '2026-01-01T09:00:00Z' },
      { fromMs: NOW - 3 * HOUR, untilMs: NOW - 3 * HOUR, slotMs: 10_000 },
    ],
    [{ history: 'False' }, null],
  ])('%j', (query, span) => {
    expect(readHistoryQuery(query, NOW)).toEqual({ ok: true, value: span })
  })

  it.each([
    [{ from: 'yesterday' }, ['from']],
    [{ history: 'maybe', until: '1' }, ['history', 'until']],
    [{ from: '2026-01-01T10:00:00Z', until: '2026-01-01T09:00:00Z' }, ['from']],
    [{ from: '2025-12-31T11:59:59Z' }, ['from']],
    [{ from: '2025-12-31T11:59:59.999Z' }, ['from']],
  ])('%j is refused', (query, fields) => {
    const read = readHistoryQuery(query, NOW)
    expect(read.ok ? [] : Object.keys(read.error)).toEqual(fields)
  })
})

const UNKNOWN = { keyframeMs: null, packetLoss: null, bFrames: null, roundTripMs: null }
const point = (over: Partial<FeedPoint>): FeedPoint => ({
  ...UNKNOWN,
  feedId: 'a',
  sourceId: null,
  atMs: NOW,
  bitrateIn: 1,
  frameRate: null,
  width: null,
  height: null,
  videoCodec: null,
  audioCodec: null,
  ...over,
})

it('is by source, the one without an id first, without what is not known, and of two publishers in a slot the later', () => {
  const points = [
    point({ sourceId: 'left', bitrateIn: 7, roundTripMs: 0 }),
    point({}),
    point({ feedId: 'b', bitrateIn: 2, frameRate: 25, packetLoss: 0.25 }),
    point({ feedId: 'b', atMs: NOW + 10_000, bitrateIn: 0 }),
  ]
  const [at, next] = [new Date(NOW).toISOString(), new Date(NOW + 10_000).toISOString()]
  expect(historiesOf(points)).toEqual([
    {
      points: [
        { at, bitrateIn: 2, frameRate: 25, packetLoss: 0.25 },
        { at: next, bitrateIn: 0 },
      ],
    },
    { sourceId: 'left', points: [{ at, bitrateIn: 7, roundTripMs: 0 }] },
  ])
})

it('is by the name of the source, whatever came first', () => {
  const points = ['b', 'c', 'a'].map((sourceId) => point({ sourceId }))
  expect(historiesOf(points).map(({ sourceId }) => sourceId)).toEqual(['a', 'b', 'c'])
})

it('begins with the first bitrate', () => {
  const stored = { bitrateIn: 0, frameRate: 25, source: { keyframeMs: 2000 }, videoCodec: 'h264' }
  const reading = readStoredReading(JSON.stringify(stored))
  if (reading === null) throw new Error('no reading')
  expect(figuresOf(reading)).toEqual({
    ...UNKNOWN,
    bitrateIn: 0,
    frameRate: 25,
    keyframeMs: 2000,
    videoCodec: 'h264',
    audioCodec: null,
    width: null,
    height: null,
  })
  expect(figuresOf({ ...reading, bitrateIn: null })).toBeNull()
})
