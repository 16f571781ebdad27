import type { AddressInfo } from 'node:net'
import { AccountShare } from '../base/accountShare.ts'
import { addonProblem } from '../base/addon.ts'
import { liveAddressList } from '../base/addressList.ts'
import { inTime } from '../base/clock.ts'
import { fileProblem } from '../base/errorCode.ts'
import { ok } from '../base/result.ts'
import { Sealer } from '../base/sealer.ts'
import type { HlsRouteOptions } from '../edge/http/hls/parts.ts'
import { nodeFetch } from '../net/nodeFetch.ts'
import { type App, CannotStart } from './app.ts'
import { startCascade } from './cascade.ts'
import { derivedKey, doctorKey } from './derivedKeys.ts'
import { startChannels } from './channels.ts'
import { startDrain } from './drain.ts'
import { openEncoders } from './encoders.ts'
import { offlineFfmpeg } from './offline.ts'
import { openVideoEncoder } from './videoEncoder.ts'
import { LocalBackups } from './backupDesk.ts'
import { openReporting } from './operator.ts'
import { factsOf } from './serverFacts.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import type { Reloading, Serving } from '../cli/host.ts'
import { explainListening } from '../cli/port.ts'
import type { NodeReporting } from '../commands/nodes/nodeReports.ts'
import { answerReloads, type Reload } from '../commands/nodes/reload.ts'
import { VERSION } from '../base/version.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { noteDatabase, numberDirectory } from '../config/dataDirectory.ts'
import { storageUrl } from '../config/paths.ts'
import type { EncodingLoad } from '../services/encodingLoad.ts'
import type { ChannelGauges } from '../services/channelGauges.ts'
import { Measured } from '../services/measured.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { firstNumbers } from '../core/hls/numbers.ts'
import { resourceBase } from '../core/streams/addresses.ts'
import { HttpConnections } from '../edge/http/connections.ts'
import { buildServer } from '../edge/http/server.ts'
import { Handover } from '../edge/http/media/handover.ts'
import type { MediaEngine } from '../media/engine.ts'
import { createFfmpeg, type Ffmpeg, missingFfmpeg } from '../media/ffmpeg/ffmpeg.ts'
import type { Packager } from '../media/packager.ts'
import { type Playback, startPlayback } from './playback.ts'
import { startLeases } from '../store/leases/leases.ts'
import { createReload, provisionFolder } from './reload.ts'
import { runDeliveries } from './deliveries.ts'
import { followed, relayEngine, startMediaEngine } from './mediaEngine.ts'
import { recordingFiles, recordingsHostKey, startPackager } from './packager.ts'
import type { Prepare } from './prepared.ts'
import { Redirects } from './redirects.ts'
import { ingestParts } from './ingest.ts'
import { Parts } from './parts.ts'
import { mediaDialling } from './mediaDialling.ts'
import { startPulls } from './pulls.ts'
import { startEngineRestreams } from './engineRestream.ts'
import { sourceDialler } from './sources.ts'
import type { Transport } from '../core/restream/targets.ts'
import { dialledTargets, startRestreams } from './restream.ts'
import { openRtmp } from './rtmp.ts'
import { openSrt } from './srt.ts'
import { useSplice } from './segmentMemory.ts'
import { startSessions } from './sessions.ts'
import { openTls, type Tls } from './tls.ts'
import { startViewerEncoding, type ViewerEncoding } from './viewerEncoding.ts'

export interface ServingPorts extends Serving {
  /** Null when RTMP is switched off. */
  readonly rtmpPort: number | null
  /** Null without RTMPS. */
  readonly rtmpsPort: number | null
  /** Null when SRT is switched off. */
  readonly srtPort: number | null
}

export interface ServingOptions {
  readonly engine?: MediaEngine
  /** How to read the configuration again. */
  readonly reloading: Reloading
  /** How often a client has to ask for the stop to wait until it has left, milliseconds. */
  readonly oftenMs?: number
}

const OFTEN_MS = 1_000
/** Deliveries come late in the stop. Most take less than this. */
const DELIVERY_GRACE_MS = 2_000

type Http = Awaited<ReturnType<typeof buildServer>>

/** The parts that serve media. Routes of a missing part are not registered. */
interface Media {
  readonly connections?: HttpConnections
  readonly engine?: MediaEngine | undefined
  readonly packager?: Packager
  readonly playback?: Playback
  readonly channels?: LocalChannels
  readonly tls?: Tls | null
  readonly viewerEncoding?: Pick<ViewerEncoding, 'refusalOf'>
  readonly reporting?: NodeReporting
}

/** Measurements of the channels that this node runs. */
interface LocalChannels {
  readonly measured: Measured
  readonly load: EncodingLoad
  readonly gauges: () => ChannelGauges
}

/**
 * Serves requests, publishers and viewers until it is stopped. Resolves when it listens on the configured hosts and ports.
 * @throws CannotStart when the machine or the configuration prevents it; nothing runs then
 */
export async function startServing(
  app: App,
  { engine = relayEngine(app), ...options }: ServingOptions,
): Promise<ServingPorts> {
  const { ctx, stopTimeout } = app
  const parts = new Parts({
    clock: ctx.clock,
    graceMs: () => app.config.server.shutdownGraceSeconds * 1000,
    stopTimeout,
  })
  warnOfMachine(app)
  const unfit = await provisionFolder(app, app.config, { isCheck: false })
  if (unfit.length > 0) throw new CannotStart(`provision.folder: ${unfit.join('; ')}`)
  noteDatabaseOf(app)
  const { ffmpeg, share } = await openFfmpeg(app)
  await useSplice(app)
  try {
    const tls = await openTls(app)
    const leases = startLeases(storageUrl(app.config), app.ctx.log, app.stopTimeout.givenUp)
    parts.add('leases', () => leases.close())
    parts.started('deliveries', await runDeliveries(app, leases, () => Math.max(parts.graceMs, DELIVERY_GRACE_MS)))
    parts.started('sessions', await startSessions(app, leases))
    parts.add('engine', followed(app, engine))
    await startMediaEngine(app, engine)
    parts.started('cascade', startCascade(app, engine))
    await countStreamsOn(app)
    const encoders = openEncoders(app)
    const viewerEncoding = parts.started('viewerEncoding', startViewerEncoding(app, { engine, ffmpeg, ...encoders }))
    const packager = startPackager(app, { ffmpeg, share, viewerEncoding, ...encoders })
    parts.add('packager', () => packager.stop(parts.graceMs))
    const ownPorts: Record<Transport, (number | null | undefined)[]> = { tcp: [app.config.server.port], udp: [] }
    const dial = sourceDialler({ app, ffmpeg, how: mediaDialling(app, ownPorts) })
    const channels = parts.started('channels', await startChannels(app, { ffmpeg, leases, encoders, dial }))
    const ingest = ingestParts(app, { ffmpeg, engine, viewerEncoding, ...channels })
    const rtmp = await openRtmp(app, ingest, tls)
    if (rtmp) parts.started('rtmp', rtmp)
    const srt = await openSrt(app, ingest)
    if (srt) parts.started('srt', srt)
    ownPorts.tcp.push(rtmp?.port, rtmp?.tlsPort)
    ownPorts.udp.push(srt?.port)
    const restream = { ffmpeg, encodingRoom: viewerEncoding.room, sharedOf: viewerEncoding.sharedOf, ownPorts }
    parts.started('restreams', startRestreams(app, dialledTargets(app, restream)))
    parts.started('engineRestreams', startEngineRestreams(app, channels, restream))
    parts.started('pulls', startPulls(app, { ingest, dial }))
    const playback = parts.started('playback', await startPlayback(app, channels))
    await leases.ready
    const reporting = openReporting(app, options.reloading.readConfig, tls)
    const media = { engine, packager, playback, channels, tls, viewerEncoding, reporting }
    const port = await startHttp(app, media, options, parts)
    ownPorts.tcp.push(port)
    const prepared: Prepare[] = [(next) => app.countries.prepare(next)]
    if (tls) prepared.push(...(await beginTls(app, tls, port, parts)))
    const reload = createReload(app, options.reloading, prepared)
    parts.add('reloads', answerRequests(app, reload, reporting))
    const drain = parts.started('drain', startDrain(app, channels.pushed))
    return {
      port,
      rtmpPort: rtmp?.port ?? null,
      rtmpsPort: rtmp?.tlsPort ?? null,
      srtPort: srt?.port ?? null,
      reload: () => reload({ isCheck: false }),
      drain: () => drain.request(),
      drained: drain.over,
      stop: () => parts.stop(),
    }
  } catch (error) {
    await parts.stop()
    throw error
  }
}

/** Only commands without the configuration of the server need the note, and only machines of the same name the number. */
function noteDatabaseOf({ config, ctx }: App): void {
  try {
    noteDatabase(config)
    numberDirectory(config.data.dir)
  } catch (error) {
    ctx.log.warn({ problem: fileProblem(error) }, 'the data directory does not say which database this server uses')
  }
}

/** Answers what is asked of this node over the store, until it is stopped: reloads, and what it says of itself. */
function answerRequests({ ctx, due }: App, reload: Reload, reporting: NodeReporting): () => Promise<void> {
  const answering = due.on('reloads', async () => {
    await answerReloads(ctx, ctx.sessions.node, reload)
    await reporting.answer()
  })
  return () => answering.stop()
}

/** Warns of what makes this machine slower or smaller than it could be. */
function warnOfMachine({ config, ctx }: App): void {
  const slow = addonProblem()
  if (slow !== null) ctx.log.warn({}, slow)
  const openFiles = openFilesLimit()
  const { http, rtmp } = connectionsWithin(config, openFiles)
  if (http >= config.server.maxConnections && rtmp >= config.rtmp.maxConnections) return
  const what = 'the limit of open files is low, so fewer connections are accepted: raise it (ulimit -n, LimitNOFILE=)'
  ctx.log.warn({ openFiles, httpConnections: http, rtmpConnections: rtmp }, what)
}

/** Runs all ffmpeg processes of this server, so that one limit covers every use. */
async function openFfmpeg(app: App): Promise<{ ffmpeg: Ffmpeg; share: AccountShare }> {
  const maxChildren = () => app.config.ffmpeg.maxProcesses
  const videoEncoder = await openVideoEncoder(app)
  const offline = await offlineFfmpeg(app.ctx.log)
  const accounts = await app.ctx.store.read.accounts.list()
  const share = new AccountShare(accounts.map(({ id }) => id))
  const binary = app.config.ffmpeg.path
  const absent = missingFfmpeg(binary)
  if (absent !== null) app.ctx.log.warn({}, absent.message)
  return { ffmpeg: createFfmpeg({ ...app.ctx, binary, maxChildren, share, videoEncoder, offline }), share }
}

/**
 * Builds the HTTP edge of this app, without listening.
 * @param readConfig reads the sources of the configuration again
 */
export function buildHttp(
  app: App,
  media: Media = {},
  readConfig: Reloading['readConfig'] = () => ok(app.config),
): ReturnType<typeof buildServer> {
  const { config, ctx, sign, key } = app
  const { server } = config
  const { engine, packager, playback, channels, tls, viewerEncoding } = media
  const handover = new Handover(derivedKey(key, 'sluice handover'), ctx.clock)
  const { nodeUrl } = server
  return buildServer(ctx, {
    ...(tls ? { https: { ...tls, hstsSeconds: () => app.config.tls.hstsSeconds } } : {}),
    ...(engine
      ? {
          webRtc: {
            engine,
            limits: liveView(() => webRtcLimits(app.config)),
            nodeUrl,
            resourceBase: () => resourceBase(app.config.server),
            handover,
            encodingRefusalOf: (...stream) => viewerEncoding?.refusalOf(...stream) ?? null,
          },
        }
      : {}),
    ...(packager && playback
      ? { hls: { ...hlsOptions(app), hls: packager.hls, handover, playback: playback.options } }
      : {}),
    ...(packager ? { recordings: recordingFiles(packager, recordingsHostKey(config)) } : {}),
    // Without channels nothing is measured.
    measured: channels?.measured ?? new Measured(ctx, ''),
    ...(channels ? { load: channels.load, gauges: channels.gauges } : {}),
    version: VERSION,
    facts: () => factsOf(app.config),
    reporting: media.reporting ?? openReporting(app, readConfig, tls),
    backups: new LocalBackups(app),
    bodyLimitBytes: server.bodyLimitBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    connections: media.connections ?? openConnections(app),
    metricsSecret: () => app.config.metrics.secret,
    doctorKey: doctorKey(key),
    limits: liveView(() => app.config.management),
    sign,
    demo: server.demo,
    dashboard: server.dashboard,
  })
}

const webRtcLimits = ({ webrtc }: Config) => ({ iceServers: webrtc.iceServers, maxPending: webrtc.pendingOffers })

const hlsOptions = (app: App): Omit<HlsRouteOptions, 'hls' | 'handover'> => ({
  listSegments: () => app.config.hls.listSegments,
  refuseShared: () => app.config.hls.refuseSharedTickets,
  sessionMs: () => hlsSessionMs(app.config.hls),
  key: derivedKey(app.key, 'sluice hls tickets'),
  nodeUrl: app.config.server.nodeUrl,
  // A key of its own: each viewer takes one of the nonces that are safe for a key.
  sealer: new Sealer([derivedKey(app.key, 'sluice hls requests').export()], app.ctx.random),
  isReporting: liveAddressList(() => app.config.hls.reportingCaches),
  fetchFromNode: nodeFetch(app.ctx.clock),
  memory: app.segmentMemory,
})

/** A player requests once per segment, which rare keyframes make twice as long; and one request may be late. */
const hlsSessionMs = ({ sessionSeconds, segmentSeconds }: Config['hls']): number =>
  Math.max(sessionSeconds, segmentSeconds * 3) * 1000

function openConnections(app: App): HttpConnections {
  const openFiles = openFilesLimit()
  const limits = liveView(() => ({
    max: connectionsWithin(app.config, openFiles).http,
    maxPerAddress: app.config.server.maxConnectionsPerAddress,
  }))
  return new HttpConnections(limits, app.ctx.isProxy)
}

/** Returns its port. */
async function startHttp(
  app: App,
  media: Media,
  { reloading, oftenMs = OFTEN_MS }: ServingOptions,
  parts: Parts,
): Promise<number> {
  const connections = openConnections(app)
  parts.add('connections', () => connections.end())
  const http = await buildHttp(app, { ...media, connections }, reloading.readConfig)
  parts.add('http', async () => {
    await connections.settled(oftenMs)
    await endHttp(app, http, parts.graceMs)
  })
  const { host, port } = app.config.server
  try {
    await http.listen({ host, port })
  } catch (error) {
    throw new CannotStart(explainListening(error as Error, host, port))
  }
  return (http.server.address() as AddressInfo).port
}

/** Gives requests in progress the rest of the grace. */
async function endHttp({ ctx }: App, http: Http, graceMs: number): Promise<void> {
  const closed = http.close()
  const isClosed = closed.then(() => true)
  if ((await inTime(ctx.clock, graceMs, isClosed)) === null) http.server.closeAllConnections()
  await closed
}

/** Follows the certificate, once an authority that is asked for one can look here. Returns what a reload prepares. */
async function beginTls(app: App, tls: Tls, port: number, parts: Parts): Promise<Prepare[]> {
  const redirects = new Redirects(app, tls, port)
  const opened = await redirects.prepare(app.config)
  if (!opened.ok) throw new CannotStart(opened.error)
  opened.value.take()
  parts.started('redirect', redirects)
  parts.started('tls', tls.follow())
  return [(next) => redirects.prepare(next), ...(tls.prepare ? [tls.prepare] : [])]
}

/** A stream hardly ever has more discontinuities from one start of a server to the next. */
const DISCONTINUITIES = 64

/** Streams that begin again after a crash, however soon, get higher numbers than before. */
async function countStreamsOn({ ctx, streamNumbers }: App): Promise<void> {
  const { discontinuity } = firstNumbers(ctx.clock.now())
  streamNumbers.raise(await ctx.store.transaction((tx) => tx.nodes.nextStart(discontinuity, DISCONTINUITIES)))
}
