import type { FastifyInstance } from 'fastify'
import {
  createIngest,
  deleteIngest,
  listIngests,
  readIngest,
  rotateKey,
  updateIngest,
} from '../../../commands/channels/ingests.ts'
import { one } from '../../../core/channels/fields.ts'
import { CreateIngest, IngestRecord, UpdateIngest } from '../../../core/channels/ingestSchema.ts'
import type { ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

type ById = { Params: { ingestId: string } }

const TAG = 'ingests'
const PATH = '/ingests/:ingestId'

/** Ingests: lists by channel, and single ingests. */
export function ingestRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx, actorOf } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/channels/:channelId/ingests',
    record: IngestRecord,
    list: {
      operationId: 'listIngests',
      summary: 'List the ingests of a channel, newest first',
      command: ({ reader, id, query }) => listIngests(ctx, reader, id, query),
    },
    create: {
      operationId: 'createIngest',
      summary: 'Create an ingest; a push gets its url and streamKey',
      body: CreateIngest,
      command: ({ actor, id, body }) => createIngest(ctx, actor, id, body),
    },
  })
  itemRoutes(app, api, {
    tag: TAG,
    path: PATH,
    record: IngestRecord,
    read: {
      operationId: 'readIngest',
      summary: 'Read an ingest',
      command: ({ reader, id }) => readIngest(ctx, reader, id),
    },
    update: {
      operationId: 'updateIngest',
      summary: 'Edit an ingest',
      body: UpdateIngest,
      command: ({ actor, id, body }) => updateIngest(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteIngest',
      summary: 'Delete an ingest that no engine is connected to',
      command: ({ actor, id }) => deleteIngest(ctx, actor, id),
    },
  })
  app.post<ById>(
    `${PATH}/rotate-key`,
    describe(TAG, 'Another stream key; a publisher that uses the old one is cut off', {
      operationId: 'rotateIngestKey',
      answer: one(IngestRecord),
    }),
    async (request, reply) => sendData(reply, await rotateKey(ctx, actorOf(request), request.params.ingestId)),
  )
}
