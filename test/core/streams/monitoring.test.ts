import { describe, expect, it } from 'vitest'
import type { FeedPoint } from '../../../src/core/streams/history.ts'
import {
  monitoredDetails,
  monitoredStream,
  type MonitoredStream,
  type RecentFeed,
} from '../../../src/core/streams/monitoring.ts'
import { type MonitoringRequest, monitoringPage } from '../../../src/core/streams/monitoringQuery.ts'

const NOW = Date.parse('2026-01-01T01:00:00Z')
const iso = (ms: number): string => new Date(ms).toISOString()

const feed = (over: Partial<RecentFeed> = {}): RecentFeed => ({
  feedId: 'f1',
  accountId: 'acc',
  streamName: 'show',
  sourceId: null,
  layer: null,
  tokenId: 7,
  secured: false,
  priority: null,
  node: 'n1',
  startedAtMs: NOW - 60_000,
  endedAtMs: null,
  protocol: 'whip',
  address: null,
  country: null,
  record: false,
  multisource: false,
  spares: 0,
  reading: null,
  ...over,
})
const target = (status: string) => JSON.stringify({ targets: [{ status }] })

describe('a monitored stream', () => {
  it('has what one of its feeds has, and begins with the oldest that is on the air', () => {
    const ended = feed({ feedId: 'f0', endedAtMs: NOW - 50_000, startedAtMs: NOW - 90_000, secured: true, spares: 2 })
    const one = feed({ record: true, multisource: true })
    const other = feed({ feedId: 'f2', startedAtMs: NOW - 30_000, priority: 0, country: 'NL', address: '192.0.2.1' })
    expect(monitoredStream([ended, one, other], 3)).toMatchObject({
      streamId: 'acc/show',
      live: true,
      startTime: iso(NOW - 60_000),
      secureStream: true,
      isRecordingAllowed: true,
      multisource: true,
      hasRedundant: false,
      viewerCount: 3,
      feeds: [
        { feedId: 'f0', active: false, endTime: iso(NOW - 50_000), client: {} },
        { feedId: 'f1', active: true },
        { feedId: 'f2', active: true, priority: 0, client: { country: 'NL', ip: '192.0.2.1' } },
      ],
    })
    expect(monitoredStream([ended, one], 0)).not.toHaveProperty('endTime')
    expect(monitoredStream([feed({ spares: 1 })], 0)).toMatchObject({ hasRedundant: true, secureStream: false })
  })

  it('that is off the air ends with its last feed, and begins with its first', () => {
    const [first, last] = [feed({ endedAtMs: NOW - 10_000, spares: 1 }), feed({ endedAtMs: NOW - 20_000 })]
    expect(monitoredStream([first, last], 0)).toMatchObject({
      live: false,
      startTime: iso(first.startedAtMs),
      endTime: iso(NOW - 10_000),
      hasRedundant: false,
    })
  })

  it('is sent on while a target of a feed on the air takes it', () => {
    const of = (reading: string | null, endedAtMs: number | null = null) =>
      monitoredStream([feed({ reading, endedAtMs })], 0).restreaming
    expect([of(null), of(target('waiting')), of(target('live')), of(target('live'), NOW)]).toEqual([
      false,
      false,
      true,
      false,
    ])
  })
})

const point = (over: Partial<FeedPoint> = {}): FeedPoint => ({
  feedId: 'f1',
  sourceId: null,
  atMs: NOW,
  bitrateIn: null,
  frameRate: null,
  width: null,
  height: null,
  videoCodec: null,
  audioCodec: null,
  keyframeMs: null,
  packetLoss: null,
  bFrames: null,
  roundTripMs: null,
  ...over,
})

describe('what is measured of a feed', () => {
  const detailsOf = (points: readonly FeedPoint[], over: Partial<RecentFeed> = {}) =>
    monitoredDetails(monitoredStream([feed(over)], 0), [feed(over)], points, NOW).feeds[0]

  it('is named as hosted services name it, and absent where it is not known', () => {
    expect(detailsOf([], { protocol: 'rtmp' })).toMatchObject({ type: 'RTMP', feedStats: [], trackDetails: [] })
    expect(detailsOf([])).toMatchObject({ type: 'WebRTC' })
    const bare = detailsOf([point()], { protocol: null })
    for (const name of ['type', 'frameRate', 'packetLoss']) expect(bare).not.toHaveProperty(name)
    expect(bare?.trackDetails[0]?.encodingDetails).toEqual([
      { encodingId: 'main', encodingStats: [{ timestamp: iso(NOW) }] },
    ])
    // Points of another feed are not its own.
    expect(detailsOf([point({ feedId: 'f2', frameRate: 25 })])).not.toHaveProperty('frameRate')
  })

  it('has the mean loss of five minutes in percent, and each of the hour', () => {
    const loss = (agoMs: number, packetLoss: number | null) => point({ atMs: NOW - agoMs, packetLoss })
    const details = detailsOf([loss(300_001, 0.5), loss(300_000, 0.02), loss(10_000, null), loss(0, 0.04)])
    expect(details?.packetLoss).toBeCloseTo(3, 9)
    expect(details?.feedStats.map(({ packetLoss }) => packetLoss)).toEqual([50, 2, 4])
    expect(detailsOf([loss(300_001, 0.5)])).not.toHaveProperty('packetLoss')
  })

  it('has the latest frames of each kind a second, of which none is below zero', () => {
    const ratesOf = (...points: readonly Partial<FeedPoint>[]) =>
      detailsOf(points.map(point))?.trackDetails[0]?.encodingDetails[0]
    expect(ratesOf({ frameRate: 1 }, { frameRate: 25, keyframeMs: 2000, bFrames: 0.5 })).toMatchObject({
      iFrameRate: 0.5,
      bFrameRate: 12.5,
      pFrameRate: 12,
    })
    expect(ratesOf({ frameRate: 25 })).toMatchObject({ iFrameRate: 0, bFrameRate: 0, pFrameRate: 25 })
    expect(ratesOf({ frameRate: 25, keyframeMs: 0 })).toMatchObject({ iFrameRate: 0, pFrameRate: 25 })
    expect(ratesOf({ frameRate: 1, keyframeMs: 100, bFrames: 0.5 })).toMatchObject({ pFrameRate: 0 })
  })

  it('is video or audio by its codecs', () => {
    const video = {
      width: 640,
      height: 360,
      bitrateIn: 9,
      videoCodec: 'h264',
      frameRate: 30,
      bFrames: 0.1,
      roundTripMs: 4,
    }
    const statsOf = (over: Partial<FeedPoint>) =>
      detailsOf([point(over)])?.trackDetails[0]?.encodingDetails[0]?.encodingStats
    expect(statsOf(video)).toEqual([
      {
        timestamp: iso(NOW),
        resolution: { width: 640, height: 360 },
        bitRate: { videoBitrate: 9 },
        videoCodec: 'h264',
        frames: 30,
        rtt: 4,
        bFrames: 3,
      },
    ])
    expect(statsOf({ bitrateIn: 8, audioCodec: 'opus', width: 640 })).toEqual([
      { timestamp: iso(NOW), bitRate: { audioBitrate: 8 }, audioCodec: 'opus' },
    ])
  })
})

describe('a page of monitored streams', () => {
  const stream = (streamName: string, over: Partial<MonitoredStream> = {}): MonitoredStream => ({
    ...monitoredStream([feed({ streamName })], 0),
    ...over,
  })
  const page = (streams: readonly MonitoredStream[], asked: Partial<MonitoringRequest> = {}) =>
    monitoringPage(streams, { clusters: [], ...asked }, NOW)
  const namesOf = (streams: readonly MonitoredStream[], asked: Partial<MonitoringRequest> = {}) =>
    page(streams, asked).data.map(({ streamName }) => streamName)

  it('has ten streams, and the last one what is left; behind it there are none', () => {
    const all = Array.from({ length: 21 }, (_, at) => stream(String(at).padStart(2, '0')))
    expect(namesOf(all)).toEqual(all.slice(0, 10).map(({ streamName }) => streamName))
    expect(page(all, { page: 3 })).toMatchObject({
      pagination: { totalItems: 21, totalPages: 3, itemsOnPage: 1 },
      data: [{ streamName: '20' }],
    })
    expect(page(all, { page: 4 })).toEqual({ pagination: { totalItems: 21, totalPages: 3, itemsOnPage: 0 }, data: [] })
    expect(page([])).toEqual({ pagination: { totalItems: 0, totalPages: 0, itemsOnPage: 0 }, data: [] })
    expect(namesOf(all, { itemsOnPage: 2, page: 2 })).toEqual(['02', '03'])
  })

  it.each([
    ['StreamId', 'c b a', 'a b c'],
    ['Cluster', 'a b c', 'a b c'],
    ['StartTime', 'b c a', 'a c b'],
    ['Duration', 'a c b', 'b c a'],
    ['Live', 'b c a', 'a b c'],
    ['ViewerCount', 'c a b', 'b a c'],
    ['Restream', 'b a c', 'a c b'],
  ] as const)(
    'is sorted by %s, the largest first unless it is said, and where that is equal by name',
    (sortBy, ...orders) => {
      const at = (secondsAgo: number): string => iso(NOW - secondsAgo * 1000)
      const streams = [
        stream('b', { startTime: at(10), viewerCount: 1, restreaming: true }),
        stream('a', { startTime: at(50), endTime: at(5), viewerCount: 4, live: false }),
        stream('c', { startTime: at(31), viewerCount: 9 }),
      ]
      const orderOf = (asked: Partial<MonitoringRequest>) => namesOf(streams, { sortBy, ...asked }).join(' ')
      expect([orderOf({}), orderOf({ isDescending: false })]).toEqual(orders)
    },
  )

  it.each([
    ['isActive', 'live'],
    ['isSecure', 'secureStream'],
    ['isMultisource', 'multisource'],
    ['hasRedundant', 'hasRedundant'],
    ['isRecordingAllowed', 'isRecordingAllowed'],
    ['isRestreaming', 'restreaming'],
  ] as const)('has those that %s says', (name, member) => {
    const streams = [stream('no', { [member]: false }), stream('yes', { [member]: true })]
    expect([namesOf(streams, { [name]: true }), namesOf(streams, { [name]: false })]).toEqual([['yes'], ['no']])
  })

  it('has names with a text in any case, and streams of this cluster, which has no transcoders', () => {
    const streams = [stream('One-Stage'), stream('two')]
    expect(namesOf(streams, { searchSubstring: 'STAGE' })).toEqual(['One-Stage'])
    expect(namesOf(streams, { clusters: ['auto', 'x'] })).toHaveLength(2)
    expect(namesOf(streams, { clusters: ['x'] })).toEqual([])
    expect(namesOf(streams, { transcoderId: 't' })).toEqual([])
  })
})
