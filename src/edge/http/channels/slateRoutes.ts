import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { deleteSlate, putSlate, readSlate } from '../../../commands/channels/slates.ts'
import { SlateRecord } from '../../../core/channels/channelSchema.ts'
import { refusal } from '../../../core/channels/errors.ts'
import { one } from '../../../core/channels/fields.ts'
import { SLATE_MAX_BYTES, SLATE_MEDIA_TYPES } from '../../../core/channels/slate.ts'
import { hasVersion } from '../conditional.ts'
import { readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import type { ChannelsApi } from './parts.ts'
import { sendChannelFailure, sendData, sendDone } from './problem.ts'

type ById = { Params: { channelId: string } }

const TAG = 'channels'
const PATH = '/channels/:channelId/slate'
const WRONG_TYPE = refusal('unsupported_media_type', `Send a file as ${SLATE_MEDIA_TYPES.join(', ')}`)

/** What viewers of a channel see while there is no broadcast. The only bodies of this interface that are no JSON. */
export function slateRoutes(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  void app.register(async (scope) => {
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: SLATE_MAX_BYTES }, (_request, body, done) =>
      done(null, body),
    )
    scope.put<ById>(
      PATH,
      {
        ...describe(TAG, 'Set the slate of a channel: the image or clip that shows while there is no broadcast', {
          operationId: 'setSlate',
          body: Type.String({ format: 'binary', description: `A file of at most ${SLATE_MAX_BYTES} bytes.` }),
          consumes: SLATE_MEDIA_TYPES,
          answer: one(SlateRecord),
        }),
        bodyLimit: SLATE_MAX_BYTES,
      },
      async (request, reply) => {
        const { body } = request
        const type = typeOf(request)
        if (!Buffer.isBuffer(body) || !SLATE_MEDIA_TYPES.some((known) => known === type))
          return sendChannelFailure(reply, WRONG_TYPE)
        return sendData(reply, await putSlate(ctx, actorOf(request), request.params.channelId, body, type))
      },
    )
  })
  app.get<ById>(
    PATH,
    describe(TAG, 'Read the slate of a channel: its file', {
      operationId: 'readSlate',
      answer: Type.Any({ description: `\`${SLATE_MEDIA_TYPES.join('`, `')}\`` }),
    }),
    async (request, reply) => {
      const found = await readSlate(ctx, readerOf(request).accountId, request.params.channelId)
      if (!found.ok) return sendChannelFailure(reply, found.error)
      const { facts, media } = found.value
      const etag = `"${facts.id}"`
      reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache', 'X-Content-Type-Options': 'nosniff' })
      if (hasVersion(request, etag)) return reply.code(304).send()
      return reply.type(facts.mediaType).send(Buffer.from(media.buffer, media.byteOffset, media.byteLength))
    },
  )
  app.delete<ById>(
    PATH,
    describe(TAG, 'Remove the slate of a channel', { operationId: 'deleteSlate' }),
    async (request, reply) => sendDone(reply, await deleteSlate(ctx, actorOf(request), request.params.channelId)),
  )
}

/** The media type of a request, without parameters. */
const typeOf = ({ headers }: FastifyRequest): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
