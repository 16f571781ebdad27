import type { FastifyInstance } from 'fastify'
import { createChannel, deleteChannel, listChannels, updateChannel } from '../../../commands/channels/channels.ts'
import { readChannelWith } from '../../../commands/channels/included.ts'
import * as schema from '../../../core/channels/channelSchema.ts'
import { one } from '../../../core/channels/fields.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { readerOf } from './auth.ts'
import { forwardedPrefix } from '../peer.ts'
import { describe } from './openapi.ts'
import { sendWhole } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

type ById = AnyQuery & { Params: { channelId: string } }

const TAG = 'channels'
const PATH = '/channels/:channelId'

/** Everything at `/channels` and `/channels/{id}`. */
export function channelRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/channels',
    record: schema.ChannelRecord,
    list: {
      operationId: 'listChannels',
      summary: 'List channels, newest first',
      query: schema.ChannelListQuery,
      command: ({ reader, query }) => listChannels(ctx, reader.accountId, query),
    },
    create: {
      operationId: 'createChannel',
      summary: 'Create a channel, with ingests, engines and distributions',
      body: schema.CreateChannel,
      answer: one(schema.CreatedChannel),
      command: ({ actor, body }) => createChannel(ctx, actor, body),
    },
  })
  app.get<ById>(
    PATH,
    describe(TAG, 'Read a channel', {
      operationId: 'readChannel',
      querystring: schema.ChannelQuery,
      answer: schema.ChannelWithIncluded,
    }),
    async (request, reply) => {
      const { channelId } = request.params
      const prefix = forwardedPrefix(ctx.isProxy, request)
      return sendWhole(reply, await readChannelWith(ctx, readerOf(request), channelId, request.query, prefix))
    },
  )
  itemRoutes(app, api, {
    tag: TAG,
    path: PATH,
    record: schema.ChannelRecord,
    update: {
      operationId: 'updateChannel',
      summary: 'Edit a channel',
      body: schema.UpdateChannel,
      command: ({ actor, id, body }) => updateChannel(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteChannel',
      summary: 'Delete a channel that does not run, with all that belongs to it',
      command: ({ actor, id }) => deleteChannel(ctx, actor, id),
    },
  })
}
