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
import type { ChannelsApi } from './parts.ts'
import { ownerOf, readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type ById = { Params: { webhookId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'webhooks'
const PATH = '/webhooks/:webhookId'

/** Webhooks of the live interface, their secrets and their logs. */
export function channelWebhookRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx, actorOf } = api
  const { CreateChannelWebhook: body, ChannelWebhookRecord: record, UpdateChannelWebhook: changes } = schema
  const answer = one(record)
  app.post('/webhooks', describe(TAG, 'Create a webhook', { body, answer }), async (request, reply) =>
    sendData(reply, await createChannelWebhook(ctx, actorOf(request), request.body)),
  )
  app.get<ById>(PATH, describe(TAG, 'Read a webhook', { answer }), async (request, reply) =>
    sendData(reply, await readChannelWebhook(ctx, readerOf(request), request.params.webhookId)),
  )
  app.patch<ById>(PATH, describe(TAG, 'Edit a webhook', { body: changes, answer }), async (request, reply) =>
    sendData(reply, await updateChannelWebhook(ctx, actorOf(request), request.params.webhookId, request.body)),
  )
  app.delete<ById>(PATH, describe(TAG, 'Delete a webhook that is not active', {}), async (request, reply) =>
    sendDone(reply, await deleteChannelWebhook(ctx, actorOf(request), request.params.webhookId)),
  )
  sends(app, api)
  lists(app, api)
}

/** What a person does by hand: try a webhook out, send something again, change the secret. */
function sends(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const answer = one(schema.SentEntry)
  app.post<ById>(
    `${PATH}/test`,
    describe(TAG, 'Send an example of an event', { body: schema.TestChannelWebhook, answer }),
    async (request, reply) =>
      sendData(reply, await testChannelWebhook(ctx, actorOf(request), request.params.webhookId, request.body)),
  )
  app.post<{ Params: { webhookId: string; logId: string } }>(
    `${PATH}/logs/:logId/redeliver`,
    describe(TAG, 'Send an event of the log again', { answer }),
    async (request, reply) => {
      const { webhookId, logId } = request.params
      return sendData(reply, await redeliverChannelEvent(ctx, actorOf(request), webhookId, logId))
    },
  )
  app.post<ById>(
    `${PATH}/rotate-secret`,
    describe(TAG, 'Another signing secret, which counts at once', { answer: one(schema.Secret) }),
    async (request, reply) =>
      sendData(reply, await rotateChannelWebhookSecret(ctx, actorOf(request), request.params.webhookId)),
  )
}

function lists(app: FastifyInstance, { ctx }: ChannelsApi): void {
  const listed = { querystring: Type.Object(pageQuery), answer: page(schema.ChannelWebhookRecord) }
  app.get<Asked>('/webhooks', describe(TAG, 'List webhooks, newest first', listed), async (request, reply) =>
    sendWhole(reply, await listChannelWebhooks(ctx, readerOf(request), request.query)),
  )
  app.get<ById>(
    `${PATH}/secret`,
    describe(TAG, 'Read the signing secret of a webhook; not with a credential of scope read', {
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
  app.get<ById & Asked>(
    `${PATH}/logs`,
    describe(TAG, 'List the attempts to deliver to a webhook, and what was skipped, newest first', {
      querystring,
      answer: page(schema.LogEntry),
    }),
    async (request, reply) =>
      sendWhole(reply, await listWebhookLogs(ctx, ownerOf(request), request.params.webhookId, request.query)),
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
  app.get<Asked>(
    '/logs',
    describe(TAG, 'List events, newest first: what a receiver that was away catches up from', {
      querystring,
      answer: page(schema.EventEntry),
    }),
    async (request, reply) => sendWhole(reply, await listChannelEvents(ctx, ownerOf(request), request.query)),
  )
}
