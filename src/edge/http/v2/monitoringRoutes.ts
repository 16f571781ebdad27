import type { FastifyInstance } from 'fastify'
import { monitorChannel, monitorEngine, monitorIngest } from '../../../commands/v2/monitoring.ts'
import { one } from '../../../core/live/fields.ts'
import * as schema from '../../../core/live/monitoringSchema.ts'
import type { LiveApi } from './api.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData } from './problem.ts'

type Asked = { Querystring: Record<string, unknown> }

const TAG = 'monitoring'
const querystring = schema.MeasuredQuery

/** How channels, their sources and their engines are now. */
export function monitoringRoutes(app: FastifyInstance, { ctx, measured }: LiveApi): void {
  app.get<Asked & { Params: { channelId: string } }>(
    '/monitoring/channels/:channelId',
    describe(TAG, 'Read how a channel and all of its parts are', { answer: one(schema.ChannelMonitoring) }),
    async (request, reply) => sendData(reply, await monitorChannel(ctx, ownerOf(request), request.params.channelId)),
  )
  app.get<Asked & { Params: { ingestId: string } }>(
    '/monitoring/ingests/:ingestId',
    describe(TAG, 'Read whether the source of an ingest is there, and what came in', {
      querystring,
      answer: one(schema.IngestMonitoring),
    }),
    async (request, reply) =>
      sendData(reply, await monitorIngest(ctx, measured, ownerOf(request), request.params.ingestId, request.query)),
  )
  app.get<Asked & { Params: { engineId: string } }>(
    '/monitoring/engines/:engineId',
    describe(TAG, 'Read how many pictures and bits an engine makes', {
      querystring,
      answer: one(schema.EngineMonitoring),
    }),
    async (request, reply) =>
      sendData(reply, await monitorEngine(ctx, measured, ownerOf(request), request.params.engineId, request.query)),
  )
}
