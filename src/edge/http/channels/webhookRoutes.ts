import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { listChannelEvents } from '../../../commands/channels/channelEvents.ts'
import { listWebhookLogs } from '../../../commands/channels/webhooks/logs.ts'
import { redeliverChannelEvent, testChannelWebhook } from '../../../commands/channels/webhooks/sends.ts'
import {
  createChannelWebhook,
  deleteChannelWebhook,
  listChannelWebhooks,
  readChannelWebhook,
  readChannelWebhookSecret,
  rotateChannelWebhookSecret,
  updateChannelWebhook,
} from '../../../commands/channels/webhooks/webhooks.ts'
import { one, optional, page, pageQuery, word } from '../../../core/channels/fields.ts'
import * as schema from '../../../core/channels/webhooks/schema.ts'
import { accountOf } from '../auth.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendWhole } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

type ById = { Params: { webhookId: string } }

const TAG = 'webhooks'
const PATH = '/webhooks/:webhookId'

/** Webhooks of the channels interface, their secrets and their logs. */
export function channelWebhookRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/webhooks',
    record: schema.ChannelWebhookRecord,
    list: {
      operationId: 'listChannelWebhooks',
      summary: 'List webhooks, newest first',
      command: ({ reader, query }) => listChannelWebhooks(ctx, reader, query),
    },
    create: {
      operationId: 'createChannelWebhook',
      summary: 'Create a webhook',
      body: schema.CreateChannelWebhook,
      command: ({ actor, body }) => createChannelWebhook(ctx, actor, body),
    },
  })
  itemRoutes(app, api, {
    tag: TAG,
    path: PATH,
    record: schema.ChannelWebhookRecord,
    read: {
      operationId: 'readChannelWebhook',
      summary: 'Read a webhook',
      command: ({ reader, id }) => readChannelWebhook(ctx, reader, id),
    },
    update: {
      operationId: 'updateChannelWebhook',
      summary: 'Edit a webhook',
      body: schema.UpdateChannelWebhook,
      command: ({ actor, id, body }) => updateChannelWebhook(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteChannelWebhook',
      summary: 'Delete a webhook that is not active',
      command: ({ actor, id }) => deleteChannelWebhook(ctx, actor, id),
    },
  })
  sends(app, api)
  reads(app, api)
}

/** Manual actions: test a webhook, send an event again, rotate the secret. */
function sends(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const answer = one(schema.SentEntry)
  app.post<ById>(
    `${PATH}/test`,
    describe(TAG, 'Send an example of an event', {
      operationId: 'testChannelWebhook',
      body: schema.TestChannelWebhook,
      answer,
    }),
    async (request, reply) =>
      sendData(reply, await testChannelWebhook(ctx, actorOf(request), request.params.webhookId, request.body)),
  )
  app.post<{ Params: { webhookId: string; logId: string } }>(
    `${PATH}/logs/:logId/redeliver`,
    describe(TAG, 'Send an event of the log again', { operationId: 'redeliverChannelWebhookEvent', answer }),
    async (request, reply) => {
      const { webhookId, logId } = request.params
      return sendData(reply, await redeliverChannelEvent(ctx, actorOf(request), webhookId, logId))
    },
  )
  app.post<ById>(
    `${PATH}/rotate-secret`,
    describe(TAG, 'Another signing secret, which counts at once', {
      operationId: 'rotateChannelWebhookSecret',
      answer: one(schema.Secret),
    }),
    async (request, reply) =>
      sendData(reply, await rotateChannelWebhookSecret(ctx, actorOf(request), request.params.webhookId)),
  )
}

function reads(app: FastifyInstance, { ctx }: ChannelsApi): void {
  app.get<ById>(
    `${PATH}/secret`,
    describe(TAG, 'Read the signing secret of a webhook; not with a credential of scope read', {
      operationId: 'readChannelWebhookSecret',
      answer: one(schema.Secret),
    }),
    async (request, reply) =>
      sendData(reply, await readChannelWebhookSecret(ctx, readerOf(request), request.params.webhookId)),
  )
  const querystring = Type.Object({
    ...pageQuery,
    startDate: optional(Type.String({ description: 'Only attempts from this moment on: YYYY-MM-DDTHH:mm:ss.sssZ.' })),
    endDate: optional(Type.String({ description: 'Only attempts before this moment.' })),
  })
  app.get<ById & AnyQuery>(
    `${PATH}/logs`,
    describe(TAG, 'List the attempts to deliver to a webhook, and what was skipped, newest first', {
      operationId: 'listChannelWebhookLogs',
      querystring,
      answer: page(schema.LogEntry),
    }),
    async (request, reply) =>
      sendWhole(reply, await listWebhookLogs(ctx, accountOf(request), request.params.webhookId, request.query)),
  )
  events(app, ctx)
}

function events(app: FastifyInstance, ctx: ChannelsApi['ctx']): void {
  const querystring = Type.Object({
    ...pageQuery,
    startDate: optional(Type.String({ description: 'Only events from this moment on: YYYY-MM-DDTHH:mm:ss.sssZ.' })),
    endDate: optional(Type.String({ description: 'Only events before this moment.' })),
    type: optional(Type.String({ description: 'Only these events, separated by commas.' })),
    sortDirection: optional(word(['asc', 'desc'], 'asc: oldest first. Default desc.')),
  })
  app.get<AnyQuery>(
    '/logs',
    describe(TAG, 'List events, newest first: what a receiver that was away catches up from', {
      operationId: 'listChannelEvents',
      querystring,
      answer: page(schema.EventEntry),
    }),
    async (request, reply) => sendWhole(reply, await listChannelEvents(ctx, accountOf(request), request.query)),
  )
}
