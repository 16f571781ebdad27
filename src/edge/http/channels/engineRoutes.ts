import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  createEngine,
  createEngineOfIngest,
  deleteEngine,
  listEngines,
  listEnginesOfIngest,
  readEngine,
  updateEngine,
} from '../../../commands/channels/engines.ts'
import { CreateEngine, CreateEngineOfIngest, EngineRecord, UpdateEngine } from '../../../core/channels/engineSchema.ts'
import { one, page, pageQuery } from '../../../core/channels/fields.ts'
import type { ChannelsApi } from './parts.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type OfChannel = { Params: { channelId: string } }
type OfIngest = { Params: { ingestId: string } }
type ById = { Params: { engineId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'engines'

/** Engines: lists by channel and by ingest, and single engines. */
export function engineRoutes(app: FastifyInstance, api: ChannelsApi): void {
  ofChannel(app, api)
  ofIngest(app, api)
  const { ctx, actorOf } = api
  const path = '/engines/:engineId'
  const answer = one(EngineRecord)
  app.get<ById>(path, describe(TAG, 'Read an engine', { answer }), async (request, reply) =>
    sendData(reply, await readEngine(ctx, ownerOf(request), request.params.engineId)),
  )
  app.patch<ById>(path, describe(TAG, 'Edit an engine', { body: UpdateEngine, answer }), async (request, reply) =>
    sendData(reply, await updateEngine(ctx, actorOf(request), request.params.engineId, request.body)),
  )
  app.delete<ById>(path, describe(TAG, 'Delete an engine that does not run', {}), async (request, reply) =>
    sendDone(reply, await deleteEngine(ctx, actorOf(request), request.params.engineId)),
  )
}

const listed = (of: string) =>
  describe(TAG, `List the engines of ${of}, newest first`, {
    querystring: Type.Object(pageQuery),
    answer: page(EngineRecord),
  })

function ofChannel(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const path = '/channels/:channelId/engines'
  app.get<OfChannel & Asked>(path, listed('a channel'), async (request, reply) =>
    sendWhole(reply, await listEngines(ctx, ownerOf(request), request.params.channelId, request.query)),
  )
  app.post<OfChannel>(
    path,
    describe(TAG, 'Create an engine', { body: CreateEngine, answer: one(EngineRecord) }),
    async (request, reply) =>
      sendData(reply, await createEngine(ctx, actorOf(request), request.params.channelId, request.body)),
  )
}

function ofIngest(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const path = '/ingests/:ingestId/engines'
  app.get<OfIngest & Asked>(path, listed('an ingest'), async (request, reply) =>
    sendWhole(reply, await listEnginesOfIngest(ctx, ownerOf(request), request.params.ingestId, request.query)),
  )
  app.post<OfIngest>(
    path,
    describe(TAG, 'Create an engine on an ingest', { body: CreateEngineOfIngest, answer: one(EngineRecord) }),
    async (request, reply) =>
      sendData(reply, await createEngineOfIngest(ctx, actorOf(request), request.params.ingestId, request.body)),
  )
}
