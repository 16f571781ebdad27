import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { listWebhookLogs } from '../../../commands/v2life/webhookLogs.ts'
import {
  createLiveWebhook,
  deleteLiveWebhook,
  listLiveWebhooks,
  readLiveWebhook,
  readLiveWebhookSecret,
  updateLiveWebhook,
} from '../../../commands/v2life/webhooks.ts'
import { one, optional, page, pageQuery } from '../../../core/live/fields.ts'
import * as schema from '../../../core/webhooksV2/schema.ts'
import type { LiveApi } from './api.ts'
import { ownerOf, readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type ById = { Params: { webhookId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'webhooks'
const PATH = '/webhooks/:webhookId'

/** Webhooks of the live interface, their secrets and their logs. */
export function liveWebhookRoutes(app: FastifyInstance, api: LiveApi): void {
  const { ctx, actorOf } = api
  const { CreateLiveWebhook: body, LiveWebhookRecord, UpdateLiveWebhook } = schema
  const answer = one(LiveWebhookRecord)
  app.post('/webhooks', describe(TAG, 'Create a webhook', { body, answer }), async (request, reply) =>
    sendData(reply, await createLiveWebhook(ctx, actorOf(request), request.body)),
  )
  app.get<ById>(PATH, describe(TAG, 'Read a webhook', { answer }), async (request, reply) =>
    sendData(reply, await readLiveWebhook(ctx, readerOf(request), request.params.webhookId)),
  )
  app.patch<ById>(PATH, describe(TAG, 'Edit a webhook', { body: UpdateLiveWebhook, answer }), async (request, reply) =>
    sendData(reply, await updateLiveWebhook(ctx, actorOf(request), request.params.webhookId, request.body)),
  )
  app.delete<ById>(PATH, describe(TAG, 'Delete a webhook that is not active', {}), async (request, reply) =>
    sendDone(reply, await deleteLiveWebhook(ctx, actorOf(request), request.params.webhookId)),
  )
  lists(app, api)
}

function lists(app: FastifyInstance, { ctx }: LiveApi): void {
  const listed = { querystring: Type.Object(pageQuery), answer: page(schema.LiveWebhookRecord) }
  app.get<Asked>('/webhooks', describe(TAG, 'List webhooks, newest first', listed), async (request, reply) =>
    sendWhole(reply, await listLiveWebhooks(ctx, readerOf(request), request.query)),
  )
  app.get<ById>(
    `${PATH}/secret`,
    describe(TAG, 'Read the signing secret of a webhook; not with a credential of scope read', {
      answer: one(schema.Secret),
    }),
    async (request, reply) =>
      sendData(reply, await readLiveWebhookSecret(ctx, readerOf(request), request.params.webhookId)),
  )
  const querystring = Type.Object({
    ...pageQuery,
    startDate: optional(Type.String({ description: 'Only attempts from this moment on: YYYY-MM-DDTHH:mm:ss.sssZ.' })),
    endDate: optional(Type.String({ description: 'Only attempts before this moment.' })),
  })
  app.get<ById & Asked>(
    `${PATH}/logs`,
    describe(TAG, 'List the attempts to deliver to a webhook, newest first', {
      querystring,
      answer: page(schema.LogEntry),
    }),
    async (request, reply) =>
      sendWhole(reply, await listWebhookLogs(ctx, ownerOf(request), request.params.webhookId, request.query)),
  )
}
