import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { UpdateHub } from '../../../commands/streams/updateHub.ts'
import { asChannelFailure } from '../../../core/channels/errors.ts'
import type { Failure } from '../../../core/errors.ts'
import { admitOnly } from '../auth.ts'
import { refuseUndescribed } from '../body.ts'
import { sendChannelFailure } from '../channels/problem.ts'
import { nothingThere } from '../pathId.ts'
import type { PeerOf } from '../peer.ts'
import { serveDocument } from '../staticFile.ts'
import { requireOwnPage, requireSession } from './auth.ts'
import { dashboardEventRoutes } from './events.ts'
import { SignInLimits } from './limits.ts'
import { collectDashboardOpenApi, dashboardOpenApi } from './openapi.ts'
import { type DashboardApi, refuse } from './parts.ts'
import { auditRoutes } from './auditRoutes.ts'
import { credentialRoutes } from './credentialRoutes.ts'
import { passkeyRoutes, passkeySignInRoutes } from './passkeyRoutes.ts'
import { previewRoutes } from './previewRoutes.ts'
import { secretRoutes } from './secretRoutes.ts'
import { ownSessionRoutes, signInRoutes } from './sessionRoutes.ts'
import { userRoutes } from './userRoutes.ts'
import { hideSecretsFromViewers } from './viewers.ts'

/** Registers the routes of an interface, without authentication. */
type Routes = (app: FastifyInstance) => void

export interface DashboardOptions {
  readonly version: string
  readonly peerOf: PeerOf
  /** Those of the token API, at `/api/…`. */
  readonly tokenRoutes: Routes
  /** Those of the channels interface, below its prefix, with its answers to errors. */
  readonly channelRoutes: Routes
}

/**
 * Everything under `/dashboard/api`: the dashboard's own operations, and the operations of the other two interfaces with
 * the session of a user in place of their secret.
 */
export async function dashboardApi(app: FastifyInstance, ctx: Context, options: DashboardOptions): Promise<void> {
  const { peerOf, version } = options
  const api: DashboardApi = { ctx, peerOf, version, signIns: new SignInLimits(ctx.clock, peerOf) }
  await app.register(async (own) => ownRoutes(own, api), { prefix: '/dashboard/api' })
  await app.register(
    async (twin) => {
      behindSession(twin, ctx, refuse)
      options.tokenRoutes(twin)
    },
    { prefix: '/dashboard' },
  )
  await app.register(
    async (twin) => {
      behindSession(twin, ctx, refuseAsChannels)
      options.channelRoutes(twin)
      // Before the pages of the dashboard take it.
      twin.get('/*', { config: { takesRest: true } }, (_request, reply) => nothingThere(reply))
    },
    { prefix: '/dashboard/api/v2' },
  )
}

async function ownRoutes(app: FastifyInstance, api: DashboardApi): Promise<void> {
  await collectDashboardOpenApi(app, api.version)
  serveDocument(app, '/openapi.json', () => dashboardOpenApi(app))
  await app.register(async (open) => {
    open.addHook('onRequest', requireOwnPage(refuse))
    open.addHook('preHandler', refuseUndescribed)
    signInRoutes(open, api)
    passkeySignInRoutes(open, api)
  })
  await app.register(async (closed) => {
    behindSession(closed, api.ctx, refuse)
    ownSessionRoutes(closed, api)
    dashboardEventRoutes(closed, api.ctx, new UpdateHub(api.ctx))
    userRoutes(closed, api)
    secretRoutes(closed, api)
    credentialRoutes(closed, api)
    auditRoutes(closed, api)
    passkeyRoutes(closed, api)
    previewRoutes(closed, api)
  })
}

/** Every route that is registered after it needs a session, and shows no secret to a viewer. */
function behindSession(app: FastifyInstance, ctx: Context, refuseWith: typeof refuse): void {
  app.addHook('onRequest', requireOwnPage(refuseWith))
  admitOnly(app, requireSession(ctx, refuseWith))
  app.addHook('preHandler', refuseUndescribed)
  hideSecretsFromViewers(app)
}

/** A refusal of the session, as the channels interface answers. */
function refuseAsChannels(reply: FastifyReply, failure: Failure): FastifyReply {
  if (failure.code === 'unauthorized') reply.header('WWW-Authenticate', 'Session realm="sluice"')
  return sendChannelFailure(reply, asChannelFailure(failure))
}
