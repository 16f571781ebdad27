import { isoTime, HOUR_MS } from '../../base/time.ts'
import { PROTOCOL_FACTS, type Protocol, type ViewProtocol } from '../access/protocols.ts'
import { CLUSTER } from '../clusters.ts'
import type { FeedPoint } from './history.ts'
import { readStoredReading, type TargetReading } from './reading.ts'
import { type TargetChange, targetRuns, type TargetRuns } from '../restream/events.ts'
import { streamIdOf } from './streamId.ts'

/** How long a stream that has ended is shown. */
export const MONITORED_MS = HOUR_MS
/** Of the packet loss of a feed. */
const LOSS_MS = 300_000

/** As hosted services name the protocol of a publisher. */
function typeNameOf(protocol: Protocol): string {
  const { usesMediaProcess, title } = PROTOCOL_FACTS[protocol]
  return usesMediaProcess ? 'WebRTC' : title
}

/** What is known of a feed that is on the air, or was within the hour. */
export interface RecentFeed {
  readonly feedId: string
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
  /** Of its publisher, where several send the source. */
  readonly layer: string | null
  readonly tokenId: number
  readonly secured: boolean
  readonly priority: number | null
  readonly node: string
  readonly startedAtMs: number
  /** Null: it is on the air. */
  readonly endedAtMs: number | null
  /** Null: its session is no longer stored. */
  readonly protocol: Exclude<Protocol, ViewProtocol> | null
  readonly address: string | null
  readonly country: string | null
  /** Of its token, if it still exists. */
  readonly record: boolean
  readonly multisource: boolean
  /** Publishers of its source that wait. */
  readonly spares: number
  /** JSON; null: none, or it has ended. */
  readonly reading: string | null
}

export interface MonitoredFeed {
  readonly streamId: string
  readonly feedId: string
  readonly clusterId: string
  readonly sourceId?: string
  readonly simulcastId?: string
  readonly serverId: string
  readonly active: boolean
  readonly startTime: string
  readonly endTime?: string
  readonly isRecordingAllowed: boolean
  readonly isRedundant: boolean
  readonly priority?: number
  readonly tokenId: number
  readonly client: { readonly country?: string; readonly ip?: string }
  /** Of every target that it was sent on to. */
  readonly restreams: readonly MonitoredTarget[]
}

interface MonitoredTarget {
  readonly label: string
  readonly index: number
  readonly url: string
  readonly active: boolean
  readonly events: readonly { readonly started?: string; readonly ended?: string; readonly error?: string }[]
}

/** A stream without its feeds. */
export interface MonitoredSummary {
  readonly streamId: string
  readonly streamName: string
  readonly clusterId: string
  readonly clusters: readonly string[]
  readonly secureStream: boolean
  readonly isRecordingAllowed: boolean
  readonly multisource: boolean
  readonly live: boolean
  readonly startTime: string
  readonly endTime?: string
  readonly viewerCount: number
}

export interface MonitoredStream extends MonitoredSummary {
  readonly hasRedundant: boolean
  readonly restreaming: boolean
  /** The oldest first. */
  readonly feeds: readonly MonitoredFeed[]
}

/** @param feeds of one stream, at least one, the oldest first */
export function monitoredStream(feeds: readonly [RecentFeed, ...RecentFeed[]], viewers: number): MonitoredStream {
  const [{ accountId, streamName }] = feeds
  const open = feeds.filter(({ endedAtMs }) => endedAtMs === null)
  const shown = open[0] ?? feeds[0]
  const ends = feeds.flatMap(({ endedAtMs }) => (endedAtMs === null ? [] : [endedAtMs]))
  const targets = open.flatMap(targetsOf)
  return {
    streamId: streamIdOf({ accountId, streamName }),
    streamName,
    clusterId: CLUSTER,
    clusters: [CLUSTER],
    secureStream: feeds.some(({ secured }) => secured),
    isRecordingAllowed: feeds.some(({ record }) => record),
    multisource: feeds.some(({ multisource }) => multisource),
    live: open.length > 0,
    startTime: isoTime(shown.startedAtMs),
    ...(open.length > 0 ? {} : { endTime: isoTime(Math.max(...ends)) }),
    viewerCount: viewers,
    hasRedundant: open.some(({ spares }) => spares > 0),
    restreaming: targets.some(({ status }) => status === 'live'),
    feeds: feeds.map(monitoredFeed),
  }
}

export const summaryOf = ({ hasRedundant: _h, restreaming: _r, feeds: _f, ...summary }: MonitoredStream) => summary

const targetsOf = ({ reading }: RecentFeed): readonly TargetReading[] => readStoredReading(reading)?.targets ?? []

function monitoredFeed(feed: RecentFeed): MonitoredFeed {
  const { accountId, streamName, feedId, sourceId, node, startedAtMs, endedAtMs, priority, country, address } = feed
  return {
    streamId: streamIdOf({ accountId, streamName }),
    feedId,
    clusterId: CLUSTER,
    ...(sourceId === null ? {} : { sourceId }),
    ...(feed.layer === null ? {} : { simulcastId: sourceId ?? '' }),
    serverId: node,
    active: endedAtMs === null,
    startTime: isoTime(startedAtMs),
    ...(endedAtMs === null ? {} : { endTime: isoTime(endedAtMs) }),
    isRecordingAllowed: feed.record,
    isRedundant: false,
    ...(priority === null ? {} : { priority }),
    tokenId: feed.tokenId,
    client: { ...(country === null ? {} : { country }), ...(address === null ? {} : { ip: address }) },
    restreams: [],
  }
}

/** The same stream with what became of its targets. @param changes of its feeds, the oldest first */
export function withTargets(
  stream: MonitoredStream,
  changes: ReadonlyMap<string, readonly TargetChange[]>,
): MonitoredStream {
  const restreamsOf = ({ feedId, endTime }: MonitoredFeed) =>
    targetRuns(changes.get(feedId) ?? [], endTime === undefined ? null : Date.parse(endTime)).map(monitoredTarget)
  return { ...stream, feeds: stream.feeds.map((feed) => ({ ...feed, restreams: restreamsOf(feed) })) }
}

const monitoredTarget = ({ events, ...target }: TargetRuns): MonitoredTarget => ({
  ...target,
  events: events.map(({ started, ended, error }) => ({
    ...(started === undefined ? {} : { started: isoTime(started) }),
    ...(ended === undefined ? {} : { ended: isoTime(ended) }),
    ...(error === undefined ? {} : { error }),
  })),
})

/** The stream with what is measured of each feed. @param points of its last hour, the oldest first */
export function monitoredDetails(
  stream: MonitoredStream,
  feeds: readonly RecentFeed[],
  points: readonly FeedPoint[],
  nowMs: number,
) {
  const byFeed = Map.groupBy(points, ({ feedId }) => feedId)
  const typeOf = new Map(feeds.map(({ feedId, protocol }) => [feedId, protocol]))
  return {
    ...stream,
    feeds: stream.feeds.map((feed) => {
      const protocol = typeOf.get(feed.feedId) ?? null
      return {
        ...feed,
        ...(protocol === null ? {} : { type: typeNameOf(protocol) }),
        ...measuredOf(byFeed.get(feed.feedId) ?? [], nowMs),
      }
    }),
  }
}

function measuredOf(points: readonly FeedPoint[], nowMs: number) {
  const losses = points.flatMap(({ atMs, packetLoss }) =>
    packetLoss === null ? [] : [{ atMs, packetLoss: packetLoss * 100 }],
  )
  const recent = losses.filter(({ atMs }) => atMs >= nowMs - LOSS_MS)
  const frameRate = points.at(-1)?.frameRate ?? null
  return {
    ...(frameRate === null ? {} : { frameRate }),
    ...(recent.length === 0 ? {} : { packetLoss: meanOf(recent.map(({ packetLoss }) => packetLoss)) }),
    feedStats: losses.map(({ atMs, packetLoss }) => ({ timestamp: isoTime(atMs), packetLoss })),
    trackDetails: points.length === 0 ? [] : [{ trackId: 'main', encodingDetails: [encodingOf(points)] }],
  }
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Frames of each kind per second, now, and each point of the hour. */
function encodingOf(points: readonly FeedPoint[]) {
  const { frameRate = null, keyframeMs = null, bFrames = null } = points.at(-1) ?? {}
  const [iFrameRate, bFrameRate] = [keyframeMs === null || keyframeMs === 0 ? 0 : 1000 / keyframeMs, bFrames ?? 0]
  const rates =
    frameRate === null
      ? {}
      : {
          iFrameRate,
          bFrameRate: bFrameRate * frameRate,
          pFrameRate: Math.max(0, frameRate - iFrameRate - bFrameRate * frameRate),
        }
  return { encodingId: 'main', ...rates, encodingStats: points.map(statOf) }
}

function statOf(point: FeedPoint) {
  const { atMs, width, height, bitrateIn, videoCodec, audioCodec, frameRate, roundTripMs, bFrames } = point
  const isVideo = videoCodec !== null
  return {
    timestamp: isoTime(atMs),
    ...(width === null || height === null ? {} : { resolution: { width, height } }),
    ...(bitrateIn === null ? {} : { bitRate: isVideo ? { videoBitrate: bitrateIn } : { audioBitrate: bitrateIn } }),
    ...(videoCodec === null ? {} : { videoCodec }),
    ...(audioCodec === null ? {} : { audioCodec }),
    ...(frameRate === null ? {} : { frames: frameRate }),
    ...(roundTripMs === null ? {} : { rtt: roundTripMs }),
    ...(bFrames === null || frameRate === null ? {} : { bFrames: bFrames * frameRate }),
  }
}
