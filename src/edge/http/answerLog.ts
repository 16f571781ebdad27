import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../commands/context.ts'
import { HLS_CHECK, HLS_MEDIA } from './hls/parts.ts'
import type { Metrics } from './operations/metrics.ts'

/** Unique across restarts and nodes, and cheap: 64 random bits for the process, then a counter. */
export function requestIds(): () => string {
  const process = randomBytes(8).toString('base64url')
  let count = 0
  return () => `${process}-${(count++).toString(36)}`
}

/** Routes so frequent that one line per request would be most of the log. */
const QUIET: ReadonlySet<string> = new Set(['/api/access/check', HLS_CHECK, HLS_MEDIA])

/** The fields of a log line about an answer. */
interface Answered {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly accountId?: string
}

/** Every answer carries its request id and is counted. Except on the frequent routes, it leaves one log line. */
export function observe(app: FastifyInstance, log: (answered: Answered) => void, metrics: Metrics): void {
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    reply.header('X-Request-Id', request.id)
    done()
  })
  app.addHook('onResponse', (request: FastifyRequest, reply: FastifyReply, done) => {
    const { id: requestId, method } = request
    const { statusCode: status } = reply
    const route = request.routeOptions.url ?? 'none'
    const holder = request.secret ?? request.credential ?? request.user
    metrics.answered(method, route, status)
    const durationMs = Math.round(reply.elapsedTime * 10) / 10
    log({ requestId, method, route, status, durationMs, ...(holder ? { accountId: holder.accountId } : {}) })
    done()
  })
}

/** Asked every few seconds by whatever watches a server. An answer that is well says nothing. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** Samples answers to requests without a secret, because their number has no limit. Logs our own errors always. */
export function answerLog({ log, sampled }: Context): (answered: Answered) => void {
  const logOf = ({ status, accountId }: Answered) => {
    if (accountId !== undefined || (status >= 500 && status !== 503)) return log
    return status >= 400 ? sampled.refusals : sampled.answers
  }
  return (answered) => {
    if (QUIET.has(answered.route) && answered.status < 500) return
    if (PROBES.has(answered.route) && answered.status === 200) log.debug({ ...answered }, 'answered')
    else logOf(answered).info({ ...answered }, 'answered')
  }
}
