import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  createDistribution,
  deleteDistribution,
  listDistributions,
  readDistribution,
  updateDistribution,
} from '../../../commands/channels/distributions.ts'
import { createKey, deleteKey, deleteKeys, listKeys, readKey } from '../../../commands/channels/keys.ts'
import {
  CreateDistribution,
  CreateKey,
  DistributionRecord,
  KeyRecord,
  UpdateDistribution,
} from '../../../core/channels/distributionSchema.ts'
import { one, page, pageQuery } from '../../../core/channels/fields.ts'
import type { ChannelsApi } from './parts.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWarned, sendWhole } from './problem.ts'

type OfChannel = { Params: { channelId: string } }
type ById = { Params: { distributionId: string } }
type KeyById = { Params: { distributionId: string; keyId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'distributions'

/** Distributions and their keys. */
export function distributionRoutes(app: FastifyInstance, api: ChannelsApi): void {
  ofChannel(app, api)
  byId(app, api)
  keys(app, api)
}

function ofChannel(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  app.get<OfChannel & Asked>(
    '/channels/:channelId/distributions',
    describe(TAG, 'List the distributions of a channel by name', {
      querystring: Type.Object(pageQuery),
      answer: page(DistributionRecord),
    }),
    async (request, reply) =>
      sendWhole(reply, await listDistributions(ctx, ownerOf(request), request.params.channelId, request.query)),
  )
  app.post<OfChannel>(
    '/channels/:channelId/distributions',
    describe(TAG, 'Create a distribution', { body: CreateDistribution, answer: one(DistributionRecord) }),
    async (request, reply) =>
      sendData(reply, await createDistribution(ctx, actorOf(request), request.params.channelId, request.body)),
  )
}

function byId(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const path = '/distributions/:distributionId'
  const answer = one(DistributionRecord)
  app.get<ById>(path, describe(TAG, 'Read a distribution', { answer }), async (request, reply) =>
    sendData(reply, await readDistribution(ctx, ownerOf(request), request.params.distributionId)),
  )
  app.patch<ById>(
    path,
    describe(TAG, 'Edit a distribution; it counts at once', { body: UpdateDistribution, answer }),
    async (request, reply) =>
      sendData(reply, await updateDistribution(ctx, actorOf(request), request.params.distributionId, request.body)),
  )
  app.delete<ById>(path, describe(TAG, 'Delete a distribution', {}), async (request, reply) =>
    sendDone(reply, await deleteDistribution(ctx, actorOf(request), request.params.distributionId)),
  )
}

function keys(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const path = '/distributions/:distributionId/security/keys'
  app.get<ById & Asked>(
    path,
    describe(TAG, 'List the keys, newest first, without their values', {
      querystring: Type.Object(pageQuery),
      answer: page(KeyRecord),
    }),
    async (request, reply) =>
      sendWhole(reply, await listKeys(ctx, ownerOf(request), request.params.distributionId, request.query)),
  )
  app.post<ById>(
    path,
    describe(TAG, 'Add a key; with one, viewers need a token', { body: CreateKey, answer: one(KeyRecord) }),
    async (request, reply) =>
      sendData(reply, await createKey(ctx, actorOf(request), request.params.distributionId, request.body)),
  )
  app.delete<ById>(
    path,
    describe(TAG, 'Delete all keys; then viewers need no token', { warns: 'Everybody can watch now.' }),
    async (request, reply) => sendWarned(reply, await deleteKeys(ctx, actorOf(request), request.params.distributionId)),
  )
  app.get<KeyById>(
    `${path}/:keyId`,
    describe(TAG, 'Read a key, without its value', { answer: one(KeyRecord) }),
    async (request, reply) => {
      const { distributionId, keyId } = request.params
      return sendData(reply, await readKey(ctx, ownerOf(request), distributionId, keyId))
    },
  )
  const deleteOne = 'Delete a key; without the last one nobody can watch until there is another'
  app.delete<KeyById>(
    `${path}/:keyId`,
    describe(TAG, deleteOne, { warns: 'It was the last key: nobody can watch.' }),
    async (request, reply) => {
      const { distributionId, keyId } = request.params
      return sendWarned(reply, await deleteKey(ctx, actorOf(request), distributionId, keyId))
    },
  )
}
