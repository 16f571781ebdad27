import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  createIngest,
  deleteIngest,
  listIngests,
  readIngest,
  rotateKey,
  updateIngest,
} from '../../../commands/channels/ingests.ts'
import { one, page, pageQuery } from '../../../core/channels/fields.ts'
import { CreateIngest, IngestRecord, UpdateIngest } from '../../../core/channels/ingestSchema.ts'
import type { ChannelsApi } from './parts.ts'
import { readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type OfChannel = { Params: { channelId: string } }
type ById = { Params: { ingestId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'ingests'

/** Ingests: lists by channel, and single ingests. */
export function ingestRoutes(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const answer = one(IngestRecord)
  app.get<OfChannel & Asked>(
    '/channels/:channelId/ingests',
    describe(TAG, 'List the ingests of a channel, newest first', {
      querystring: Type.Object(pageQuery),
      answer: page(IngestRecord),
    }),
    async (request, reply) => {
      const { channelId } = request.params
      return sendWhole(reply, await listIngests(ctx, readerOf(request), channelId, request.query))
    },
  )
  app.post<OfChannel>(
    '/channels/:channelId/ingests',
    describe(TAG, 'Create an ingest; a push gets its url and streamKey', { body: CreateIngest, answer }),
    async (request, reply) =>
      sendData(reply, await createIngest(ctx, actorOf(request), request.params.channelId, request.body)),
  )
  const path = '/ingests/:ingestId'
  app.get<ById>(path, describe(TAG, 'Read an ingest', { answer }), async (request, reply) =>
    sendData(reply, await readIngest(ctx, readerOf(request), request.params.ingestId)),
  )
  app.patch<ById>(path, describe(TAG, 'Edit an ingest', { body: UpdateIngest, answer }), async (request, reply) =>
    sendData(reply, await updateIngest(ctx, actorOf(request), request.params.ingestId, request.body)),
  )
  app.delete<ById>(path, describe(TAG, 'Delete an ingest that no engine is connected to', {}), async (request, reply) =>
    sendDone(reply, await deleteIngest(ctx, actorOf(request), request.params.ingestId)),
  )
  app.post<ById>(
    `${path}/rotate-key`,
    describe(TAG, 'Another stream key; whoever publishes with the old one is cut off', { answer }),
    async (request, reply) => sendData(reply, await rotateKey(ctx, actorOf(request), request.params.ingestId)),
  )
}
