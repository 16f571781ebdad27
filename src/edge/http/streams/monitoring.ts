import { type TObject, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { listMonitored, readMonitored, summarizeMonitored, summarizeOne } from '../../../commands/streams/monitoring.ts'
import { MonitoringQuery, MonitoringSummaryQuery } from '../../../core/streams/monitoringQuery.ts'
import { accountOf } from '../auth.ts'
import { dateTime } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'

const TAG = 'streams'

type Query = { Querystring: Record<string, unknown> }
type Named = { Params: { streamName: string } }

const text = (description: string) => Type.String({ description })

const Client = Type.Object(
  { country: Type.Optional(Type.String()), ip: Type.Optional(Type.String()) },
  { description: 'The publisher. What is not known is absent.' },
)

const Target = Type.Object({
  label: Type.String(),
  index: Type.Integer({ description: 'Its place in `restream` of the token, from 0.' }),
  url: Type.String(),
  active: Type.Boolean(),
  events: Type.Array(
    Type.Object({
      started: Type.Optional(dateTime('It took the media.')),
      ended: Type.Optional(dateTime('It no longer did, or an attempt failed.')),
      error: Type.Optional(text('What was wrong.')),
    }),
    { description: 'What became of it, the oldest first. Attempts that failed in a row are one.' },
  ),
})

const feed = {
  streamId: Type.String(),
  feedId: Type.String(),
  clusterId: Type.String(),
  sourceId: Type.Optional(Type.String()),
  simulcastId: Type.Optional(text('Where several publishers send the source, each a layer: its `sourceId`, or empty.')),
  serverId: text('The node.'),
  active: Type.Boolean(),
  startTime: Type.String({ format: 'date-time' }),
  endTime: Type.Optional(Type.String({ format: 'date-time' })),
  isRecordingAllowed: Type.Boolean(),
  isRedundant: Type.Boolean({ description: 'Always false: publishers that wait have no feed.' }),
  priority: Type.Optional(Type.Integer()),
  tokenId: Type.Integer(),
  client: Client,
  restreams: Type.Array(Target),
}

const rate = () => Type.Optional(Type.Number())

const Details = Type.Object({
  ...feed,
  type: Type.Optional(text('`WebRTC`, `RTMP`, `SRT` or `Pull`.')),
  frameRate: rate(),
  packetLoss: Type.Optional(Type.Number({ description: 'Per cent, the mean of five minutes.' })),
  feedStats: Type.Array(Type.Object({ timestamp: dateTime('Of a slot of ten seconds.'), packetLoss: Type.Number() })),
  trackDetails: Type.Array(
    Type.Object({
      trackId: Type.String(),
      encodingDetails: Type.Array(
        Type.Object({
          encodingId: Type.String(),
          iFrameRate: rate(),
          bFrameRate: rate(),
          pFrameRate: rate(),
          encodingStats: Type.Array(
            Type.Object({
              timestamp: dateTime('Of a slot of ten seconds.'),
              resolution: Type.Optional(Type.Object({ width: Type.Integer(), height: Type.Integer() })),
              bitRate: Type.Optional(
                Type.Object(
                  { audioBitrate: rate(), videoBitrate: rate() },
                  { description: 'Of the whole feed: that of video if it has any.' },
                ),
              ),
              videoCodec: Type.Optional(Type.String()),
              audioCodec: Type.Optional(Type.String()),
              frames: rate(),
              rtt: rate(),
              bFrames: rate(),
            }),
          ),
        }),
      ),
    }),
  ),
})

const summary = {
  streamId: Type.String(),
  streamName: Type.String(),
  clusterId: Type.String(),
  clusters: Type.Array(Type.String()),
  secureStream: Type.Boolean(),
  isRecordingAllowed: Type.Boolean(),
  multisource: Type.Boolean(),
  live: Type.Boolean(),
  startTime: Type.String({ format: 'date-time' }),
  endTime: Type.Optional(Type.String({ format: 'date-time' })),
  viewerCount: Type.Integer(),
}

const streamWith = (feedSchema: TObject) =>
  Type.Object({
    ...summary,
    hasRedundant: Type.Boolean(),
    restreaming: Type.Boolean(),
    feeds: Type.Array(feedSchema, { description: 'The oldest first.' }),
  })

const pageOf = (schema: TObject) =>
  Type.Object({
    pagination: Type.Object({
      totalItems: Type.Integer(),
      totalPages: Type.Integer(),
      itemsOnPage: Type.Integer({ description: 'Of this page.' }),
    }),
    data: Type.Array(schema),
  })

const cluster = Type.Optional(
  Type.Array(Type.String(), { description: 'May be repeated. There is one, `auto`; others match nothing.' }),
)

/** What is on the air, and what ended within the hour, as hosted services answer it. */
export function monitoredStreamRoutes(app: FastifyInstance, ctx: Context): void {
  app.get<Query>(
    '/api/monitoring/streams',
    document(TAG, 'Streams on the air, and those that ended within the hour', {
      operationId: 'listMonitoredStreams',
      querystring: Type.Object({ ...MonitoringQuery.properties, cluster }),
      data: pageOf(streamWith(Type.Object(feed))),
    }),
    async (request, reply) => sendResult(reply, await listMonitored(ctx, accountOf(request), request.query)),
  )
  app.get<Named>(
    '/api/monitoring/streams/:streamName',
    document(TAG, 'A stream on the air or that ended within the hour, with what was measured of its feeds', {
      operationId: 'readMonitoredStream',
      data: streamWith(Details),
    }),
    async (request, reply) =>
      sendResult(reply, await readMonitored(ctx, accountOf(request), request.params.streamName)),
  )
  app.get<Query>(
    '/api/monitoring/summary',
    document(TAG, 'Streams on the air, and those that ended within the hour, without their feeds', {
      operationId: 'listMonitoredSummaries',
      querystring: Type.Object({ ...MonitoringSummaryQuery.properties, cluster }),
      data: pageOf(Type.Object(summary)),
    }),
    async (request, reply) => sendResult(reply, await summarizeMonitored(ctx, accountOf(request), request.query)),
  )
  app.get<Named>(
    '/api/monitoring/summary/:streamName',
    document(TAG, 'A stream on the air or that ended within the hour, without its feeds', {
      operationId: 'readMonitoredSummary',
      data: Type.Object(summary),
    }),
    async (request, reply) => sendResult(reply, await summarizeOne(ctx, accountOf(request), request.params.streamName)),
  )
}
