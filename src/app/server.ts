import type { AddressInfo } from 'node:net'
import { type App, CannotStart, derivedKey } from './app.ts'
import { startChannels } from './channels.ts'
import { factsOf } from './serverFacts.ts'
import { timeOrderedId } from '../base/ids.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import { isRunning } from '../base/processes.ts'
import { VERSION } from '../base/version.ts'
import { followEngine } from '../commands/sessions/mediaEngineEvents.ts'
import type { Context } from '../commands/context.ts'
import { startNode } from '../commands/nodes/servingNode.ts'
import {
  abandonedRecordings,
  beginRecording,
  completeRecording,
  endRecording,
  failRecording,
  forgetRecording,
} from '../commands/recordings/lifecycle.ts'
import { writeLastReadings } from '../commands/streams/lastReadings.ts'
import { captureThumbnail } from '../commands/recordings/thumbnails.ts'
import { openWebhookSecret } from '../commands/webhooks/webhooks.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { hostKeyOf, recordingsDir, storageUrl } from '../config/places.ts'
import type { EncodingLoad } from '../services/encodingLoad.ts'
import type { ChannelGauges } from '../commands/channels/runs/gauges.ts'
import { Measured } from '../services/measured.ts'
import type { PushedKeys } from '../services/pushedKeys.ts'
import type { Config } from '../config/schema.ts'
import { createEgress, type Egress } from '../net/egress.ts'
import { createRunner } from '../delivery/runner.ts'
import { headerProfile } from '../delivery/signature.ts'
import { buildServer } from '../edge/http/server.ts'
import { Handover } from '../edge/http/media/handover.ts'
import type { RecordingRouteOptions } from '../edge/http/recordings/routes.ts'
import { publishOverRtmp } from '../edge/rtmp/publish.ts'
import { admitStreamKeys } from '../edge/rtmp/streamKeys.ts'
import { sessionJobs } from '../jobs/sessions.ts'
import { startJobs } from '../jobs/timers.ts'
import type { MediaEngine } from '../media/engine.ts'
import { Hub } from '../media/hub.ts'
import { type ConvertForWebRtc, engineFeeds } from '../media/engineFeeds.ts'
import { createFfmpeg, type Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { createPackager, type Packager } from '../media/packager.ts'
import type { RecordingBook } from '../media/recordings/recordings.ts'
import { createRelayEngine } from '../media/relay/processes/engine.ts'
import { type RtmpListener, startRtmp } from '../media/rtmp/listener.ts'
import { webRtcMedia } from '../media/convert/opus.ts'
import { streamKey } from '../media/sessionRegistry.ts'
import type { PushSources } from '../media/transcoder/sources.ts'
import { type Playback, startPlayback } from './playback.ts'
import { startLeases } from '../store/leases/leases.ts'
import type { Leases } from '../store/store.ts'

export interface Serving {
  readonly port: number
  /** Null when RTMP is switched off. */
  readonly rtmpPort: number | null
  stop(): Promise<void>
}

/** The parts that serve media. Routes of a missing part are not registered. */
interface Media {
  readonly engine?: MediaEngine | undefined
  readonly packager?: Packager
  readonly playback?: Playback
  readonly channels?: LocalChannels
}

/** Measurements of the channels that this node runs. */
interface LocalChannels {
  readonly measured: Measured
  readonly load: EncodingLoad
  readonly gauges: () => ChannelGauges
}

/**
 * The order in which the parts stop. Sessions first, while their edges are open, so that long answers to viewers end with
 * them. Deliveries late, because all other parts may cause some. Leases last, because the other parts still hold some.
 */
const STOP_ORDER = [
  ...(['sessions', 'rtmp', 'channels', 'packager', 'http', 'playback', 'engine', 'deliveries'] as const),
  'leases',
] as const

class Parts {
  readonly #stops = new Map<(typeof STOP_ORDER)[number], () => Promise<unknown>>()

  add(name: (typeof STOP_ORDER)[number], stop: () => Promise<unknown>): void {
    this.#stops.set(name, stop)
  }

  async stop(): Promise<void> {
    for (const name of STOP_ORDER) await this.#stops.get(name)?.()
  }
}

/**
 * Serves requests, publishers and viewers until it is stopped. Resolves when it listens on the configured hosts and ports.
 * @throws CannotStart when the machine or the configuration prevents it; nothing runs then
 */
export async function startServing(app: App, engine: MediaEngine = relayEngine(app)): Promise<Serving> {
  const parts = new Parts()
  warnOfFewFiles(app)
  try {
    const leases = startLeases(storageUrl(app.config), app.ctx.log)
    parts.add('leases', () => leases.close())
    const deliveries = await startDeliveries(app, leases)
    parts.add('deliveries', () => deliveries.stop())
    const sessions = await startSessions(app, leases)
    parts.add('sessions', () => sessions.stop())
    parts.add('engine', followed(app, engine))
    const ffmpeg = openFfmpeg(app)
    const packager = startPackager(app, ffmpeg)
    const graceMs = app.config.server.shutdownGraceSeconds * 1000
    parts.add('packager', () => packager.stop(graceMs))
    const channels = await startChannels(app, ffmpeg, leases)
    parts.add('channels', () => channels.stop())
    const rtmp = await openRtmp(app, { ffmpeg, engine, ...channels })
    if (rtmp) parts.add('rtmp', () => rtmp.stop())
    const playback = await startPlayback(app, channels.folderOf, channels.measured.viewers)
    parts.add('playback', () => playback.stop())
    await leases.ready
    const port = await listen(app, { engine, packager, playback, channels }, parts)
    return { port, rtmpPort: rtmp?.port ?? null, stop: () => parts.stop() }
  } catch (error) {
    await parts.stop()
    throw error
  }
}

function warnOfFewFiles({ config, ctx }: App): void {
  const openFiles = openFilesLimit()
  const { http, rtmp } = connectionsWithin(config, openFiles)
  if (http >= config.server.maxConnections && rtmp >= config.rtmp.maxConnections) return
  const what = 'the limit of open files is low, so fewer connections are accepted: raise it (ulimit -n, LimitNOFILE=)'
  ctx.log.warn({ openFiles, httpConnections: http, rtmpConnections: rtmp }, what)
}

/** The embedded engine. It starts no process before the first publisher or viewer. */
function relayEngine({ config: { webrtc, sessions }, ctx }: App): MediaEngine {
  const { host, port, processes, publicAddresses, maxBitrateKilobits, publisherTimeoutSeconds } = webrtc
  const maxBitrate = maxBitrateKilobits * 1000
  const publisherSilentMs = publisherTimeoutSeconds * 1000
  return createRelayEngine({
    log: ctx.log,
    now: () => ctx.clock.monotonic(),
    config: {
      host,
      udpPort: port,
      processes,
      publicAddresses,
      maxBitrate,
      maxSessions: sessions.max,
      publisherSilentMs,
    },
  })
}

function followed({ ctx }: App, engine: MediaEngine): () => Promise<void> {
  const unfollow = followEngine(ctx, engine)
  return async () => {
    await engine.stop()
    unfollow()
  }
}

/** Builds the HTTP edge of this app, without listening. */
export function buildHttp({ config, ctx, sign, key }: App, media: Media = {}): ReturnType<typeof buildServer> {
  const { server, metrics, hls, webrtc } = config
  const { iceServers, pendingOffers: maxPending } = webrtc
  const { engine, packager, playback, channels } = media
  const handover = new Handover(derivedKey(key, 'sluice handover'), ctx.clock)
  const { nodeUrl } = server
  const tickets = { key: derivedKey(key, 'sluice hls tickets'), sessionMs: hlsSessionMs(hls) }
  return buildServer(ctx, {
    ...(engine ? { webRtc: { engine, iceServers, maxPending, nodeUrl, handover } } : {}),
    ...(packager
      ? {
          hls: { hls: packager.hls, handover, ...tickets },
          recordings: recordingFiles(packager, recordingsHostKey(config)),
        }
      : {}),
    ...(playback ? { playback: playback.options } : {}),
    // Without channels nothing is measured.
    measured: channels?.measured ?? new Measured(ctx, ''),
    ...(channels ? { load: channels.load, gauges: channels.gauges } : {}),
    version: VERSION,
    facts: factsOf(config),
    bodyLimitBytes: server.bodyLimitBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    connections: {
      max: connectionsWithin(config, openFilesLimit()).http,
      maxPerAddress: server.maxConnectionsPerAddress,
    },
    trustedProxies: server.trustedProxies,
    metricsSecret: metrics.secret,
    limits: config.management,
    sign,
    demo: server.demo,
    dashboard: server.dashboard,
  })
}

/** A player requests once per segment, which rare keyframes make twice as long; and one request may be late. */
const hlsSessionMs = ({ sessionSeconds, segmentSeconds }: Config['hls']): number =>
  Math.max(sessionSeconds, segmentSeconds * 3) * 1000

async function listen(app: App, media: Media, parts: Parts): Promise<number> {
  const { host, port, shutdownGraceSeconds } = app.config.server
  const http = await buildHttp(app, media)
  parts.add('http', async () => {
    const closed = http.close()
    const drained = await Promise.race([
      closed.then(() => true),
      app.ctx.clock.sleep(shutdownGraceSeconds * 1000).then(() => false),
    ])
    if (!drained) http.server.closeAllConnections()
    await closed
  })
  try {
    await http.listen({ host, port })
  } catch (error) {
    throw new CannotStart(`cannot listen on ${host} port ${port}: ${(error as Error).message}`)
  }
  return (http.server.address() as AddressInfo).port
}

/** The parts that take media from RTMP. */
interface RtmpParts {
  readonly ffmpeg: Ffmpeg
  readonly engine: MediaEngine
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
}

async function openRtmp(
  { config, ctx }: App,
  { ffmpeg, engine, sources, pushed, measured }: RtmpParts,
): Promise<RtmpListener | null> {
  const { rtmp } = config
  if (!rtmp.enabled) return null
  const { host, port } = rtmp
  const limits = {
    maxMessageBytes: rtmp.maxMessageBytes,
    maxConnections: connectionsWithin(config, openFilesLimit()).rtmp,
    handshakeMs: rtmp.handshakeSeconds * 1000,
    idleMs: rtmp.idleSeconds * 1000,
  }
  const convert = toWebRtc(ctx, ffmpeg, rtmp.transcodeBFrames)
  const show = engineFeeds({ ...ctx, engine, convert })
  const publish = publishOverRtmp({
    ctx,
    makeHub: () => new Hub(),
    streamKeys: admitStreamKeys({
      ctx,
      pushed,
      meter: measured,
      take: (ingestId, cut) => sources.publish(ingestId, cut),
    }),
    feed: (feed, media) => show({ ...feed, room: streamKey(feed.accountId, feed.streamName) }, media),
  })
  try {
    const listener = await startRtmp({ ...ctx, log: ctx.sampled.encoders, host, port, limits, publish })
    ctx.log.info({ host, port: listener.port }, 'taking RTMP')
    return listener
  } catch (error) {
    throw new CannotStart(`rtmp.port: cannot listen on ${host} port ${port}: ${(error as Error).message}`)
  }
}

/** Converts H.264 and AAC for WebRTC. */
const toWebRtc =
  (ctx: Context, ffmpeg: Ffmpeg, transcodeBFrames: boolean): ConvertForWebRtc =>
  (media, name) =>
    webRtcMedia(media, { ...ctx, ffmpeg, name, transcodeBFrames })

/** Runs all ffmpeg processes of this server, so that one limit covers every use. */
function openFfmpeg({ config: { ffmpeg }, ctx }: App): Ffmpeg {
  return createFfmpeg({ ...ctx, binary: ffmpeg.path, maxChildren: ffmpeg.maxProcesses })
}

/** Packages the feeds on the air until it is stopped. */
function startPackager({ config, ctx }: App, ffmpeg: Ffmpeg): Packager {
  const { hls } = config
  const packager = createPackager({
    ...ctx,
    ffmpeg,
    maxStreams: hls.maxStreams,
    idleMs: hls.idleSeconds * 1000,
    segmentSeconds: hls.segmentSeconds,
    listSegments: hls.listSegments,
    lowLatency: hls.lowLatency,
    thumbnailsEveryMs: config.thumbnails.everySeconds * 1000,
    capture: (feed, image) => captureThumbnail(ctx, feed, image),
    recordings: {
      dir: recordingsDir(config),
      minFreeBytes: config.recordings.minFreeMegabytes * 1_000_000,
      newId: () => timeOrderedId(ctx.clock.now(), ctx.random),
      book: recordingBook(ctx, recordingsHostKey(config)),
    },
  })
  const unwatch = ctx.sessions.watchFeeds((feed, what) => {
    if (what === 'started') packager.feedStarted(feed)
    else packager.feedEnded(feed.feedId)
  })
  return {
    ...packager,
    async stop(graceMs) {
      await packager.stop(graceMs)
      unwatch()
    },
  }
}

const recordingsHostKey = (config: Config): string => hostKeyOf(recordingsDir(config))

const recordingFiles = ({ files, recordings }: Packager, hostKey: string): RecordingRouteOptions => ({
  place: hostKey,
  pathOf: (id) => files.finished(id),
  diskSpace: () => files.space(),
  removeDeleted: () => recordings.removeDeleted(),
})

/** Saves the state of recordings in one directory. */
const recordingBook = (ctx: Context, hostKey: string): RecordingBook => ({
  begin: (feed, begun) => beginRecording(ctx, feed, { ...begun, place: hostKey }),
  end: (id, atMs, problem) => endRecording(ctx, id, { atMs, problem }),
  complete: (id, file) => completeRecording(ctx, id, file),
  fail: (id, problem) => failRecording(ctx, id, problem),
  forget: (id) => forgetRecording(ctx, id),
  abandoned: () => abandonedRecordings(ctx, hostKey),
})

/** Runs sessions until it is stopped, then ends them all. */
async function startSessions({ config, ctx }: App, leases: Leases): Promise<{ stop(): Promise<void> }> {
  const node = await startNode(ctx, {
    place: hostKeyOf(config.data.dir),
    pid: process.pid,
    url: config.server.nodeUrl || null,
    isRunning,
    leaseMs: config.sessions.leaseSeconds * 1000,
    leases,
  })
  const flushMs = config.sessions.flushSeconds * 1000
  const noViewersMs = config.sessions.noViewersSeconds * 1000
  const jobs = startJobs(ctx.clock, ctx.log, sessionJobs(ctx, node, { flushMs, noViewersMs }))
  return {
    async stop() {
      await jobs.stop()
      ctx.accountMinutes.sample()
      await node.stop()
      await writeLastReadings(ctx)
    },
  }
}

/** Delivers events to webhooks until it is stopped. Only a server does this; the command line leaves it to one. */
async function startDeliveries({ config, ctx, bus }: App, leases: Leases): Promise<{ stop(): Promise<void> }> {
  const { webhooks, server } = config
  const egress = openEgress(config)
  const runner = createRunner({
    ...ctx,
    ended: ctx.deliveries,
    attempts: ctx.sampled.deliveries,
    egress,
    profile: headerProfile(webhooks.headerPrefix),
    userAgent: `Sluice/${VERSION}`,
    openSecret: (secretSealed) => openWebhookSecret(ctx, { secretSealed }),
    nodeId: timeOrderedId(ctx.clock.now(), ctx.random),
    leases,
    limits: { perWebhook: webhooks.inFlightPerWebhook, total: webhooks.inFlight },
    drainMs: server.shutdownGraceSeconds * 1000,
  })
  const unfollow = bus.on('toDeliver', () => runner.wake())
  await runner.start()
  return {
    async stop() {
      unfollow()
      await runner.stop()
      await egress.close()
    },
  }
}

function openEgress({ webhooks: { allowPrivateTargets, caFile } }: Config): Egress {
  try {
    return createEgress({ allowPrivateTargets, ...(caFile === '' ? {} : { caFile }) })
  } catch (error) {
    throw new CannotStart(`webhooks.caFile: ${caFile} cannot be read as certificates: ${(error as Error).message}`)
  }
}
