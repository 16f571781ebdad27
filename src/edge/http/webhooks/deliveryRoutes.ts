import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { listDeliveries, readDelivery, redeliver } from '../../../commands/webhooks/deliveries.ts'
import { redeliverMany } from '../../../commands/webhooks/redeliverMany.ts'
import { noWebhook } from '../../../commands/webhooks/webhooks.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { saidAsData } from '../../../core/notices.ts'
import { DELIVERY_STATES, RedeliverMany, REDELIVERIES_MAX } from '../../../core/webhooks/deliveryQuery.ts'
import { HOOK_TYPES } from '../../../core/webhooks/kinds.ts'
import { accountOf, actorOf } from '../auth.ts'
import { pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { nothingThere, readPathId } from '../pathId.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure } from '../problem.ts'
import { type ByWebhookId, withWebhookId } from './webhookId.ts'

type Listed = { Querystring: Record<string, unknown> }
type DeliveryById = { Params: { webhookId: string; deliveryId: string } }

const TAG = 'webhooks'
const PATH = '/api/webhooks/:webhookId/deliveries'

/** What was sent to a webhook, and sending it again. */
export function deliveryRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, sign: Mac): void {
  list(app, ctx, sign)
  app.get<DeliveryById>(
    `${PATH}/:deliveryId`,
    document(TAG, 'A delivery with the bytes that were sent', {
      operationId: 'readWebhookDelivery',
      data: DeliveryWithBytes,
    }),
    (request, reply) =>
      withWebhookId(request, reply, (id) => readDelivery(ctx, accountOf(request), id, request.params.deliveryId)),
  )
  app.post<DeliveryById>(
    `${PATH}/:deliveryId/redeliver`,
    document(TAG, 'Send an event again: the same bytes under the same webhook-id', {
      operationId: 'redeliverWebhookEvent',
      data: DeliveryRecord,
    }),
    (request, reply) =>
      withWebhookId(request, reply, (id) => redeliver(ctx, actorOf(request, peerOf), id, request.params.deliveryId)),
  )
  app.post<ByWebhookId>(
    `${PATH}/redeliver`,
    document(TAG, `Send again what did not arrive, oldest first, at most ${REDELIVERIES_MAX} deliveries`, {
      operationId: 'redeliverWebhookEvents',
      body: RedeliverMany,
      data: RedeliveredMany,
    }),
    (request, reply) =>
      withWebhookId(request, reply, (id) => redeliverMany(ctx, actorOf(request, peerOf), id, request.body)),
  )
}

function list(app: FastifyInstance, ctx: Context, sign: Mac): void {
  app.get<ByWebhookId & Listed>(
    PATH,
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
}

const date = () => Type.Optional(Type.String({ format: 'date-time' }))

const delivery = {
  id: Type.String(),
  eventId: Type.String({ description: 'What the receiver sees as `webhook-id`; the same in a redelivery.' }),
  type: Type.String(),
  event: Type.String(),
  subject: Type.Optional(Type.String({ description: 'What filters are matched against.' })),
  state: Type.Enum([...DELIVERY_STATES]),
  createdOn: Type.String({ format: 'date-time' }),
  startedOn: date(),
  endedOn: date(),
  statusCode: Type.Optional(Type.Integer()),
  durationMs: Type.Optional(Type.Integer()),
  answer: Type.Optional(
    Type.String({ description: 'The beginning of what the receiver answered, without the path of the webhook.' }),
  ),
  error: Type.Optional(Type.String({ description: 'Why it has not arrived, for people.' })),
  errorSentences: Type.Optional(saidAsData()),
  redeliveryOf: Type.Optional(Type.String({ description: 'The delivery that a person sent again.' })),
}

/** A row of the log of a webhook. */
export const DeliveryRecord = Type.Object(delivery)

const DeliveryWithBytes = Type.Object({
  ...delivery,
  sent: Type.Optional(
    Type.Object(
      {
        contentType: Type.String(),
        headers: Type.Record(Type.String(), Type.String(), {
          description: 'Headers that belong to the body, such as those of a thumbnail.',
        }),
        encoding: Type.Enum(['utf8', 'base64']),
        body: Type.String({ description: 'Text of an event, or the image of a thumbnail in base64.' }),
        bytes: Type.Integer({ description: 'Length of the body as it was sent.' }),
      },
      { description: 'The request, but for its signature. Absent: nothing was sent yet.' },
    ),
  ),
})

const RedeliveredMany = Type.Object({
  redelivered: Type.Integer({ description: 'How many deliveries are sent again.' }),
  hasMore: Type.Boolean({ description: 'true: repeat the request for the rest.' }),
})

const DeliveryQuery = Type.Object({
  state: Type.Optional(Type.Enum([...DELIVERY_STATES])),
  type: Type.Optional(Type.Enum([...HOOK_TYPES])),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Only events from this time on.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const DeliveryAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(DeliveryRecord),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
