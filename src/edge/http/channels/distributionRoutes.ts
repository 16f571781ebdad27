import type { FastifyInstance } from 'fastify'
import {
  createDistribution,
  deleteDistribution,
  listDistributions,
  readDistribution,
  updateDistribution,
} from '../../../commands/channels/distributions.ts'
import { createKey, deleteKey, deleteKeys, listKeys, readKey } from '../../../commands/channels/keys.ts'
import { signViewerToken } from '../../../commands/channels/signViewerToken.ts'
import {
  CreateDistribution,
  CreateKey,
  DistributionRecord,
  KeyRecord,
  SignedViewerToken,
  SignViewerToken,
  UpdateDistribution,
} from '../../../core/channels/distributionSchema.ts'
import { one } from '../../../core/channels/fields.ts'
import { accountOf } from '../auth.ts'
import type { ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData, sendWarned } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

type ById = { Params: { distributionId: string } }
type KeyById = { Params: { distributionId: string; keyId: string } }

const TAG = 'distributions'

/** Distributions and their keys. */
export function distributionRoutes(app: FastifyInstance, api: ChannelsApi): void {
  distributions(app, api)
  keys(app, api)
}

function distributions(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/channels/:channelId/distributions',
    record: DistributionRecord,
    list: {
      operationId: 'listDistributions',
      summary: 'List the distributions of a channel by name',
      command: ({ reader, id, query }) => listDistributions(ctx, reader.accountId, id, query),
    },
    create: {
      operationId: 'createDistribution',
      summary: 'Create a distribution',
      body: CreateDistribution,
      command: ({ actor, id, body }) => createDistribution(ctx, actor, id, body),
    },
  })
  itemRoutes(app, api, {
    tag: TAG,
    path: '/distributions/:distributionId',
    record: DistributionRecord,
    read: {
      operationId: 'readDistribution',
      summary: 'Read a distribution',
      command: ({ reader, id }) => readDistribution(ctx, reader.accountId, id),
    },
    update: {
      operationId: 'updateDistribution',
      summary: 'Edit a distribution; it counts at once',
      body: UpdateDistribution,
      command: ({ actor, id, body }) => updateDistribution(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteDistribution',
      summary: 'Delete a distribution',
      command: ({ actor, id }) => deleteDistribution(ctx, actor, id),
    },
  })
}

function keys(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx, actorOf } = api
  const path = '/distributions/:distributionId/security/keys'
  collectionRoutes(app, api, {
    tag: TAG,
    path,
    record: KeyRecord,
    list: {
      operationId: 'listDistributionKeys',
      summary: 'List the keys, newest first, without their values',
      command: ({ reader, id, query }) => listKeys(ctx, reader.accountId, id, query),
    },
    create: {
      operationId: 'createDistributionKey',
      summary: 'Add a key; with one, viewers need a token',
      body: CreateKey,
      command: ({ actor, id, body }) => createKey(ctx, actor, id, body),
    },
  })
  app.delete<ById>(
    path,
    describe(TAG, 'Delete all keys; then viewers need no token', {
      operationId: 'deleteDistributionKeys',
      warns: 'Every client can watch now.',
    }),
    async (request, reply) => sendWarned(reply, await deleteKeys(ctx, actorOf(request), request.params.distributionId)),
  )
  app.get<KeyById>(
    `${path}/:keyId`,
    describe(TAG, 'Read a key, without its value', { operationId: 'readDistributionKey', answer: one(KeyRecord) }),
    async (request, reply) => {
      const { distributionId, keyId } = request.params
      return sendData(reply, await readKey(ctx, accountOf(request), distributionId, keyId))
    },
  )
  const deleteOne = 'Delete a key; after the last one no viewer is admitted until you add another'
  app.delete<KeyById>(
    `${path}/:keyId`,
    describe(TAG, deleteOne, {
      operationId: 'deleteDistributionKey',
      warns: 'It was the last key: no viewer is admitted.',
    }),
    async (request, reply) => {
      const { distributionId, keyId } = request.params
      return sendWarned(reply, await deleteKey(ctx, actorOf(request), distributionId, keyId))
    },
  )
  app.post<KeyById>(
    `${path}/:keyId/sign`,
    describe(TAG, 'Sign a viewer token with a key that is a shared secret', {
      operationId: 'signViewerToken',
      body: SignViewerToken,
      answer: one(SignedViewerToken),
    }),
    async (request, reply) =>
      sendData(reply, await signViewerToken(ctx, actorOf(request), request.params, request.body)),
  )
}
