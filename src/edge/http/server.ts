import type { IncomingMessage } from 'node:http'
import type { KeyObject } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import { repeat } from '../../base/repeat.ts'
import type { Context } from '../../commands/context.ts'
import type { NodeReporting } from '../../commands/nodes/nodeReports.ts'
import type { EncodingLoad } from '../../services/encodingLoad.ts'
import type { ChannelGauges } from '../../services/channelGauges.ts'
import type { Measured } from '../../services/measured.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { answerLog, observe, requestIds } from './answerLog.ts'
import { accountRoutes } from './about/account.ts'
import { attentionRoutes } from './about/attention.ts'
import { type BackupDesk, backupRoutes } from './about/backup.ts'
import { linkRoutes } from './about/links.ts'
import { nodeRoutes } from './about/nodes.ts'
import { reportRoutes } from './about/reports.ts'
import { storageRoutes } from './about/storage.ts'
import { clusterRoutes } from './about/clusters.ts'
import { type ServerFacts, serverRoutes } from './about/server.ts'
import { accessRoutes } from './access/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { admitOnly, requireSecret } from './auth.ts'
import { checkFastPath } from './access/checkFastPath.ts'
import { discardRefusedBodies, readJsonBodies, refuseUndescribed } from './body.ts'
import type { HttpConnections } from './connections.ts'
import { refuseEncodedBodies } from './contentEncoding.ts'
import { dashboardApi } from './dashboard/api.ts'
import { dashboardFiles } from './dashboard/files.ts'
import { demoRoutes } from './demo/routes.ts'
import { documentPages } from './docs/documents.ts'
import { apiPages } from './docs/routes.ts'
import { isMediaPath } from './media/cors.ts'
import type { HttpsOptions } from './https.ts'
import { sharedHls } from './hls/routes.ts'
import { answerUnknownRoutes, type RefuseUnknown } from './methods.ts'
import type { FastPath, FastPathOptions } from './fastPath.ts'
import { listenerOf } from './listener.ts'
import { RequestLimits, type RequestLimitOptions } from './limits.ts'
import { createMetrics } from './operations/metrics.ts'
import { collectOpenApi } from './openapi.ts'
import { operationRoutes, refuseWhenOver } from './operations/routes.ts'
import { type PeerOf, peerResolver } from './peer.ts'
import { errorHandler } from './problem.ts'
import { parserErrorHandler, type ProtocolErrorOptions } from './protocolErrors.ts'
import { recordingLinkRoutes } from './recordings/linkRoutes.ts'
import { NO_FILES, recordingRoutes, type RecordingRouteOptions } from './recordings/routes.ts'
import { type PlayerOptions, playerRoutes, watchErrorHandler } from './player/routes.ts'
import { COMPILERS } from './serializers.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { streamRoutes } from './streams/routes.ts'
import { trustRoutes } from './trust/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { channelRoutesOf, channelsApi } from './channels/api.ts'
import { UNSENT_LOOK_MS, UNSENT_MAX_BYTES } from './unsent.ts'
import { WatchedConnections, type WatchedOptions, type WatchedPath } from './watchedConnections.ts'
import { type ViewingOptions, viewingRoutes } from './viewing.ts'
import { channelErrorHandler } from './channels/problem.ts'
import { pullRoutes } from './pulls/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { plainErrorHandler } from './media/refusal.ts'
import type { WebRtcOptions } from './webrtc/parts.ts'
import { webRtcRoutes } from './webrtc/routes.ts'

export interface ServerOptions {
  version: string
  bodyLimitBytes: number
  requestTimeoutMs: number
  connections: HttpConnections
  /** The secret for scrapers on other machines; empty: only this machine may scrape. */
  metricsSecret: () => string
  /** Shows that a request is from `sluice doctor` of this installation. */
  doctorKey: KeyObject
  limits: RequestLimitOptions
  /** Signs list cursors. */
  sign: Mac
  /** What `GET /api/server` tells. */
  facts: () => ServerFacts
  /** What nodes say of themselves. */
  reporting: NodeReporting
  backups: BackupDesk
  /** Whether Sluice serves `/demo`. */
  demo: boolean
  /** Whether Sluice serves `/dashboard`. */
  dashboard: boolean
  /** Absent: this server speaks HTTP without TLS. */
  https?: HttpsOptions
  /** Absent: this server has no WebRTC. */
  webRtc?: WebRtcOptions
  /** Absent: this server serves no HLS. */
  hls?: ViewingOptions
  /** What this node measures of channels. */
  measured: Measured
  /** The encoding load of this node's engines. */
  load?: EncodingLoad
  /** The state of this node's channels, for metrics. */
  gauges?: () => ChannelGauges
  /** The files of recordings. If absent, recordings are listed but cannot be fetched. */
  recordings?: RecordingRouteOptions
}

/**
 * The HTTP edge, ready to listen. It translates requests into commands and results into answers. It decides nothing.
 */
export async function buildServer(ctx: Context, options: ServerOptions): Promise<FastifyInstance> {
  const { connections, gauges: channels, https, recordings: { diskSpace } = NO_FILES } = options
  const metrics = createMetrics(ctx, connections, { channels, https, diskSpace })
  const requestId = requestIds()
  const log = answerLog(ctx)
  const protocolErrors: ProtocolErrorOptions = {
    requestId,
    answered(id, status) {
      metrics.answered('none', 'none', status)
      log({ requestId: id, method: 'none', route: 'none', status, durationMs: 0 })
    },
    endsWithAnswer: (socket) => connections.endsWithAnswer(socket),
  }
  let closing = false
  const fastPathOptions: FastPathOptions = { requestId, answered: metrics.answered }
  let watched: WatchedConnections | null = null
  const fastPaths: FastPath[] = [checkFastPath(ctx, { bodyLimitBytes: options.bodyLimitBytes, ...fastPathOptions })]
  const isTaken: FastPath = (request, response) => {
    watched?.requested(request, response)
    return !closing && fastPaths.some((fastPath) => fastPath(request, response))
  }
  const isEnding = (): boolean => connections.areEnding || ctx.sessions.drain?.isEnding === true
  const listening = { connections, isTaken, isEnding, protocolErrors, failed: endsRequest(ctx) }
  const app = fastify({
    logger: false,
    serverFactory: (handler) => listenerOf(options, { ...listening, handler }),
    clientErrorHandler: parserErrorHandler(protocolErrors),
    bodyLimit: options.bodyLimitBytes,
    forceCloseConnections: 'idle',
    genReqId: requestId,
    requestIdHeader: false,
    return503OnClosing: true,
    schemaController: { compilersFactory: COMPILERS },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 4096 },
    frameworkErrors: (error, request, reply) => void errorsAt(request.url)(ctx.sampled.refusals)(error, request, reply),
  })
  app.addHook('preClose', (done) => {
    closing = true
    connections.handshakes.close()
    // An answer of the addon is none that the framework waits for.
    if (watched) void watched.drain().then(() => done())
    else done()
  })
  app.setErrorHandler(errorHandler(ctx.sampled.refusals))
  for (const name of ['secret', 'credential', 'user'] as const) app.decorateRequest(name, null)
  refuseEncodedBodies(app)
  readJsonBodies(app)
  discardRefusedBodies(app)
  const refuseUnknown = answerUnknownRoutes(app)
  observe(app, log, metrics)
  refuseWhenOver(app, () => connections.areEnding && ctx.sessions.node === '')
  await collectOpenApi(app, options.version)
  const peerOf = peerResolver(ctx.isProxy)
  operationRoutes(app, ctx, metrics, { ...options, peerOf })
  linkRoutes(app, ctx, peerOf)
  await managementInterfaces(app, ctx, { ...options, peerOf, refuseUnknown })
  const shared = options.hls ? sharedHls(ctx, options.hls) : null
  pageRoutes(app, ctx, { ...options, peerOf, shared })
  if (options.recordings) await recordingLinkRoutes(app, ctx, options.recordings)
  if (options.webRtc) await webRtcRoutes(app, ctx, peerOf, options.webRtc)
  if (options.hls && shared) {
    const paths = await viewingRoutes(app, ctx, peerOf, { ...options.hls, ...fastPathOptions }, shared)
    fastPaths.push(paths.ofNode)
    watched = watch(app, options, { clock: ctx.clock, connections, path: unlessEnding(listening, paths.ofAddon) })
  }
  closeStalled(app, ctx, connections, watched)
  await app.ready()
  return app
}

/** A fault of ours that the framework does not see ends the request, and is logged. */
const endsRequest =
  ({ log }: Pick<Context, 'log'>) =>
  (error: unknown, { socket }: Pick<IncomingMessage, 'socket'>): void => {
    log.error({ err: error }, 'an HTTP request failed')
    socket.destroy()
  }

/** Connections of the addon stay open after an answer, so it answers nothing while they have to close. */
const unlessEnding =
  ({ isEnding, failed }: { isEnding: () => boolean; failed: ReturnType<typeof endsRequest> }, path: WatchedPath) =>
  (...[request, answer]: Parameters<WatchedPath>): ReturnType<WatchedPath> => {
    try {
      return isEnding() ? null : path(request, answer)
    } catch (error) {
      failed(error, request)
      return null
    }
  }

/** Clients that read nothing keep their answers in memory. */
function closeStalled(
  app: FastifyInstance,
  { clock, log }: Context,
  connections: HttpConnections,
  watched: WatchedConnections | null,
): void {
  const options = {
    clock,
    log,
    name: 'close connections that take no answer',
    everyMs: UNSENT_LOOK_MS,
    pausesFirst: true,
  }
  const looking = repeat(options, async () => {
    watched?.count()
    connections.look(UNSENT_MAX_BYTES)
  })
  const name = 'close connections whose answers are not admitted any more'
  const admitting = repeat({ ...options, name }, () => connections.lookAtAdmissions())
  app.addHook('onClose', () => Promise.all([looking.stop(), admitting.stop()]))
}

interface ManagementOptions extends ServerOptions {
  readonly peerOf: PeerOf
  readonly refuseUnknown: RefuseUnknown
}

/** The token API, the channels interface, and the dashboard, which has the operations of both. */
async function managementInterfaces(app: FastifyInstance, ctx: Context, options: ManagementOptions): Promise<void> {
  const { version, peerOf, refuseUnknown, measured, load = null } = options
  const limits = new RequestLimits(ctx.clock, peerOf, options.limits)
  await app.register(async (api) => {
    admitOnly(api, requireSecret(ctx, limits))
    api.addHook('preHandler', refuseUndescribed)
    managementRoutes(api, ctx, options)
  })
  const channels = { version, peerOf, limits, refuseUnknown, measured, load }
  let channelsDocument: () => unknown
  await app.register(
    async (api) => {
      channelsDocument = await channelsApi(api, ctx, channels)
    },
    { prefix: '/v2' },
  )
  apiPages(app, {
    tokens: () => app.swagger(),
    channels: () => channelsDocument(),
    hasDashboard: options.dashboard,
  })
  if (!options.dashboard) return
  dashboardFiles(app, { hasNodes: Boolean(options.webRtc?.nodeUrl) })
  await dashboardApi(app, ctx, {
    version,
    peerOf,
    tokenRoutes: (twin) => managementRoutes(twin, ctx, options),
    channelRoutes: (twin) => channelRoutesOf(twin, ctx, channels),
  })
}

/** Everything that a holder of an API secret manages, at `/api/…`. */
function managementRoutes(api: FastifyInstance, ctx: Context, options: ManagementOptions): void {
  const { sign, peerOf, recordings = NO_FILES } = options
  tokenRoutes(api, ctx, peerOf)
  accessRoutes(api, ctx, sign, peerOf)
  usageRoutes(api, ctx, sign)
  sessionRoutes(api, ctx, peerOf, sign)
  streamRoutes(api, ctx, sign)
  serverRoutes(api, ctx, options.facts)
  clusterRoutes(api, ctx, options.facts, peerOf)
  reportRoutes(api, ctx, options.reporting)
  backupRoutes(api, ctx, peerOf, options.backups)
  accountRoutes(api, ctx, peerOf)
  attentionRoutes(api, ctx, { ...recordings, https: options.https })
  storageRoutes(api, ctx, recordings.diskSpace)
  nodeRoutes(api, ctx, peerOf, options.facts())
  webhookRoutes(api, ctx, peerOf, sign)
  pullRoutes(api, ctx, peerOf)
  recordingRoutes(api, { ...recordings, ctx, peerOf, sign, facts: options.facts })
}

type PageParts = Pick<PlayerOptions, 'peerOf' | 'shared'>

/** Pages for people, and the player that pages of others load. */
function pageRoutes(app: FastifyInstance, ctx: Context, options: ServerOptions & PageParts): void {
  const { demo, webRtc, https, facts, peerOf, shared } = options
  const hasNodes = Boolean(webRtc?.nodeUrl)
  if (demo) demoRoutes(app, hasNodes)
  documentPages(app)
  playerRoutes(app, ctx, { peerOf, hasNodes, facts, shared })
  trustRoutes(app, https?.authority ?? null)
}

/** Each interface has its own error answers, also for paths without a route. */
function errorsAt(url: string) {
  if (url.startsWith('/v2/') || url.startsWith('/dashboard/api/v2/')) return channelErrorHandler
  if (url.startsWith('/watch/')) return watchErrorHandler
  return isMediaPath(url) ? plainErrorHandler : errorHandler
}

/** The addon answers frequent requests of viewers, where there is one, and Sluice does not encrypt. */
function watch(
  app: FastifyInstance,
  { hls, https }: ServerOptions,
  options: WatchedOptions,
): WatchedConnections | null {
  const addon = hls?.memory.addon
  if (!addon || https) return null
  const watched = new WatchedConnections(addon, options)
  watched.attach(app.server)
  app.addHook('onClose', async () => watched.close())
  return watched
}
