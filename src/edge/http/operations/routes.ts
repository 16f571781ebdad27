import type { KeyObject } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { inTime } from '../../../base/clock.ts'
import { constantTimeEqual } from '../../../base/crypto.ts'
import { isLoopback } from '../../../base/loopback.ts'
import type { Context } from '../../../commands/context.ts'
import { failure } from '../../../core/errors.ts'
import { bearer } from '../auth.ts'
import type { HttpConnections } from '../connections.ts'
import { isPassedOn, type PeerOf } from '../peer.ts'
import { healthReport, isFromDoctor } from './doctorRequests.ts'
import type { Metrics } from './metrics.ts'
import { publicReason, sendFailure } from '../problem.ts'
import { serveDocument } from '../staticFile.ts'

const READY_TIMEOUT_MS = 2000
const NO_STORE = 'the store cannot be reached'

export interface OperationOptions {
  readonly metricsSecret: () => string
  readonly doctorKey: KeyObject
  readonly peerOf: PeerOf
  readonly connections: Pick<HttpConnections, 'areEnding'>
}

/** For operators: liveness, readiness, metrics and capabilities. */
export function operationRoutes(
  app: FastifyInstance,
  ctx: Context,
  metrics: Metrics,
  { metricsSecret, doctorKey, peerOf, connections }: OperationOptions,
): void {
  app.get('/healthz', (request, reply) =>
    isFromDoctor(doctorKey, ctx.clock, request.raw)
      ? reply.header('Cache-Control', 'no-store').send(healthReport(peerOf, ctx.isProxy, request.raw))
      : reply.type('text/plain').send('ok\n'),
  )

  app.get('/readyz', async (_request, reply) => {
    if (connections.areEnding) return notReady(reply, 'this server stops')
    try {
      if ((await inTime(ctx.clock, READY_TIMEOUT_MS, ctx.store.ping())) === null) return await notReady(reply, NO_STORE)
      if (ctx.sessions.drain !== null) return await notReady(reply, 'this node drains')
      return await reply.type('text/plain').send('ready\n')
    } catch (error) {
      return notReady(reply, publicReason(error) ?? NO_STORE)
    }
  })

  app.get('/metrics', async (request, reply) => {
    if (!mayScrape(request, metricsSecret())) {
      const how = 'Metrics are for this machine, at localhost, or for holders of metrics.secret as a Bearer token'
      return sendFailure(reply, failure('unauthorized', `Unauthorized: ${how}`))
    }
    return reply.type(metrics.contentType).send(await metrics.render())
  })

  serveDocument(app, '/api/openapi.json', () => app.swagger())
}

/** What operators ask also while a server stops. */
const ASKED_TO_THE_END = new Set(['/healthz', '/readyz', '/metrics'])

/**
 * While clients leave a server that stops, its sessions and streams are gone already. A player that is told so with 404 gives up,
 * and the next server has them again.
 */
export function refuseWhenOver(app: FastifyInstance, isOver: () => boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isOver() || ASKED_TO_THE_END.has(request.routeOptions.url ?? '')) return done()
    void reply.code(503).header('Retry-After', '1').type('text/plain').send('The server stops: try again in a moment\n')
  })
}

const notReady = (reply: FastifyReply, why: string): FastifyReply =>
  reply.code(503).header('Retry-After', '1').type('text/plain').send(`not ready: ${why}\n`)

function mayScrape(request: FastifyRequest, secret: string): boolean {
  const presented = bearer(request.headers.authorization)
  if (secret !== '' && presented !== null) return constantTimeEqual(presented, secret)
  return isFromHere(request)
}

/** A page of another site can have its own name lead to this machine (DNS rebinding), but not one of these. */
const OWN_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Whether a program of this machine asks for itself. By the socket's own address; a proxy here passes on the host of its client, says
 * that it is one, or, as nginx does by itself, speaks HTTP/1.0.
 */
const isFromHere = ({ socket, headers, raw }: FastifyRequest): boolean =>
  isLoopback(socket.remoteAddress ?? '') &&
  OWN_HOST.test(headers.host ?? '') &&
  !isPassedOn(headers) &&
  raw.httpVersion !== '1.0'
