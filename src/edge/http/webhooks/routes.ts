import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  noWebhook,
  readWebhook,
  updateWebhook,
} from '../../../commands/webhooks/webhooks.ts'
import { listDeliveries, redeliver } from '../../../commands/webhooks/deliveries.ts'
import { testWebhooks } from '../../../commands/webhooks/testWebhook.ts'
import type { Failure } from '../../../core/errors.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { TEST_TYPES } from '../../../core/webhooks/examples.ts'
import { withoutUrlKeys } from '../../../core/webhooks/rules.ts'
import { WebhookListQuery, WebhookTest } from '../../../core/webhooks/requests.ts'
import * as schema from '../../../core/webhooks/schema.ts'
import { accountOf, actorOf, seesSecrets } from '../auth.ts'
import { document } from '../openapi.ts'
import { nothingThere, readPathId, withPathId } from '../pathId.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'

type ById = { Params: { webhookId: string } }
type Listed = { Querystring: Record<string, unknown> }

const TAG = 'webhooks'

/** Everything under `/api/webhooks`. */
export function webhookRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, sign: Mac): void {
  lifecycleRoutes(app, ctx, peerOf)
  list(app, ctx)
  test(app, ctx, peerOf)
  deliveries(app, ctx, peerOf, sign)
}

function lifecycleRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const { CreateWebhook, UpdateWebhook, WebhookRecord: data } = schema
  app.post(
    '/api/webhooks',
    document(TAG, 'Create a webhook', { operationId: 'createWebhook', body: CreateWebhook, data }),
    async (request, reply) => sendResult(reply, await createWebhook(ctx, actorOf(request, peerOf), request.body)),
  )
  const path = '/api/webhooks/:webhookId'
  app.get<ById>(path, document(TAG, 'Read a webhook', { operationId: 'readWebhook', data }), (request, reply) =>
    withId(request, reply, async (id) => {
      const read = await readWebhook(ctx, accountOf(request), id)
      return read.ok ? ok(shownTo(request, read.value)) : read
    }),
  )
  app.put<ById>(
    path,
    document(TAG, 'Edit a webhook', { operationId: 'updateWebhook', body: UpdateWebhook, data }),
    (request, reply) => withId(request, reply, (id) => updateWebhook(ctx, actorOf(request, peerOf), id, request.body)),
  )
  app.delete<ById>(
    path,
    document(TAG, 'Delete a webhook', { operationId: 'deleteWebhook', data: Type.Boolean() }),
    (request, reply) => withId(request, reply, (id) => deleteWebhook(ctx, actorOf(request, peerOf), id)),
  )
}

function list(app: FastifyInstance, ctx: Context): void {
  app.get<Listed>(
    '/api/webhooks/list',
    document(TAG, 'List webhooks in the order in which they were made', {
      operationId: 'listWebhooks',
      querystring: WebhookListQuery,
      data: Type.Array(schema.WebhookRecord),
    }),
    async (request, reply) => {
      const listed = await listWebhooks(ctx, accountOf(request), request.query)
      return sendResult(reply, listed.ok ? ok(listed.value.map((record) => shownTo(request, record))) : listed)
    },
  )
}

const shownTo = (request: FastifyRequest, record: schema.WebhookRecord): schema.WebhookRecord =>
  seesSecrets(request) ? record : withoutUrlKeys(record)

function test(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const summary = `Send an example event to every webhook that wants its type: ${TEST_TYPES.join(', ')}`
  app.post<{ Params: { webhookType: string } }>(
    '/api/webhooks/test/:webhookType',
    document(TAG, summary, { operationId: 'testWebhooks', body: WebhookTest, data: Type.Boolean() }),
    async (request, reply) => {
      const { webhookType } = request.params
      return sendResult(reply, await testWebhooks(ctx, actorOf(request, peerOf), webhookType, request.body))
    },
  )
}

function deliveries(app: FastifyInstance, ctx: Context, peerOf: PeerOf, sign: Mac): void {
  const path = '/api/webhooks/:webhookId/deliveries'
  app.get<ById & Listed>(
    path,
    document(TAG, 'What was sent to a webhook, newest first', {
      operationId: 'listWebhookDeliveries',
      querystring: DeliveryQuery,
      answer: DeliveryAnswer,
    }),
    async (request, reply) => {
      const id = readPathId(request.params.webhookId)
      if (id === undefined) return nothingThere(reply)
      if (id === null) return sendFailure(reply, noWebhook(request.params.webhookId))
      const page = await listDeliveries(ctx, sign, accountOf(request), id, request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
  app.post<{ Params: { webhookId: string; deliveryId: string } }>(
    `${path}/:deliveryId/redeliver`,
    document(TAG, 'Send an event again: the same bytes under the same webhook-id', {
      operationId: 'redeliverWebhookEvent',
      data: Delivery,
    }),
    (request, reply) =>
      withId(request, reply, (id) => redeliver(ctx, actorOf(request, peerOf), id, request.params.deliveryId)),
  )
}

const date = () => Type.Optional(Type.String({ format: 'date-time' }))

const Delivery = Type.Object({
  id: Type.String(),
  eventId: Type.String({ description: 'What the receiver sees as `webhook-id`; the same in a redelivery.' }),
  type: Type.String(),
  event: Type.String(),
  subject: Type.Optional(Type.String({ description: 'What filters are matched against.' })),
  state: Type.Enum(['pending', 'started', 'delivered', 'failed', 'skipped', 'unknown']),
  createdOn: Type.String({ format: 'date-time' }),
  startedOn: date(),
  endedOn: date(),
  statusCode: Type.Optional(Type.Integer()),
  durationMs: Type.Optional(Type.Integer()),
  answer: Type.Optional(Type.String({ description: 'The beginning of what the receiver answered.' })),
  error: Type.Optional(Type.String()),
  redeliveryOf: Type.Optional(Type.String({ description: 'The delivery that a person sent again.' })),
})

const DeliveryQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ description: 'From the page before.' })),
})

const DeliveryAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(Delivery),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})

const withId = <T>(
  { params }: FastifyRequest<ById>,
  reply: FastifyReply,
  command: (id: number) => Promise<Result<T, Failure>>,
): Promise<FastifyReply> => withPathId(reply, params.webhookId, noWebhook, command)
