import { type TSchema, Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Throttle } from '../../../base/throttle.ts'
import type { Context } from '../../../commands/context.ts'
import { listStreamsOnAir } from '../../../commands/streams/streamsOnAir.ts'
import { requestThumbnails, THUMBNAILS_PER_MINUTE } from '../../../commands/recordings/thumbnails.ts'
import { readThumbnail } from '../../../commands/streams/thumbnail.ts'
import { RequestThumbnail } from '../../../core/recordings/thumbnailRequest.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { PROTOCOLS, type ViewProtocol } from '../../../core/access/protocols.ts'
import { saidAsData } from '../../../core/notices.ts'
import { TARGET_STATUSES } from '../../../core/restream/state.ts'
import { FindingsSchema } from '../../../core/streams/findingsSchema.ts'
import { alternatives, AUDIO_CODECS, VIDEO_CODECS } from '../../../media/codecs/codecs.ts'
import { broadcastRoutes } from './broadcasts.ts'
import { HealthSchema, SourceSchema, streamHealthRoute } from './health.ts'
import { monitoredStreamRoutes } from './monitoring.ts'
import { targetEventsRoute } from './targetEvents.ts'
import { accountOf } from '../auth.ts'
import { hasVersion } from '../conditional.ts'
import { count, pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sayRetryAfter } from '../limits.ts'
import { sendFailure, sendResult } from '../problem.ts'

const TAG = 'streams'

type Query = { Querystring: Record<string, unknown> }

/** What is on the air, and how it looks. */
export function streamRoutes(app: FastifyInstance, ctx: Context, sign: Mac): void {
  app.get<Query>(
    '/api/streams/live',
    document(TAG, 'What is on the air now, by name: one entry for each stream', {
      operationId: 'listStreamsOnAir',
      querystring: OnAirQuery,
      answer: OnAirAnswer,
    }),
    async (request, reply) => {
      const page = await listStreamsOnAir(ctx, sign, accountOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
  broadcastRoutes(app, ctx, sign)
  targetEventsRoute(app, ctx, sign)
  streamHealthRoute(app, ctx)
  monitoredStreamRoutes(app, ctx)
  app.get<{ Params: { streamName: string } }>(
    '/api/streams/:streamName/thumbnail',
    document(TAG, 'The latest thumbnail of a stream on the air, a JPEG', {
      operationId: 'readThumbnail',
      answer: Type.Any({ description: '`image/jpeg`' }),
    }),
    (request, reply) => sendThumbnail(ctx, request, reply),
  )
  requestRoute(app, ctx)
}

/** As for other limits of requests, about 100 bytes each. */
const THROTTLE_KEYS_MAX = 10_000

function requestRoute(app: FastifyInstance, ctx: Context): void {
  const throttle = new Throttle(THUMBNAILS_PER_MINUTE, THROTTLE_KEYS_MAX)
  app.post(
    '/api/thumbnails',
    document(TAG, 'Take a thumbnail now, for webhooks and the latest thumbnail', {
      operationId: 'requestThumbnail',
      body: RequestThumbnail,
      data: Type.Boolean(),
    }),
    async (request, reply) => {
      const requested = await requestThumbnails(ctx, throttle, accountOf(request), request.body)
      if (!requested.ok && requested.error.waitMs > 0) sayRetryAfter(reply, requested.error.waitMs)
      return sendResult(reply, requested)
    },
  )
}

async function sendThumbnail(
  ctx: Context,
  request: FastifyRequest<{ Params: { streamName: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const found = await readThumbnail(ctx, accountOf(request), request.params.streamName)
  if (!found.ok) return sendFailure(reply, found.error)
  const { image, atMs, etag } = found.value
  reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache', 'Last-Modified': new Date(atMs).toUTCString() })
  if (hasVersion(request, etag)) return reply.code(304).send()
  return reply.type('image/jpeg').send(Buffer.from(image))
}

const OnAirQuery = Type.Object({
  streamName: Type.Optional(Type.String({ description: 'Only this stream.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const quoted = (names: readonly string[]): string => alternatives(names.map((name) => `\`${name}\``))
const text = (description?: string) => Type.Optional(Type.String(description === undefined ? {} : { description }))
const figure = (description?: string) => Type.Optional(Type.Integer(description === undefined ? {} : { description }))

const Target = Type.Object({
  sourceId: text('Of the feed that is sent to it.'),
  index: count('Its place in `restream` of the token, from 0.'),
  label: Type.String(),
  url: Type.String(),
  status: Type.Enum([...TARGET_STATUSES]),
  since: Type.String({ format: 'date-time', description: 'Since when it has this status.' }),
  retryOn: Type.Optional(Type.String({ format: 'date-time', description: 'When it is dialled again.' })),
  problem: text('What is wrong, for people.'),
  problemSentences: Type.Optional(saidAsData()),
  bitrateOut: figure('Bits per second to it, over the last seconds; absent: it is not live.'),
  liveSeconds: count('How long it has taken media since the broadcast began.'),
  lastProblem: text('The latest problem, also if it is over.'),
  lastProblemSentences: Type.Optional(saidAsData()),
  lastProblemOn: Type.Optional(Type.String({ format: 'date-time' })),
})

/** A stream on the air. */
const StreamOnAirSchema = Type.Object({
  streamName: Type.String(),
  streamId: Type.String({ description: '`accountId/streamName`' }),
  startedOn: Type.String({ format: 'date-time', description: 'Of its oldest source.' }),
  sources: count('Publishers of the stream. What follows is of the one without a source id, or else of the oldest.'),
  feedId: Type.String({ format: 'uuid' }),
  sessionId: Type.String({ description: 'Of the publisher.' }),
  sourceId: text(),
  priority: figure('Of the publisher among those of its source; absent: the lowest.'),
  spares: Type.Optional(count('Publishers that wait to take over, of all sources; absent: none.')),
  protocol: Type.Enum([...PROTOCOLS]),
  node: Type.String({ description: 'The node that it is published to.' }),
  nodeUrl: text('Where clients reach that node (`server.nodeUrl`).'),
  tokenId: Type.Integer({ description: 'The publish token.' }),
  tokenLabel: text('Absent: the token was deleted.'),
  secured: Type.Boolean({ description: 'Viewers need a subscribe token.' }),
  recorded: Type.Boolean({ description: 'A recording of one of its sources is under way.' }),
  videoCodec: text(`${quoted(VIDEO_CODECS)}; absent without video, and until its node knows.`),
  audioCodec: text(`${quoted(AUDIO_CODECS)}; absent without audio, and until its node knows.`),
  width: figure('Pixels; with simulcast of the largest layer.'),
  height: figure(),
  frameRate: figure('Frames per second, over the last seconds.'),
  bitrateIn: figure('Bits per second, over the last seconds.'),
  bitrateLowest: figure('Bits per second: the lowest average of ten seconds in the last five minutes.'),
  bitrateHighest: figure('The highest of them.'),
  health: HealthSchema,
  findings: FindingsSchema,
  source: SourceSchema,
  restreams: Type.Optional(Type.Array(Target, { description: 'Targets that it is sent on to; absent: none.' })),
  viewers: count('At all nodes.'),
  viewersByProtocol: Type.Object({ whep: count(), hls: count() } satisfies Record<ViewProtocol, TSchema>),
  mostViewers: count('At once, since it began.'),
  bitrateOut: count('Bits per second to viewers, over the last seconds.'),
  channel: Type.Null({ description: 'Kept for streams of channels, which are not listed here.' }),
})

const OnAirAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(StreamOnAirSchema),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
