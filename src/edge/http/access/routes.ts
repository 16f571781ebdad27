import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { checkAccess } from '../../../commands/access/checkAccess.ts'
import { listAccessLog, readAccessLogEntry, summarizeAccessLog } from '../../../commands/access/accessLog.ts'
import { changeDefaults } from '../../../commands/accounts/defaults.ts'
import type { Context } from '../../../commands/context.ts'
import { LogAdmissions } from '../../../core/accounts/requests.ts'
import { LOG_SOURCES, LOGGED_CODES } from '../../../core/access/logQuery.ts'
import { PROTOCOLS, PROTOCOLS_OF } from '../../../core/access/protocols.ts'
import { REFUSALS } from '../../../core/access/refusals.ts'
import type { AccountDefaults } from '../../../core/tokens/accountDefaults.ts'
import { accountOf, actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { pageCursor } from '../fieldSchemas.ts'

/** The dry run of the decision, and the record of decisions. */
export function accessRoutes(app: FastifyInstance, ctx: Context, sign: Mac, peerOf: PeerOf): void {
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
  app.get<{ Params: { decisionId: string } }>(
    '/api/access/log/:decisionId',
    document(tag, 'A recorded decision with its trace, as it was then', {
      operationId: 'readAccessLogEntry',
      data: LogEntryWithTrace,
    }),
    async (request, reply) =>
      sendResult(reply, await readAccessLogEntry(ctx, accountOf(request), request.params.decisionId)),
  )
  app.get(
    '/api/access/admissions',
    document(tag, 'Whether the access log gets admissions', { operationId: 'readLogAdmissions', data: AdmissionsData }),
    async (request, reply) =>
      sendResult(reply, ok(admissionsOf(ctx, await ctx.cache.accountDefaults(accountOf(request))))),
  )
  app.put(
    '/api/access/admissions',
    document(tag, 'Record admissions in the access log from now on, or no more', {
      operationId: 'updateLogAdmissions',
      body: LogAdmissions,
      data: AdmissionsData,
    }),
    async (request, reply) => {
      const changed = await changeDefaults(ctx, actorOf(request, peerOf), 'logAdmissions', request.body)
      return sendResult(reply, changed.ok ? ok(admissionsOf(ctx, changed.value)) : changed)
    },
  )
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/access/summary',
    document(tag, 'How many decisions were recorded, by code', {
      operationId: 'readAccessSummary',
      querystring: SummaryQuery,
      data: Summary,
    }),
    async (request, reply) => sendResult(reply, await summarizeAccessLog(ctx, accountOf(request), request.query)),
  )
}

const CODES = ['allowed', ...Object.keys(REFUSALS), 'viewer_limit', 'node_full']

const CheckBody = Type.Object(
  {
    action: Type.Enum(['publish', 'view']),
    protocol: Type.Enum([...PROTOCOLS], {
      description: `${PROTOCOLS_OF.publish.join(' and ')} publish; ${PROTOCOLS_OF.view.join(' and ')} view.`,
    }),
    streamName: Type.String({ minLength: 1, maxLength: 128 }),
    ip: Type.String({ description: 'The peer address, IPv4 or IPv6.', examples: ['192.0.2.7'] }),
    accountId: Type.Optional(Type.String({ description: 'Your account; another one is a 404.' })),
    token: Type.Optional(
      Type.String({ description: 'A token value or a self-signed token; absent: none is presented.' }),
    ),
    tokenId: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Instead of `token`: asks as if the value of this token were presented, without sending it.',
      }),
    ),
    origin: Type.Optional(Type.String({ examples: ['https://www.example.com'] })),
    country: Type.Optional(Type.String({ description: 'ISO 3166-1 alpha-2, instead of a look-up.', examples: ['NZ'] })),
    at: Type.Optional(Type.String({ format: 'date-time', description: 'Decide as of this time; default now.' })),
  },
  { additionalProperties: false },
)

const Trace = Type.Array(
  Type.Object({
    check: Type.String(),
    outcome: Type.Enum(['pass', 'fail', 'skip']),
    detail: Type.String(),
  }),
)

const CheckData = Type.Object({
  allowed: Type.Boolean(),
  code: Type.Enum(CODES),
  message: Type.String({ description: 'The text that the client would get.' }),
  live: Type.Boolean({ description: 'Is the stream being published now? Does not change `allowed`.' }),
  trace: Trace,
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
  cursor: pageCursor,
})

const logEntry = {
  id: Type.String(),
  at: Type.String({ format: 'date-time', description: 'Of the first.' }),
  source: Type.Enum([...LOG_SOURCES]),
  action: Type.Enum(['publish', 'view', 'preview'], { description: '`preview`: by a user, in the dashboard.' }),
  protocol: Type.Enum([...PROTOCOLS]),
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
}

const LogAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(Type.Object(logEntry)),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})

const LogEntryWithTrace = Type.Object({
  ...logEntry,
  trace: Type.Optional({
    ...Trace,
    description: 'Every check of the first decision. Absent: a limit refused before them.',
  }),
})

const AdmissionsData = Type.Object({
  isEnabled: Type.Boolean({ description: 'The account wants its admissions recorded.' }),
  rate: Type.Number({ description: 'Their share that is recorded without that, 0 to 1 (access.log.admissionRate).' }),
  rowsPerMinute: Type.Integer({ description: 'The most that are recorded (access.log.rowsPerMinute).' }),
})

function admissionsOf({ recorder }: Context, { logAdmissions }: AccountDefaults): Static<typeof AdmissionsData> {
  const { admissionRate: rate, rowsPerMinute } = recorder.limits
  return { isEnabled: logAdmissions, rate, rowsPerMinute }
}

const SummaryQuery = Type.Object({
  from: Type.Optional(
    Type.String({ format: 'date-time', description: 'Inclusive; default 24 hours before `until`, at most 31 days.' }),
  ),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive; default now.' })),
  source: Type.Optional(
    Type.Enum([...LOG_SOURCES], { description: 'Only real connections, or only dry runs; default both.' }),
  ),
})

const Summary = Type.Object({
  from: Type.String({ format: 'date-time' }),
  until: Type.String({ format: 'date-time' }),
  allowed: Type.Integer({ description: 'By default Sluice records refusals only; `/api/access/admissions` says so.' }),
  refused: Type.Integer(),
  codes: Type.Array(Type.Object({ code: Type.Enum([...LOGGED_CODES]), count: Type.Integer() }), {
    description: 'Refusals by code, the most first; repeats count.',
  }),
})
