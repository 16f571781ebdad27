import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
} from '../../../commands/webhooks/webhooks.ts'
import { testWebhook, testWebhooks } from '../../../commands/webhooks/testWebhook.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { TEST_TYPES } from '../../../core/webhooks/examples.ts'
import { withoutUrlKeys } from '../../../core/webhooks/rules.ts'
import { WebhookListQuery, WebhookTest } from '../../../core/webhooks/requests.ts'
import * as schema from '../../../core/webhooks/schema.ts'
import { accountOf, actorOf, seesSecrets } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendResult } from '../problem.ts'
import { DeliveryRecord, deliveryRoutes } from './deliveryRoutes.ts'
import { type ByWebhookId, withWebhookId } from './webhookId.ts'

type Listed = { Querystring: Record<string, unknown> }

const TAG = 'webhooks'

/** Everything under `/api/webhooks`. */
export function webhookRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, sign: Mac): void {
  lifecycleRoutes(app, ctx, peerOf)
  list(app, ctx)
  test(app, ctx, peerOf)
  testOne(app, ctx, peerOf)
  deliveryRoutes(app, ctx, peerOf, sign)
}

function lifecycleRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const { CreateWebhook, UpdateWebhook, WebhookRecord: data } = schema
  app.post(
    '/api/webhooks',
    document(TAG, 'Create a webhook', { operationId: 'createWebhook', body: CreateWebhook, data }),
    async (request, reply) => sendResult(reply, await createWebhook(ctx, actorOf(request, peerOf), request.body)),
  )
  const path = '/api/webhooks/:webhookId'
  app.get<ByWebhookId>(path, document(TAG, 'Read a webhook', { operationId: 'readWebhook', data }), (request, reply) =>
    withWebhookId(request, reply, async (id) => {
      const read = await readWebhook(ctx, accountOf(request), id)
      return read.ok ? ok(shownTo(request, read.value)) : read
    }),
  )
  app.put<ByWebhookId>(
    path,
    document(TAG, 'Edit a webhook', { operationId: 'updateWebhook', body: UpdateWebhook, data }),
    (request, reply) =>
      withWebhookId(request, reply, (id) => updateWebhook(ctx, actorOf(request, peerOf), id, request.body)),
  )
  app.delete<ByWebhookId>(
    path,
    document(TAG, 'Delete a webhook', { operationId: 'deleteWebhook', data: Type.Boolean() }),
    (request, reply) => withWebhookId(request, reply, (id) => deleteWebhook(ctx, actorOf(request, peerOf), id)),
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

function testOne(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  app.post<{ Params: { webhookId: string; webhookType: string } }>(
    '/api/webhooks/:webhookId/test/:webhookType',
    document(TAG, `Send an example event to this webhook alone: ${TEST_TYPES.join(', ')}`, {
      operationId: 'testWebhook',
      body: WebhookTest,
      data: DeliveryRecord,
    }),
    (request, reply) =>
      withWebhookId(request, reply, (id) =>
        testWebhook(ctx, actorOf(request, peerOf), id, request.params.webhookType, request.body),
      ),
  )
}
