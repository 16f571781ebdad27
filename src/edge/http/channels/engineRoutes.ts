import type { FastifyInstance } from 'fastify'
import {
  createEngine,
  createEngineOfIngest,
  deleteEngine,
  listEngines,
  listEnginesOfIngest,
  readEngine,
  syncEngineTargets,
  updateEngine,
} from '../../../commands/channels/engines.ts'
import { CreateEngine, CreateEngineOfIngest, EngineRecord, UpdateEngine } from '../../../core/channels/engineSchema.ts'
import type { ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendDone } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

const TAG = 'engines'

/** Engines: lists by channel and by ingest, and single engines. */
export function engineRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx } = api
  const [tag, record] = [TAG, EngineRecord]
  collectionRoutes(app, api, {
    tag,
    path: '/channels/:channelId/engines',
    record,
    list: {
      operationId: 'listEngines',
      summary: 'List the engines of a channel, newest first',
      command: ({ reader, id, query }) => listEngines(ctx, reader.accountId, id, query),
    },
    create: {
      operationId: 'createEngine',
      summary: 'Create an engine',
      body: CreateEngine,
      command: ({ actor, id, body }) => createEngine(ctx, actor, id, body),
    },
  })
  collectionRoutes(app, api, {
    tag,
    path: '/ingests/:ingestId/engines',
    record,
    list: {
      operationId: 'listIngestEngines',
      summary: 'List the engines of an ingest, newest first',
      command: ({ reader, id, query }) => listEnginesOfIngest(ctx, reader.accountId, id, query),
    },
    create: {
      operationId: 'createIngestEngine',
      summary: 'Create an engine on an ingest',
      body: CreateEngineOfIngest,
      command: ({ actor, id, body }) => createEngineOfIngest(ctx, actor, id, body),
    },
  })
  itemRoutes(app, api, {
    tag,
    path: '/engines/:engineId',
    record,
    read: {
      operationId: 'readEngine',
      summary: 'Read an engine',
      command: ({ reader, id }) => readEngine(ctx, reader.accountId, id),
    },
    update: {
      operationId: 'updateEngine',
      summary: 'Edit an engine',
      body: UpdateEngine,
      command: ({ actor, id, body }) => updateEngine(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteEngine',
      summary: 'Delete an engine that does not run',
      command: ({ actor, id }) => deleteEngine(ctx, actor, id),
    },
  })
  app.post<{ Params: { engineId: string } }>(
    '/engines/:engineId/restream/sync',
    describe(TAG, 'Dial the targets of an engine again that were refused or have failed', {
      operationId: 'syncEngineRestream',
    }),
    async (request, reply) =>
      sendDone(reply, await syncEngineTargets(ctx, api.actorOf(request), request.params.engineId)),
  )
}
