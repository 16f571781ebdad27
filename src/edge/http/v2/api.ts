import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { EncodingLoad } from '../../../commands/v2life/encodingLoad.ts'
import type { Measured } from '../../../commands/v2life/measured.ts'
import { refusal } from '../../../core/live/errors.ts'
import { refuseUndescribed } from '../body.ts'
import type { RequestLimits } from '../limits.ts'
import type { PeerOf } from '../peer.ts'
import { analyticsRoutes } from './analyticsRoutes.ts'
import { type ActorOf, actorWith, requireCredential } from './auth.ts'
import { channelRoutes } from './channelRoutes.ts'
import { distributionRoutes } from './distributionRoutes.ts'
import { engineRoutes } from './engineRoutes.ts'
import { ingestRoutes } from './ingestRoutes.ts'
import { ladderRoutes } from './ladderRoutes.ts'
import { lifeRoutes } from './lifeRoutes.ts'
import { monitoringRoutes } from './monitoringRoutes.ts'
import { collectLiveOpenApi, liveOpenApi } from './openapi.ts'
import { liveErrorHandler, sendLiveFailure } from './problem.ts'
import { schedulerRoutes } from './schedulerRoutes.ts'
import { unbuiltRoutes } from './unbuiltRoutes.ts'
import { liveWebhookRoutes } from './webhookRoutes.ts'

export interface LiveApiOptions {
  version: string
  peerOf: PeerOf
  limits: RequestLimits
  /** The methods of the routes that match a path. */
  methodsAt: (path: string) => readonly string[]
  measured: Measured
  /** Null: this process runs no engines. */
  load: EncodingLoad | null
}

/** What routes of the live interface are made with. */
export interface LiveApi {
  readonly ctx: Context
  readonly actorOf: ActorOf
  readonly measured: Measured
  readonly load: EncodingLoad | null
}

/** The live management interface, under `/v2`. */
export async function liveApi(app: FastifyInstance, ctx: Context, options: LiveApiOptions): Promise<void> {
  app.setErrorHandler(liveErrorHandler(ctx.sampled.refusals))
  app.setNotFoundHandler((request, reply) => answerUnknown(request, reply, options.methodsAt))
  await collectLiveOpenApi(app, options.version)
  app.get('/openapi.json', (_request, reply) => reply.send(liveOpenApi(app)))
  const { measured, load } = options
  const api: LiveApi = { ctx, actorOf: actorWith(options.peerOf), measured, load }
  await app.register(async (managed) => {
    managed.addHook('onRequest', requireCredential(ctx, options.limits))
    managed.addHook('preHandler', refuseUndescribed)
    channelRoutes(managed, api)
    ingestRoutes(managed, api)
    engineRoutes(managed, api)
    distributionRoutes(managed, api)
    ladderRoutes(managed, api)
    lifeRoutes(managed, api)
    monitoringRoutes(managed, api)
    liveWebhookRoutes(managed, api)
    schedulerRoutes(managed, api)
    analyticsRoutes(managed, api)
    unbuiltRoutes(managed)
  })
}

/** 405 with `Allow` when something is at this path, else 404. */
function answerUnknown(
  request: FastifyRequest,
  reply: FastifyReply,
  methodsAt: LiveApiOptions['methodsAt'],
): FastifyReply {
  const path = request.url.split('?', 1)[0] ?? '/'
  const methods = methodsAt(path)
  if (methods.length === 0) return sendLiveFailure(reply, refusal('not_found', `Nothing is at ${path.slice(0, 128)}`))
  const allow = methods.join(', ')
  reply.header('Allow', allow)
  return sendLiveFailure(
    reply,
    refusal('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}`),
  )
}
