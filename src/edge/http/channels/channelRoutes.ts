import type { FastifyInstance } from 'fastify'
import { createChannel, deleteChannel, listChannels, updateChannel } from '../../../commands/channels/channels.ts'
import { readChannelWith } from '../../../commands/channels/included.ts'
import * as schema from '../../../core/channels/channelSchema.ts'
import { one, page } from '../../../core/channels/fields.ts'
import type { ChannelsApi } from './parts.ts'
import { ownerOf, readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type ById = { Params: { channelId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'channels'

/** Everything at `/channels` and `/channels/{id}`. */
export function channelRoutes(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const answer = one(schema.ChannelRecord)
  app.get<Asked>(
    '/channels',
    describe(TAG, 'List channels, newest first', {
      querystring: schema.ChannelListQuery,
      answer: page(schema.ChannelRecord),
    }),
    async (request, reply) => sendWhole(reply, await listChannels(ctx, ownerOf(request), request.query)),
  )
  app.post(
    '/channels',
    describe(TAG, 'Create a channel, with ingests, engines and distributions', {
      body: schema.CreateChannel,
      answer: one(schema.CreatedChannel),
    }),
    async (request, reply) => sendData(reply, await createChannel(ctx, actorOf(request), request.body)),
  )
  app.get<ById & Asked>(
    '/channels/:channelId',
    describe(TAG, 'Read a channel', { querystring: schema.ChannelQuery, answer: schema.ChannelWithIncluded }),
    async (request, reply) => {
      const { channelId } = request.params
      return sendWhole(reply, await readChannelWith(ctx, readerOf(request), channelId, request.query))
    },
  )
  app.patch<ById>(
    '/channels/:channelId',
    describe(TAG, 'Edit a channel', { body: schema.UpdateChannel, answer }),
    async (request, reply) =>
      sendData(reply, await updateChannel(ctx, actorOf(request), request.params.channelId, request.body)),
  )
  app.delete<ById>(
    '/channels/:channelId',
    describe(TAG, 'Delete a channel that does not run, with all that belongs to it', {}),
    async (request, reply) => sendDone(reply, await deleteChannel(ctx, actorOf(request), request.params.channelId)),
  )
}
