import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { checkAccess } from '../../../commands/access/checkAccess.ts'
import { listAccessLog } from '../../../commands/access/accessLog.ts'
import type { Context } from '../../../commands/context.ts'
import { LOGGED_CODES } from '../../../core/access/logQuery.ts'
import { REFUSALS } from '../../../core/access/refusals.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendFailure, sendResult } from '../problem.ts'
import type { Mac } from '../../../core/pages/cursor.ts'

/** The dry run of the decision, and the record of decisions. */
export function accessRoutes(app: FastifyInstance, ctx: Context, sign: Mac): void {
  const tag = 'access'
  app.post(
    '/api/access/check',
    document(tag, 'What would this request get? Binds, counts and opens nothing', {
      operationId: 'checkAccess',
      body: CheckBody,
      data: CheckData,
    }),
    async (request, reply) => {
      const answer = await checkAccess(ctx, accountOf(request), request.body)
      return sendResult(reply, answer)
    },
  )
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/access/log',
    document(tag, 'Recorded decisions, newest first', {
      operationId: 'listAccessLog',
      querystring: LogQuery,
      answer: LogAnswer,
    }),
    async (request, reply) => {
      const page = await listAccessLog(ctx, sign, accountOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
}

const CODES = ['allowed', ...Object.keys(REFUSALS)]

const CheckBody = Type.Object(
  {
    action: Type.Enum(['publish', 'view']),
    protocol: Type.Enum(['whip', 'rtmp', 'whep', 'hls'], { description: 'whip and rtmp publish; whep and hls view.' }),
    streamName: Type.String({ minLength: 1, maxLength: 128 }),
    ip: Type.String({ description: 'The peer address, IPv4 or IPv6.', examples: ['192.0.2.7'] }),
    accountId: Type.Optional(Type.String({ description: 'Your account; another one is a 404.' })),
    token: Type.Optional(
      Type.String({ description: 'A token value or a self-signed token; absent: none is presented.' }),
    ),
    origin: Type.Optional(Type.String({ examples: ['https://www.example.com'] })),
    country: Type.Optional(Type.String({ description: 'ISO 3166-1 alpha-2, instead of a look-up.', examples: ['NZ'] })),
    at: Type.Optional(Type.String({ format: 'date-time', description: 'Decide as of this time; default now.' })),
  },
  { additionalProperties: false },
)

const CheckData = Type.Object({
  allowed: Type.Boolean(),
  code: Type.Enum(CODES),
  message: Type.String({ description: 'The text that the client would get.' }),
  live: Type.Boolean({ description: 'Is the stream being published now? Does not change `allowed`.' }),
  trace: Type.Array(
    Type.Object({
      check: Type.String(),
      outcome: Type.Enum(['pass', 'fail', 'skip']),
      detail: Type.String(),
    }),
  ),
})

const LogQuery = Type.Object({
  tokenId: Type.Optional(Type.Integer()),
  streamName: Type.Optional(Type.String()),
  address: Type.Optional(Type.String()),
  code: Type.Optional(Type.Enum([...LOGGED_CODES])),
  allowed: Type.Optional(Type.Boolean()),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ description: 'From the page before; keep the other parameters.' })),
})

const LogAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      at: Type.String({ format: 'date-time', description: 'Of the first.' }),
      source: Type.Enum(['live', 'check']),
      action: Type.Enum(['publish', 'view']),
      protocol: Type.Enum(['whip', 'rtmp', 'whep', 'hls']),
      streamName: Type.String(),
      tokenId: Type.Optional(Type.Integer()),
      jti: Type.Optional(Type.String()),
      address: Type.String(),
      origin: Type.Optional(Type.String()),
      country: Type.Optional(Type.String()),
      allowed: Type.Boolean(),
      code: Type.Optional(Type.String()),
      message: Type.String(),
      count: Type.Integer({
        description: 'How many times: a refusal that comes again within a minute is counted here.',
      }),
      lastAt: Type.String({ format: 'date-time', description: 'Of the last.' }),
    }),
  ),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
