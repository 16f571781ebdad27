import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AuditReader, exportAudit, listAudit } from '../../../commands/audit/auditLog.ts'
import { accountOf, seesSecrets } from '../auth.ts'
import { pageCursor } from '../fieldSchemas.ts'
import { sendFailure } from '../problem.ts'
import { operation } from './openapi.ts'
import type { DashboardApi } from './parts.ts'

type Listed = { Querystring: Record<string, unknown> }

/** Who changed what. */
export function auditRoutes(app: FastifyInstance, { ctx }: DashboardApi): void {
  app.get<Listed>(
    '/audit',
    operation('listAudit', 'audit', 'Changes on record, newest first; with Accept: text/csv, as a file', {
      querystring: AuditQuery,
      answer: AuditAnswer,
    }),
    async (request, reply) => {
      if (request.headers.accept?.startsWith('text/csv') === true) return sendCsv(ctx, request, reply)
      const page = await listAudit(ctx, readerOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
}

async function sendCsv(
  ctx: DashboardApi['ctx'],
  request: FastifyRequest<Listed>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const made = await exportAudit(ctx, readerOf(request), request.query)
  if (!made.ok) return sendFailure(reply, made.error)
  const { csv, isCut } = made.value
  if (isCut) reply.header('X-Service-Warning', 'These are the newest rows only. Ask for older ones with until=.')
  reply.header('Content-Disposition', 'attachment; filename="audit.csv"')
  return reply.type('text/csv; charset=utf-8').send(csv)
}

const readerOf = (request: FastifyRequest): AuditReader => ({
  accountId: accountOf(request),
  seesChanges: seesSecrets(request),
})

const AuditQuery = Type.Object({
  actor: Type.Optional(
    Type.String({
      description: '`cli`, `provisioning`, `retention`, or a kind and an id.',
      examples: ['user:3', 'secret:1'],
    }),
  ),
  action: Type.Optional(Type.String({ examples: ['publish_token.create'] })),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const optional = () => Type.Optional(Type.String())

const change = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }))

const AuditAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(
    Type.Object({
      id: Type.Integer(),
      at: Type.String({ format: 'date-time' }),
      actor: Type.Object({
        kind: Type.Enum(['secret', 'credential', 'user', 'cli', 'provisioning', 'retention']),
        id: Type.Optional(Type.Integer()),
        name: Type.Optional(Type.String({ description: 'As it is now; absent for a deleted actor.' })),
      }),
      address: optional(),
      requestId: optional(),
      action: Type.String(),
      subject: Type.String({ description: 'The id of what was changed.' }),
      before: change('Fields before the change, without secrets; for admins only.'),
      after: change('Fields after the change, without secrets; for admins only.'),
    }),
  ),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
