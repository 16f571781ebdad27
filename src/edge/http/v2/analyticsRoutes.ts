import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  servedCountries,
  servedSeries,
  servedTrackingIds,
  type Subject,
  transcodingMinutes,
} from '../../../commands/v2/analytics.ts'
import * as schema from '../../../core/live/analyticsSchema.ts'
import { one, page } from '../../../core/live/fields.ts'
import type { LiveApi } from './api.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendWhole } from './problem.ts'

type Asked = {
  Params: { channelId?: string; distributionId?: string }
  Querystring: Record<string, unknown>
}

const TAG = 'analytics'

/** What channels and distributions have served, and how long engines ran. */
export function analyticsRoutes(app: FastifyInstance, api: LiveApi): void {
  served(app, api, 'channel')
  served(app, api, 'distribution')
  app.get<Asked>(
    '/channels/:channelId/analytics/transcoding-minutes',
    describe(TAG, 'Minutes that the engines of a channel ran', {
      querystring: schema.TranscodingQuery,
      answer: one(schema.Series),
    }),
    async (request, reply) =>
      sendData(
        reply,
        await transcodingMinutes(api.ctx, ownerOf(request), request.params.channelId ?? '', request.query),
      ),
  )
}

function served(app: FastifyInstance, { ctx }: LiveApi, kind: Subject['kind']): void {
  const path = `/${kind}s/:${kind}Id/analytics/bytes-transferred`
  const querystring = kind === 'channel' ? schema.ChannelBytesQuery : schema.DistributionBytesQuery
  const about = (request: FastifyRequest<Asked>) =>
    [ctx, ownerOf(request), { kind, id: request.params[`${kind}Id`] ?? '' }, request.query] as const
  app.get<Asked>(
    path,
    describe(TAG, `Bytes that a ${kind} served, by time`, { querystring, answer: one(schema.Series) }),
    async (request, reply) => sendData(reply, await servedSeries(...about(request))),
  )
  app.get<Asked>(
    `${path}/countries`,
    describe(TAG, `Bytes that a ${kind} served, by country, the most first`, {
      querystring: schema.SpanQuery,
      answer: one(schema.Countries),
    }),
    async (request, reply) => sendData(reply, await servedCountries(...about(request))),
  )
  app.get<Asked>(
    `${path}/tracking-ids`,
    describe(TAG, `Bytes that a ${kind} served, by the tracking id of the viewer's token`, {
      querystring: schema.TrackingQuery,
      answer: page(schema.TrackedBytes),
    }),
    async (request, reply) => sendWhole(reply, await servedTrackingIds(...about(request))),
  )
}
