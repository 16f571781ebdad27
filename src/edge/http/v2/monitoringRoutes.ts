import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type Asking,
  monitorEngine,
  monitorEngines,
  monitorIngest,
  monitorIngests,
} from '../../../commands/v2/measurements.ts'
import { monitorChannel } from '../../../commands/v2/monitoring.ts'
import { one, page } from '../../../core/live/fields.ts'
import * as schema from '../../../core/live/monitoringSchema.ts'
import type { LiveApi } from './api.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendWhole } from './problem.ts'

type Asked = { Querystring: Record<string, unknown> }
type OfChannel = Asked & { Params: { channelId: string } }
type OfIngest = Asked & { Params: { ingestId: string } }
type OfEngine = Asked & { Params: { engineId: string } }

const TAG = 'monitoring'

/** How channels, their sources and their engines are now. */
export function monitoringRoutes(app: FastifyInstance, { ctx, measured }: LiveApi): void {
  const asking = (request: FastifyRequest): Asking => ({ ctx, measured, accountId: ownerOf(request) })
  app.get<OfChannel>(
    '/monitoring/channels/:channelId',
    describe(TAG, 'Read how a channel and all of its parts are', { answer: one(schema.ChannelMonitoring) }),
    async (request, reply) => sendData(reply, await monitorChannel(ctx, ownerOf(request), request.params.channelId)),
  )
  ingests(app, asking)
  engines(app, asking)
}

function ingests(app: FastifyInstance, asking: (request: FastifyRequest) => Asking): void {
  const what = 'whether the source of an ingest is there, and what came in'
  app.get<OfIngest>(
    '/monitoring/ingests/:ingestId',
    describe(TAG, `Read ${what}`, { querystring: schema.MeasuredQuery, answer: one(schema.IngestMonitoring) }),
    async (request, reply) =>
      sendData(reply, await monitorIngest(asking(request), request.params.ingestId, request.query)),
  )
  app.get<OfChannel>(
    '/monitoring/channels/:channelId/ingests',
    describe(TAG, `List of all ingests of a channel ${what}`, {
      querystring: schema.MeasuredListQuery,
      answer: page(schema.IngestMonitoring),
    }),
    async (request, reply) =>
      sendWhole(reply, await monitorIngests(asking(request), request.params.channelId, request.query)),
  )
}

function engines(app: FastifyInstance, asking: (request: FastifyRequest) => Asking): void {
  const what = 'how many pictures and bits an engine makes'
  app.get<OfEngine>(
    '/monitoring/engines/:engineId',
    describe(TAG, `Read ${what}`, { querystring: schema.MeasuredQuery, answer: one(schema.EngineMonitoring) }),
    async (request, reply) =>
      sendData(reply, await monitorEngine(asking(request), request.params.engineId, request.query)),
  )
  app.get<OfChannel>(
    '/monitoring/channels/:channelId/engines',
    describe(TAG, `List of all engines of a channel ${what}`, {
      querystring: schema.MeasuredListQuery,
      answer: page(schema.EngineMonitoring),
    }),
    async (request, reply) =>
      sendWhole(reply, await monitorEngines(asking(request), request.params.channelId, request.query)),
  )
}
