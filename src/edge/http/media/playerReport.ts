import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { type ReportRefusal, takePlayerReport } from '../../../commands/sessions/playerReport.ts'
import { REPORT_MAX_BYTES } from '../../../core/quality/playerReport.ts'
import { type HttpRefusal, sendRefusal, UNKNOWN } from './refusal.ts'

const OFTEN_SECONDS = 15

const REFUSALS: Readonly<Record<Extract<ReportRefusal, string>, HttpRefusal>> = {
  off: { status: 403, text: 'Forbidden: analytics.playerReports is false' },
  unknown: UNKNOWN,
  often: { status: 429, text: 'Too many reports of this session', retryAfterSeconds: OFTEN_SECONDS },
}

type PathParams = Readonly<Record<string, string>>

/**
 * The route that takes reports of players. A page sends them as plain text, because then browsers ask no permission of the
 * server before, and send them even while the page is left.
 *
 * @param sessionOf the session whose ticket the address has; null: it has none
 */
export function reportRoute(
  app: FastifyInstance,
  ctx: Context,
  path: string,
  sessionOf: (params: PathParams, request: FastifyRequest, reply: FastifyReply) => string | null,
): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(['text/plain', 'application/json'], { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    scope.post(path, { bodyLimit: REPORT_MAX_BYTES }, (request, reply) => {
      const sessionId = sessionOf(request.params as PathParams, request, reply)
      reply.header('Cache-Control', 'no-store')
      if (sessionId === null) return sendRefusal(reply, UNKNOWN)
      const taken = takePlayerReport(ctx, sessionId, typeof request.body === 'string' ? request.body : '')
      return taken.ok ? reply.code(204).send() : refuse(reply, taken.error)
    })
  })
}

function refuse(reply: FastifyReply, refused: ReportRefusal): FastifyReply {
  return sendRefusal(
    reply,
    typeof refused === 'string' ? REFUSALS[refused] : { status: 400, text: `Bad request: ${refused.problem}` },
  )
}
