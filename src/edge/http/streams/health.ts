import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { readStreamHealth } from '../../../commands/streams/streamsOnAir.ts'
import { PROTOCOLS } from '../../../core/access/protocols.ts'
import { FindingsSchema } from '../../../core/streams/findingsSchema.ts'
import { HISTORY_FIGURES } from '../../../core/streams/history.ts'
import { STREAM_HEALTH } from '../../../core/streams/health.ts'
import { SOURCE_FIGURES, SOURCE_TEXTS } from '../../../core/streams/source.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendFailure } from '../problem.ts'

export const HealthSchema = Type.Enum([...STREAM_HEALTH], {
  description:
    '`stalled`: no media for five seconds. `uneven`: the bitrate varies by more than a quarter of its mean over five ' +
    'minutes, so a constant bitrate is not set, or the network does not hold it. `impaired`: it has `findings`.',
})

const described = <K extends string, T>(all: Readonly<Record<K, string>>, make: (description: string) => T) =>
  Object.fromEntries(Object.entries<string>(all).map(([name, text]) => [name, make(text)])) as Record<K, T>

export const SourceSchema = Type.Object(
  {
    ...described(SOURCE_FIGURES, (description) => Type.Optional(Type.Number({ description }))),
    ...described(SOURCE_TEXTS, (description) => Type.Optional(Type.String({ description }))),
  },
  { description: 'What is measured of the media where it comes in. Absent: not known, or not part of it.' },
)

const FeedHealthSchema = Type.Object({
  feedId: Type.String({ format: 'uuid' }),
  sourceId: Type.Optional(Type.String()),
  protocol: Type.Enum([...PROTOCOLS]),
  node: Type.String(),
  startedOn: Type.String({ format: 'date-time' }),
  health: HealthSchema,
  bitrateIn: Type.Optional(Type.Integer({ description: 'Bits per second, over the last seconds.' })),
  frameRate: Type.Optional(Type.Integer({ description: 'Frames per second that come, over the last seconds.' })),
  findings: FindingsSchema,
  source: SourceSchema,
})

const HealthQuery = Type.Object({
  history: Type.Optional(Type.Boolean({ default: true, description: '`false`: without it, at less cost.' })),
  from: Type.Optional(
    Type.String({ description: 'Of `history`: an ISO 8601 time; default: an hour before `until`, at most a day.' }),
  ),
  until: Type.Optional(Type.String({ description: 'Of `history`: an ISO 8601 time; default: now.' })),
})

const HistorySchema = Type.Object(
  {
    slotSeconds: Type.Integer({
      description: 'The length of the slot that a point is of: 10 in an hour, 240 in a day.',
    }),
    sources: Type.Array(
      Type.Object({
        sourceId: Type.Optional(Type.String()),
        points: Type.Array(
          Type.Object({
            at: Type.String({ format: 'date-time', description: 'The beginning of the slot.' }),
            ...described(HISTORY_FIGURES, (description) => Type.Optional(Type.Number({ description }))),
          }),
          { description: 'The oldest first. A slot without media has none.' },
        ),
      }),
    ),
  },
  { description: 'How the media came in, by source. At most 3,600 points; beyond them the newest.' },
)

const HealthAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Object({
    streamName: Type.String(),
    feeds: Type.Array(FeedHealthSchema, { description: 'One for each publisher on the air, the oldest first.' }),
    history: Type.Optional(HistorySchema),
  }),
})

/** How the media of a stream comes in. */
export function streamHealthRoute(app: FastifyInstance, ctx: Context): void {
  app.get<{ Params: { streamName: string }; Querystring: Record<string, unknown> }>(
    '/api/streams/:streamName/health',
    document('streams', 'How the media of a stream comes in, what is wrong with it, and how it came in the last hour', {
      operationId: 'readStreamHealth',
      querystring: HealthQuery,
      answer: HealthAnswer,
    }),
    async (request, reply) => {
      const found = await readStreamHealth(ctx, accountOf(request), request.params.streamName, request.query)
      return found.ok ? reply.send({ status: 'success', data: found.value }) : sendFailure(reply, found.error)
    },
  )
}
