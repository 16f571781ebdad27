import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import {
  type Asking,
  monitorEngine,
  monitorEngines,
  monitorIngest,
  monitorIngests,
} from '../../../commands/channels/measurements.ts'
import type { KeysetPage } from '../../../commands/pages.ts'
import { monitorChannel } from '../../../commands/channels/monitoring.ts'
import type { ChannelResult } from '../../../commands/channels/channelCommand.ts'
import { one, page } from '../../../core/channels/fields.ts'
import * as schema from '../../../core/channels/monitoringSchema.ts'
import { accountOf } from '../auth.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData, sendWhole } from './problem.ts'

type MeasuredRequest = AnyQuery & { Params: Record<string, string> }

const TAG = 'monitoring'

/** A part of a channel that Sluice measures. */
interface Part<M> {
  readonly kind: 'ingest' | 'engine'
  /** The kind in names of operations. */
  readonly name: string
  /** What the answer contains. */
  readonly what: string
  readonly answer: TSchema
  readonly readOne: (asking: Asking, id: string, query: AnyQuery['Querystring']) => ChannelResult<M>
  readonly readAll: (asking: Asking, channelId: string, query: AnyQuery['Querystring']) => ChannelResult<KeysetPage<M>>
}

/** The current state of channels, their sources and their engines. */
export function monitoringRoutes(app: FastifyInstance, api: ChannelsApi): void {
  app.get<MeasuredRequest>(
    '/monitoring/channels/:channelId',
    describe(TAG, 'Read how a channel and all of its parts are', {
      operationId: 'readChannelMonitoring',
      answer: one(schema.ChannelMonitoring),
    }),
    async (request, reply) =>
      sendData(reply, await monitorChannel(api.ctx, api.measured.viewers, accountOf(request), channelOf(request))),
  )
  partRoutes(app, api, {
    kind: 'ingest',
    name: 'Ingest',
    what: 'whether the source of an ingest is there, and what came in',
    answer: schema.IngestMonitoring,
    readOne: monitorIngest,
    readAll: monitorIngests,
  })
  partRoutes(app, api, {
    kind: 'engine',
    name: 'Engine',
    what: 'how many frames and bits an engine makes, and how it keeps up',
    answer: schema.EngineMonitoring,
    readOne: monitorEngine,
    readAll: monitorEngines,
  })
}

const channelOf = ({ params }: FastifyRequest<MeasuredRequest>): string => params['channelId'] ?? ''

function partRoutes<M>(app: FastifyInstance, { ctx, measured, load }: ChannelsApi, part: Part<M>): void {
  const { kind, name, what, answer, readOne, readAll } = part
  const asking = (request: FastifyRequest): Asking => ({ ctx, measured, load, accountId: accountOf(request) })
  app.get<MeasuredRequest>(
    `/monitoring/${kind}s/:${kind}Id`,
    describe(TAG, `Read ${what}`, {
      operationId: `read${name}Monitoring`,
      querystring: schema.MeasuredQuery,
      answer: one(answer),
    }),
    async (request, reply) =>
      sendData(reply, await readOne(asking(request), request.params[`${kind}Id`] ?? '', request.query)),
  )
  app.get<MeasuredRequest>(
    `/monitoring/channels/:channelId/${kind}s`,
    describe(TAG, `List of all ${kind}s of a channel ${what}`, {
      operationId: `list${name}Monitoring`,
      querystring: schema.MeasuredListQuery,
      answer: page(answer),
    }),
    async (request, reply) => sendWhole(reply, await readAll(asking(request), channelOf(request), request.query)),
  )
}
