import { type KeyObject, randomBytes } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { repeat } from '../../base/repeat.ts'
import type { Context } from '../../commands/context.ts'
import type { EncodingLoad } from '../../services/encodingLoad.ts'
import type { ChannelGauges } from '../../services/channelGauges.ts'
import type { Measured } from '../../services/measured.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { accountRoutes } from './about/account.ts'
import { attentionRoutes } from './about/attention.ts'
import { type BackupDesk, backupRoutes } from './about/backup.ts'
import { type ConfigurationReport, configurationRoutes } from './about/configuration.ts'
import { type Doctor, doctorRoutes } from './about/doctor.ts'
import { linkRoutes } from './about/links.ts'
import { nodeRoutes } from './about/nodes.ts'
import { serverStorageRoutes, type StorageSurvey } from './about/serverStorage.ts'
import { storageRoutes } from './about/storage.ts'
import { type CountryFile, upkeepRoutes } from './about/upkeep.ts'
import { clusterRoutes } from './about/clusters.ts'
import { type ServerFacts, serverRoutes } from './about/server.ts'
import { accessRoutes } from './access/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { requireSecret } from './auth.ts'
import { checkFastPath } from './access/checkFastPath.ts'
import { discardRefusedBodies, readJsonBodies, refuseUndescribed } from './body.ts'
import type { HttpConnections } from './connections.ts'
import { refuseEncodedBodies } from './contentEncoding.ts'
import { dashboardApi } from './dashboard/api.ts'
import { dashboardFiles } from './dashboard/files.ts'
import { demoRoutes } from './demo/routes.ts'
import { documentPages } from './docs/documents.ts'
import { apiPages } from './docs/routes.ts'
import { isMediaPath, openToPages } from './media/cors.ts'
import { addHsts, type HttpsOptions, httpsServer } from './https.ts'
import { HLS_CHECK, HLS_MEDIA } from './hls/parts.ts'
import { sharedHls } from './hls/routes.ts'
import { answerUnknownRoutes } from './methods.ts'
import { type FastPath, type FastPathOptions, KEEP_ALIVE_MS } from './fastPath.ts'
import { RequestLimits, type RequestLimitOptions } from './limits.ts'
import { createMetrics, type Metrics } from './operations/metrics.ts'
import { collectOpenApi } from './openapi.ts'
import { operationRoutes, refuseWhenOver } from './operations/routes.ts'
import { type PeerOf, peerResolver } from './peer.ts'
import { errorHandler } from './problem.ts'
import { parserErrorHandler, type ProtocolErrorOptions, refuseExpectation, refuseHead } from './protocolErrors.ts'
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
  configuration: () => ConfigurationReport
  doctor: Doctor
  backups: BackupDesk
  storage: () => Promise<StorageSurvey>
  countryFile: () => CountryFile | null
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
  const { connections } = options
  const metrics = createMetrics(ctx, connections, { channels: options.gauges, https: options.https })
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
    if (closing) return false
    for (const fastPath of fastPaths) if (fastPath(request, response)) return true
    return false
  }
  const isEnding = (): boolean => connections.areEnding || ctx.sessions.drain?.isEnding === true
  const app = fastify({
    logger: false,
    serverFactory: (handler) => listenerOf(options, { connections, isTaken, isEnding, handler, protocolErrors }),
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
  const methodsAt = answerUnknownRoutes(app)
  observe(app, log, metrics)
  refuseWhenOver(app, () => connections.areEnding && ctx.sessions.node === '')
  await collectOpenApi(app, options.version)
  const peerOf = peerResolver(ctx.isProxy)
  operationRoutes(app, ctx, metrics, { ...options, peerOf })
  linkRoutes(app, ctx, peerOf)
  await managementInterfaces(app, ctx, { ...options, peerOf, methodsAt })
  const shared = options.hls ? sharedHls(ctx, options.hls) : null
  pageRoutes(app, ctx, { ...options, peerOf, shared })
  if (options.recordings) await recordingLinkRoutes(app, ctx, options.recordings)
  if (options.webRtc) await webRtcRoutes(app, ctx, peerOf, options.webRtc)
  if (options.hls && shared) {
    const paths = await viewingRoutes(app, ctx, peerOf, { ...options.hls, ...fastPathOptions }, shared)
    fastPaths.push(paths.ofNode)
    watched = watch(app, options, { clock: ctx.clock, connections, path: unless(isEnding, paths.ofAddon) })
  }
  closeStalled(app, ctx, connections, watched)
  await app.ready()
  return app
}

/** Connections of the addon stay open after an answer, so it answers nothing while they have to close. */
const unless =
  (isEnding: () => boolean, path: WatchedPath): WatchedPath =>
  (request, answer) =>
    isEnding() ? null : path(request, answer)

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
  app.addHook('onClose', () => looking.stop())
}

interface ManagementOptions extends ServerOptions {
  readonly peerOf: PeerOf
  readonly methodsAt: (path: string) => readonly string[]
}

/** The token API, the channels interface, and the dashboard, which has the operations of both. */
async function managementInterfaces(app: FastifyInstance, ctx: Context, options: ManagementOptions): Promise<void> {
  const { version, peerOf, methodsAt, measured, load = null } = options
  const limits = new RequestLimits(ctx.clock, peerOf, options.limits)
  await app.register(async (api) => {
    api.addHook('onRequest', requireSecret(ctx, limits))
    api.addHook('preHandler', refuseUndescribed)
    managementRoutes(api, ctx, options)
  })
  const channels = { version, peerOf, limits, methodsAt, measured, load }
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
  accessRoutes(api, ctx, sign)
  usageRoutes(api, ctx, sign)
  sessionRoutes(api, ctx, peerOf, sign)
  streamRoutes(api, ctx, sign)
  serverRoutes(api, ctx, options.facts)
  clusterRoutes(api, ctx, options.facts, peerOf)
  configurationRoutes(api, ctx, options.configuration)
  doctorRoutes(api, ctx, options.doctor)
  backupRoutes(api, ctx, peerOf, options.backups)
  serverStorageRoutes(api, ctx, options.storage)
  upkeepRoutes(api, ctx, options)
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

const LOOK_MS = 5000

interface Listening {
  readonly connections: HttpConnections
  readonly isTaken: FastPath
  /** Whether answers close their connections. */
  readonly isEnding: () => boolean
  readonly handler: RequestListener
  readonly protocolErrors: ProtocolErrorOptions
}

/**
 * A server that passes a request to the framework unless a fast path has answered it. Every request has a time limit.
 */
function listenerOf(
  { requestTimeoutMs, https }: ServerOptions,
  { connections, isTaken, isEnding, handler, protocolErrors }: Listening,
): Server {
  const settings = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // Node finds slow requests by polling, by default only every 30 seconds.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, LOOK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // `refuseHead` checks it, so that the answer has our format.
    requireHostHeader: false,
  }
  const serve: RequestListener = (request, response) => {
    if (https) addHsts(response, https)
    if (isEnding()) response.shouldKeepAlive = false
    if (refuseHead(request, response, protocolErrors) || isTaken(request, response)) return
    openToPages(request, response)
    handler(request, response)
  }
  const refuse: RequestListener = (request, response) => refuseExpectation(request, response, protocolErrors)
  const listener: RequestListener = (request, response) => connections.enter(request, response, serve)
  const server = https ? httpsServer(https, settings, listener, connections) : createServer(settings, listener)
  server.on('checkExpectation', (request, response) => connections.enter(request, response, refuse))
  if (!https) connections.attach(server)
  return server
}

/** Unique across restarts and nodes, and cheap: 64 random bits for the process, then a counter. */
function requestIds(): () => string {
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
function observe(app: FastifyInstance, log: (answered: Answered) => void, metrics: Metrics): void {
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
function answerLog({ log, sampled }: Context): (answered: Answered) => void {
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
