import { Histogram } from 'prom-client'
import type { Context } from '../../../commands/context.ts'
import { PROTOCOLS_OF } from '../../../core/access/protocols.ts'
import { type FeedReading, viewersOf } from '../../../core/streams/reading.ts'
import type { StreamCount } from '../../../media/streamCounts.ts'
import type { LabelledValue, Samples } from './samples.ts'

/** Seconds from an offer to the first packet: a few round trips when all is well; after ten the session is given up. */
const FIRST_PACKET_BUCKETS = [0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10]
/** The number of streams with series of their own, eleven each. */
const STREAMS_MAX = 50
const OF_BUSIEST = `Of the ${STREAMS_MAX} streams of this process with the most viewers.`

/** What WebRTC viewers report, and figures of the streams with the most viewers, read at each scrape. */
export function registerStreamMetrics(samples: Samples, ctx: Context): void {
  registerViewerFeedback(samples, ctx)
  registerStreams(samples, ctx)
  registerSources(samples, ctx)
}

function registerViewerFeedback(samples: Samples, { viewerFeedback }: Context): void {
  const nacks = 'Packets that WebRTC viewers asked for again (NACK).'
  samples.counter('sluice_viewer_nacks_total', nacks, [], () => viewerFeedback.nacks)
  const keyframes = 'Keyframes that WebRTC viewers asked for (PLI, FIR).'
  samples.counter('sluice_viewer_keyframe_requests_total', keyframes, [], () => viewerFeedback.keyframeRequests)
  const firstPacket = new Histogram({
    name: 'sluice_viewer_first_packet_seconds',
    help: 'Time from the offer of a WebRTC viewer to its first packet.',
    buckets: FIRST_PACKET_BUCKETS,
    registers: [samples.registry],
  })
  viewerFeedback.onFirstPacket = (ms) => firstPacket.observe(ms / 1000)
}

function registerStreams(samples: Samples, { sessions, viewerFeedback }: Context): void {
  const of = OF_BUSIEST
  const each = (read: (stream: Readonly<StreamCount>) => readonly LabelledValue[]) => (): LabelledValue[] =>
    busiest(sessions.streams.all()).flatMap((stream) =>
      read(stream).map(([labels, value]): LabelledValue => [[stream.accountId, stream.streamName, ...labels], value]),
    )
  const byFeedback = (key: 'lossShare' | 'roundTripMs', divisor: number) =>
    each(({ accountId, streamName }) => {
      const value = viewerFeedback.of(accountId, streamName)?.[key] ?? null
      return value === null ? [] : [[[], value / divisor]]
    })
  const viewers = each((stream) => PROTOCOLS_OF.view.map((protocol): LabelledValue => [[protocol], stream[protocol]]))
  const bytes = each(({ bytesIn, bytesOut }) => [
    [['in'], bytesIn],
    [['out'], bytesOut],
  ])
  const [stream, loss, trip] = [['account', 'stream'], 'sluice_stream_loss_ratio', 'sluice_stream_round_trip_seconds']
  samples.gauge('sluice_stream_viewers', `Viewers now. ${of}`, [...stream, 'protocol'], viewers)
  samples.counter('sluice_stream_bytes_total', `Bytes of media. ${of}`, [...stream, 'direction'], bytes)
  const lost = `Mean share of packets that WebRTC viewers lost. ${of}`
  samples.gauge(loss, lost, stream, byFeedback('lossShare', 1))
  const roundTrip = `Mean round trip of WebRTC viewers. ${of}`
  samples.gauge(trip, roundTrip, stream, byFeedback('roundTripMs', 1000))
}

/** Figures of the publisher of a stream: the name of the metric, what it is, and its value. */
const SOURCES = [
  ['sluice_stream_source_bits_per_second', 'Bits per second that its publisher sends.', ({ bitrateIn }) => bitrateIn],
  [
    'sluice_stream_source_frames_per_second',
    'Frames per second that its publisher sends.',
    ({ frameRate }) => frameRate,
  ],
  [
    'sluice_stream_source_loss_ratio',
    'Share of the packets of its publisher that did not come at first, in the last ten seconds.',
    ({ source }) => source.packetLoss,
  ],
  [
    'sluice_stream_source_keyframe_seconds',
    'Time between the last two keyframes of its publisher.',
    ({ source: { keyframeMs } }) => (keyframeMs === undefined ? null : keyframeMs / 1000),
  ],
] as const satisfies readonly (readonly [string, string, (reading: FeedReading) => number | null | undefined])[]

/** A stream with several sources has the figures of the first. */
function registerSources(samples: Samples, { sessions, streamMeter }: Context): void {
  const readings = (): (readonly [Readonly<StreamCount>, FeedReading])[] =>
    busiest(sessions.streams.all()).flatMap((stream) => {
      const feed = sessions.feeds.get(stream.accountId, stream.streamName, null)
      const reading = feed && streamMeter.reading(feed.feedId)
      return reading ? [[stream, reading] as const] : []
    })
  for (const [name, help, figure] of SOURCES) {
    const read = (): LabelledValue[] =>
      readings().flatMap(([{ accountId, streamName }, reading]): LabelledValue[] => {
        const value = figure(reading) ?? null
        return value === null ? [] : [[[accountId, streamName], value]]
      })
    samples.gauge(name, `${help} ${OF_BUSIEST}`, ['account', 'stream'], read)
  }
}

function busiest(streams: Iterable<Readonly<StreamCount>>): Readonly<StreamCount>[] {
  const inUse = [...streams].filter(({ sessions }) => sessions > 0)
  return inUse.toSorted((a, b) => viewersOf(b) - viewersOf(a)).slice(0, STREAMS_MAX)
}
