import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { listTargetEvents } from '../../../commands/restream/targetEvents.ts'
import { saidAsData } from '../../../core/notices.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { TARGET_STATUSES } from '../../../core/restream/state.ts'
import { accountOf } from '../auth.ts'
import { pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sendFailure } from '../problem.ts'

/** What became of the targets of a stream. */
export function targetEventsRoute(app: FastifyInstance, ctx: Context, sign: Mac): void {
  app.get<{ Params: { streamName: string }; Querystring: Record<string, unknown> }>(
    '/api/streams/:streamName/restream-events',
    document('streams', 'What became of the targets of a stream, the newest first', {
      operationId: 'listRestreamEvents',
      querystring: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
        cursor: pageCursor,
      }),
      answer: Answer,
    }),
    async (request, reply) => {
      const query = { ...request.query, streamName: request.params.streamName }
      const page = await listTargetEvents(ctx, sign, accountOf(request), query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
}

const Answer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(
    Type.Object({
      id: Type.Integer(),
      feedId: Type.String({ description: 'The broadcast that was sent on.' }),
      index: Type.Integer({ minimum: 0, description: 'Place of the target in `restream` of the token, from 0.' }),
      label: Type.String(),
      url: Type.String(),
      status: Type.Enum([...TARGET_STATUSES], { description: 'The status that it got.' }),
      problem: Type.Optional(Type.String({ description: 'Why, for people.' })),
      problemSentences: Type.Optional(saidAsData()),
      at: Type.String({ format: 'date-time' }),
    }),
  ),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
