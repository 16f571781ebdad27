import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { EncodingLoad } from '../../../services/encodingLoad.ts'
import type { Measured } from '../../../services/measured.ts'
import { asChannelFailure } from '../../../core/channels/errors.ts'
import { admitOnly } from '../auth.ts'
import { refuseUndescribed } from '../body.ts'
import type { RequestLimits } from '../limits.ts'
import type { RefuseUnknown } from '../methods.ts'
import type { PeerOf } from '../peer.ts'
import { serveDocument } from '../staticFile.ts'
import { channelUsageRoutes } from './analyticsRoutes.ts'
import { actorWith, requireCredential } from './auth.ts'
import { channelRoutes } from './channelRoutes.ts'
import { distributionRoutes } from './distributionRoutes.ts'
import { engineRoutes } from './engineRoutes.ts'
import { ingestRoutes } from './ingestRoutes.ts'
import { ladderRoutes } from './ladderRoutes.ts'
import type { ChannelsApi } from './parts.ts'
import { runRoutes } from './runRoutes.ts'
import { monitoringRoutes } from './monitoringRoutes.ts'
import { collectChannelsOpenApi, channelsOpenApi } from './openapi.ts'
import { channelErrorHandler, sendChannelFailure } from './problem.ts'
import { schedulerRoutes } from './schedulerRoutes.ts'
import { slateRoutes } from './slateRoutes.ts'
import { unbuiltRoutes } from './unbuiltRoutes.ts'
import { channelWebhookRoutes } from './webhookRoutes.ts'

export interface ChannelsApiOptions {
  version: string
  peerOf: PeerOf
  limits: RequestLimits
  refuseUnknown: RefuseUnknown
  measured: Measured
  /** Null: this process runs no engines. */
  load: EncodingLoad | null
}

/** The channels interface, under `/v2`. @returns its OpenAPI document, which is complete once the server is ready */
export async function channelsApi(
  app: FastifyInstance,
  ctx: Context,
  options: ChannelsApiOptions,
): Promise<() => unknown> {
  answerErrors(app, ctx, options)
  await collectChannelsOpenApi(app, options.version)
  serveDocument(app, '/openapi.json', () => channelsOpenApi(app))
  await app.register(async (managed) => {
    admitOnly(managed, requireCredential(ctx, options.limits))
    managed.addHook('preHandler', refuseUndescribed)
    managedRoutes(managed, ctx, options)
    unbuiltRoutes(managed)
  })
  return () => channelsOpenApi(app)
}

/** The routes of the channels interface without authentication, for another way to authenticate. */
export function channelRoutesOf(app: FastifyInstance, ctx: Context, options: ChannelsApiOptions): void {
  answerErrors(app, ctx, options)
  managedRoutes(app, ctx, options)
}

function answerErrors(app: FastifyInstance, ctx: Context, { refuseUnknown }: ChannelsApiOptions): void {
  app.setErrorHandler(channelErrorHandler(ctx.sampled.refusals))
  app.setNotFoundHandler((request, reply) => sendChannelFailure(reply, asChannelFailure(refuseUnknown(request, reply))))
}

function managedRoutes(managed: FastifyInstance, ctx: Context, { measured, load, peerOf }: ChannelsApiOptions): void {
  const api: ChannelsApi = { ctx, actorOf: actorWith(peerOf), measured, load }
  channelRoutes(managed, api)
  slateRoutes(managed, api)
  ingestRoutes(managed, api)
  engineRoutes(managed, api)
  distributionRoutes(managed, api)
  ladderRoutes(managed, api)
  runRoutes(managed, api)
  monitoringRoutes(managed, api)
  channelWebhookRoutes(managed, api)
  schedulerRoutes(managed, api)
  channelUsageRoutes(managed, api)
}
