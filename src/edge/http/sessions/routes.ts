import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  kickSession,
  listSessions,
  reprioritize,
  stopAllStreams,
  stopStream,
} from '../../../commands/sessions/sessions.ts'
import type { Context } from '../../../commands/context.ts'
import { ok } from '../../../base/result.ts'
import { PROTOCOLS } from '../../../core/access/protocols.ts'
import { ACTIONS } from '../../../core/sessions/sessionQuery.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { accountOf, actorOf } from '../auth.ts'
import { pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { viewerQualityFields } from '../usage/qualityData.ts'

const TAG = 'sessions'

/** Lists sessions, and ends them. */
export function sessionRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, sign: Mac): void {
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/sessions',
    document(TAG, 'Who publishes and views now, newest first', {
      operationId: 'listSessions',
      querystring: SessionQuery,
      answer: SessionAnswer,
    }),
    async (request, reply) => {
      const page = await listSessions(ctx, sign, accountOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
  app.delete<{ Params: { sessionId: string } }>(
    '/api/sessions/:sessionId',
    document(TAG, 'End a session, on whatever node it is', { operationId: 'endSession', data: Type.Boolean() }),
    async (request, reply) =>
      sendResult(reply, await kickSession(ctx, actorOf(request, peerOf), request.params.sessionId)),
  )
  app.post(
    '/api/stream/stop',
    document(TAG, 'End all sessions of a stream', {
      operationId: 'stopStream',
      body: StopBody,
      data: StopData,
    }),
    async (request, reply) => sendResult(reply, await stopStream(ctx, actorOf(request, peerOf), request.body)),
  )
  app.post(
    '/api/stream/stop/all',
    document(TAG, 'End all sessions of the account', {
      operationId: 'stopAllStreams',
      data: StopData,
    }),
    async (request, reply) => sendResult(reply, await stopAllStreams(ctx, actorOf(request, peerOf))),
  )
  app.post(
    '/api/stream/reprioritize',
    document(TAG, 'Give the publishers of a token another priority', {
      operationId: 'reprioritizeStream',
      body: ReprioritizeBody,
      data: StopData,
    }),
    async (request, reply) => sendResult(reply, await reprioritize(ctx, actorOf(request, peerOf), request.body)),
  )
  app.get(
    '/api/v3/account/info',
    document(TAG, 'Whose API secret this is', { operationId: 'readAccountInfo', data: AccountInfo }),
    async (request, reply) => sendResult(reply, ok({ accountId: accountOf(request) })),
  )
}

const AccountInfo = Type.Object({
  accountId: Type.String({ description: 'The account, as it stands in front of stream names.', examples: ['a1b2c3'] }),
})

const StopBody = Type.Object(
  { streamId: Type.String({ description: '`accountId/streamName`', examples: ['a1b2c3/show'] }) },
  { additionalProperties: false },
)

const ReprioritizeBody = Type.Object(
  {
    tokenId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'A publish token.' }),
    updatePriority: Type.Union([Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 }), Type.Null()], {
      description: 'The highest is shown; null is the lowest. Its publishers are disconnected, and come back with it.',
    }),
  },
  { additionalProperties: false },
)

const StopData = Type.Object({
  stoppingLevel: Type.Enum(['Account', 'Stream', 'Token', 'None'], {
    description: '`None`: there was no session to end.',
  }),
})

const SessionQuery = Type.Object({
  tokenId: Type.Optional(Type.Integer({ description: 'The parent, for self-signed tokens.' })),
  streamName: Type.Optional(Type.String()),
  protocol: Type.Optional(Type.Enum([...PROTOCOLS])),
  action: Type.Optional(Type.Enum([...ACTIONS])),
  address: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const optional = () => Type.Optional(Type.String())

const SessionAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      action: Type.Enum([...ACTIONS]),
      protocol: Type.Enum([...PROTOCOLS]),
      streamName: Type.String(),
      streamId: Type.String({ description: '`accountId/streamName`' }),
      sourceId: optional(),
      layer: Type.Optional(
        Type.String({
          description: 'Of a publisher with `simulcastId`: what it sends of its source, as `encodingId`.',
        }),
      ),
      feedId: Type.Optional(Type.String({ format: 'uuid', description: 'Of a publisher on the air.' })),
      shown: Type.Optional(
        Type.Boolean({
          description: 'Of a publisher whose media has begun. false: a spare, which waits for the one on the air.',
        }),
      ),
      priority: Type.Optional(
        Type.Integer({ description: 'Of a publisher among those of its source; absent: the lowest.' }),
      ),
      tokenId: Type.Optional(Type.Integer({ description: 'Absent for anonymous viewers of open streams.' })),
      jti: optional(),
      trackingId: optional(),
      address: Type.String(),
      origin: optional(),
      country: optional(),
      startedOn: Type.String({ format: 'date-time' }),
      bytesIn: Type.Integer({
        description:
          'Received from it. Sessions of other nodes: as of a few seconds ago, viewers of a busy node as of up to a minute ago.',
      }),
      bytesOut: Type.Integer({ description: 'Handed to its socket, and sent to it by caches.' }),
      bytesFromCaches: Type.Optional(
        Type.Integer({ description: 'The part of `bytesOut` that caches sent, from their logs; absent if none.' }),
      ),
      quality: Type.Optional(
        Type.Object(viewerQualityFields, { description: 'How well it played. Absent: its player did not report.' }),
      ),
    }),
  ),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
