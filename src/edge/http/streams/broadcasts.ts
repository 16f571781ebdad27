import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { listBroadcasts, listEndedStreams } from '../../../commands/streams/broadcasts.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { parametersOf } from '../../../core/pages/parameters.ts'
import { SESSION_END_REASONS } from '../../../core/sessions/endReason.ts'
import { PROTOCOLS } from '../../../core/access/protocols.ts'
import { accountOf } from '../auth.ts'
import { count, pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sendFailure } from '../problem.ts'

const TAG = 'streams'

type Query = Record<string, unknown>

/** Broadcasts that are over. */
export function broadcastRoutes(app: FastifyInstance, ctx: Context, sign: Mac): void {
  const send = async (
    request: FastifyRequest,
    reply: FastifyReply,
    query: Query,
    list = listBroadcasts,
  ): Promise<FastifyReply> => {
    const page = await list(ctx, sign, accountOf(request), query)
    return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
  }
  app.get<{ Querystring: Query }>(
    '/api/streams/ended',
    document(TAG, 'Streams that are off the air, each with its last broadcast, the last to end first', {
      operationId: 'listEndedStreams',
      querystring: Type.Object({ search: Type.Optional(Type.String({ description: 'Part of the name.' })), ...PAGE }),
      answer: Answer,
    }),
    (request, reply) => send(request, reply, request.query, listEndedStreams),
  )
  app.get<{ Querystring: Query }>(
    '/api/broadcasts',
    document(TAG, 'Broadcasts that are over, the last to end first', {
      operationId: 'listBroadcasts',
      querystring: Type.Object({ streamName: Type.Optional(Type.String()), ...PAGE }),
      answer: Answer,
    }),
    (request, reply) => send(request, reply, request.query),
  )
  app.get<{ Params: { streamName: string }; Querystring: Query }>(
    '/api/streams/:streamName/broadcasts',
    document(TAG, 'Broadcasts of a stream that are over, the last to end first', {
      operationId: 'listBroadcastsOfStream',
      querystring: Type.Object(PAGE),
      answer: Answer,
    }),
    (request, reply) => {
      const page = parametersOf(request.query, ['limit', 'cursor'])
      return send(request, reply, { ...page, streamName: request.params.streamName })
    },
  )
}

const PAGE = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
}

const Answer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(
    Type.Object({
      feedId: Type.String({ description: 'Of one publisher of the stream, from its first media to its last.' }),
      streamName: Type.String(),
      streamId: Type.String({ description: '`accountId/streamName`' }),
      sourceId: Type.Optional(Type.String()),
      protocol: Type.Optional(Type.Enum([...PROTOCOLS])),
      tokenId: Type.Integer({ description: 'The publish token.' }),
      tokenLabel: Type.Optional(Type.String({ description: 'Absent: the token was deleted.' })),
      startedOn: Type.String({ format: 'date-time' }),
      endedOn: Type.String({ format: 'date-time' }),
      mostViewers: count('Viewers of the stream at once, at all nodes.'),
      bytesIn: Type.Optional(count('From the publisher.')),
      bytesOut: count('To viewers of the stream, at all nodes.'),
      endReason: Type.Optional(
        Type.Enum([...SESSION_END_REASONS], { description: 'Why the session of the publisher ended.' }),
      ),
    }),
  ),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
