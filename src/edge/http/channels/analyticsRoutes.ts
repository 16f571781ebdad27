import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazyList } from '../../../base/objects.ts'
import { ok } from '../../../base/result.ts'
import type { ChannelResult } from '../../../commands/channels/channelCommand.ts'
import {
  servedCountries,
  servedSeries,
  servedTrackingIds,
  type Subject,
  transcodingMinutes,
} from '../../../commands/channels/usage.ts'
import type { SeriesRecord } from '../../../core/channels/analytics.ts'
import * as schema from '../../../core/channels/analyticsSchema.ts'
import { asChannelFailure } from '../../../core/channels/errors.ts'
import { one, page } from '../../../core/channels/fields.ts'
import { accountOf } from '../auth.ts'
import { longText, sendJsonText } from '../problem.ts'
import { makeReport, tooManyReports } from '../usage/reportTurns.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendChannelFailure, sendData, sendWhole } from './problem.ts'

type ReportRequest = AnyQuery & { Params: { channelId?: string; distributionId?: string } }

const TAG = 'analytics'

/** Reports of the bytes that channels and distributions served, and of the running time of engines. */
export function channelUsageRoutes(app: FastifyInstance, api: ChannelsApi): void {
  for (const kind of ['channel', 'distribution'] as const) {
    served(app, api, { kind, counted: 'bytes' })
    served(app, api, { kind, counted: 'minutes' })
  }
  app.get<ReportRequest>(
    '/channels/:channelId/analytics/transcoding-minutes',
    describe(TAG, 'Minutes that the engines of a channel ran', {
      operationId: 'readChannelTranscodingMinutes',
      querystring: schema.TranscodingQuery,
      answer: one(schema.Series),
    }),
    async (request, reply) =>
      sendSeries(request, reply, () =>
        transcodingMinutes(api.ctx, accountOf(request), request.params.channelId ?? '', request.query),
      ),
  )
}

/** Each report by the last segment of its path, with its subject and the query of its time series. */
const REPORTS = {
  bytes: {
    name: 'bytes-transferred',
    operation: 'Bytes',
    what: (kind: string) => `Bytes that a ${kind} served`,
    series: { channel: schema.ChannelBytesQuery, distribution: schema.DistributionBytesQuery },
  },
  minutes: {
    name: 'viewing-minutes',
    operation: 'ViewingMinutes',
    what: (kind: string) => `Minutes of media that viewers of a ${kind} were served`,
    series: { channel: schema.ChannelViewingQuery, distribution: schema.DistributionViewingQuery },
  },
} as const

/** A series is long, so it is made in its turn, and its text as well. */
async function sendSeries(
  request: FastifyRequest,
  reply: FastifyReply,
  read: () => ChannelResult<SeriesRecord[]>,
): Promise<FastifyReply> {
  const made = await makeReport(request, async () => {
    const series = await read()
    return series.ok
      ? ok(
          await longText(
            {},
            lazyList(series.value, (one) => one),
          ),
        )
      : series
  })
  if (made === null) return sendChannelFailure(reply, asChannelFailure(tooManyReports(reply)))
  return made.ok ? sendJsonText(reply, made.value) : sendChannelFailure(reply, made.error)
}

function served(
  app: FastifyInstance,
  { ctx }: ChannelsApi,
  { kind, counted }: Pick<Subject, 'kind' | 'counted'>,
): void {
  const report = REPORTS[counted]
  const [path, what] = [`/${kind}s/:${kind}Id/analytics/${report.name}`, report.what(kind)]
  const subject = `${kind === 'channel' ? 'Channel' : 'Distribution'}${report.operation}`
  const about = (request: FastifyRequest<ReportRequest>) =>
    [ctx, accountOf(request), { kind, id: request.params[`${kind}Id`] ?? '', counted }, request.query] as const
  app.get<ReportRequest>(
    path,
    describe(TAG, `${what}, by time`, {
      operationId: `read${subject}`,
      querystring: report.series[kind],
      answer: one(schema.Series),
    }),
    async (request, reply) => sendSeries(request, reply, () => servedSeries(...about(request))),
  )
  app.get<ReportRequest>(
    `${path}/countries`,
    describe(TAG, `${what}, by country, the most first`, {
      operationId: `read${subject}ByCountry`,
      querystring: schema.SpanQuery,
      answer: one(schema.Countries),
    }),
    async (request, reply) => sendData(reply, await servedCountries(...about(request))),
  )
  app.get<ReportRequest>(
    `${path}/tracking-ids`,
    describe(TAG, `${what}, by the tracking id of the viewer's token`, {
      operationId: `list${subject}ByTrackingId`,
      querystring: schema.TrackingQuery,
      answer: page(schema.Tracked),
    }),
    async (request, reply) => sendWhole(reply, await servedTrackingIds(...about(request))),
  )
}
