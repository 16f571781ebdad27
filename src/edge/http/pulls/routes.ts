import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { createPull, deletePull, listPulls, noPull, readPull, updatePull } from '../../../commands/pulls/pulls.ts'
import { CreatePull, PullRecord as data, UpdatePull } from '../../../core/pulls/schema.ts'
import { accountOf, actorOf, seesSecrets } from '../auth.ts'
import { document } from '../openapi.ts'
import { withPathId } from '../pathId.ts'
import type { PeerOf } from '../peer.ts'
import { sendResult } from '../problem.ts'

type ByPullId = { Params: { pullId: string } }

const TAG = 'pulls'

/** Everything under `/api/pulls`. */
export function pullRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  app.post(
    '/api/pulls',
    document(TAG, 'Create a pull', { operationId: 'createPull', body: CreatePull, data }),
    async (request, reply) => sendResult(reply, await createPull(ctx, actorOf(request, peerOf), request.body)),
  )
  app.get(
    '/api/pulls',
    document(TAG, 'List pulls in the order in which they were made', {
      operationId: 'listPulls',
      data: Type.Array(data),
    }),
    async (request, reply) => sendResult(reply, ok(await listPulls(ctx, accountOf(request), seesSecrets(request)))),
  )
  byId(app, ctx, peerOf)
}

function byId(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const path = '/api/pulls/:pullId'
  app.get<ByPullId>(path, document(TAG, 'Read a pull', { operationId: 'readPull', data }), (request, reply) =>
    withPathId(reply, request.params.pullId, noPull, (id) =>
      readPull(ctx, accountOf(request), id, seesSecrets(request)),
    ),
  )
  app.put<ByPullId>(
    path,
    document(TAG, 'Edit a pull, and dial its source again', { operationId: 'updatePull', body: UpdatePull, data }),
    (request, reply) =>
      withPathId(reply, request.params.pullId, noPull, (id) =>
        updatePull(ctx, actorOf(request, peerOf), id, request.body),
      ),
  )
  app.delete<ByPullId>(
    path,
    document(TAG, 'Delete a pull', { operationId: 'deletePull', data: Type.Boolean() }),
    (request, reply) =>
      withPathId(reply, request.params.pullId, noPull, (id) => deletePull(ctx, actorOf(request, peerOf), id)),
  )
}
